export * from './routing-plan.js';
export * from './usable-endpoints.js';
