export * from './decode-resources.js';
export * from './delta-messages.js';
export * from './encode-resources.js';
export * from './resource-types.js';
export * from './sotw-messages.js';
