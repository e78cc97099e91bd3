export * from './conditions.js';
export * from './gateway-decisions.js';
export * from './label-selector.js';
export * from './objects.js';
export * from './programmed-evidence.js';
export * from './status-input.js';
