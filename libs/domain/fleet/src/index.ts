export * from './backend.js';
export * from './by-key.js';
export * from './digest.js';
export * from './fleet-error.js';
export * from './fleet-view.js';
export * from './ids.js';
export * from './import-set.js';
export * from './problem.js';
