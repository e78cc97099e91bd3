export * from './config.js';
export * from './hub-side-config.js';
export * from './logger.js';
export * from './ops-server.js';
export * from './package-version.js';
export * from './run-process.js';
export * from './secret.js';
export * from './system-clock.js';
