export * from './build-routing-plan.js';
export * from './local-objects.js';
export * from './member-backends.js';
export * from './plan-digest.js';
export * from './plan-input.js';
export * from './plan-problems.js';
export * from './routing-plan.js';
export * from './usable-endpoints.js';
