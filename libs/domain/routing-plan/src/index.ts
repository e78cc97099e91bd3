export * from './local-objects.js';
export * from './plan-input.js';
export * from './routing-plan.js';
export * from './usable-endpoints.js';
