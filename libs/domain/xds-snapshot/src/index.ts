export * from './parse-xds-snapshot.js';
export * from './render-xds-listeners.js';
export * from './render-xds-snapshot.js';
export * from './snapshot-problems.js';
export * from './xds-resources.js';
