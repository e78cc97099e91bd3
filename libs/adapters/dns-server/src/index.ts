export * from './dns-server.js';
