export * from './acknowledgements.js';
export * from './client-metrics.js';
export { readTextFile, startXdsClient, type XdsClient } from './xds-client.js';
export * from './xds-server.js';
