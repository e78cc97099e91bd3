export * from './address-claim.js';
export * from './address-plan.js';
export * from './endpoint-address.js';
export * from './ip-text.js';
export * from './plan-addresses.js';
