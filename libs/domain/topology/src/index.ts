export * from './gateway-port-range.js';
export * from './plan-gateway-ports.js';
