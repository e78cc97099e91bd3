export * from './generated/spillway/spoke/v1/spoke_pb.js';
export * from './error-codes.js';
export * from './identity-secret.js';
export * from './imported-backend.js';
export * from './join-token.js';
export * from './limits.js';
export * from './member-backend.js';
export * from './report.js';
