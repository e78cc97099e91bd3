export * from './address-objects.js';
export * from './backend-objects.js';
export * from './cluster-objects.js';
export * from './gateway-objects.js';
export * from './kinds.js';
export { parseObjects, type Parsed } from './parse-object.js';
