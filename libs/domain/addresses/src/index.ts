export * from './address-claim.js';
export * from './address-plan.js';
