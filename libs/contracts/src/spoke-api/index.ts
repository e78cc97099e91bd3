export * from './generated/spillway/spoke/v1/spoke_pb.js';
