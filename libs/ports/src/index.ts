export * from './clock.port.js';
export * from './hub-link.port.js';
export * from './kube.port.js';
export * from './nft.port.js';
export * from './random.port.js';
