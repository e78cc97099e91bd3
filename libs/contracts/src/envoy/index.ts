export * from './generated/envoy/service/discovery/v3/discovery_pb.js';
