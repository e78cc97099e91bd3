export * from './acknowledgements.js';
export * from './client-metrics.js';
export { readTextFile, startXdsClient, type XdsBackoff, type XdsClient, type XdsClientOptions, type XdsClientStatus } from './xds-client.js';
export * from './xds-server.js';
