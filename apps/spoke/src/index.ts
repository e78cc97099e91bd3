export { Controller, UNJOINED_CLUSTER_ID, type ControllerPorts } from './controller/controller.js';
export { DEFAULT_CONTROLLER_OPTIONS, type ControllerOptions } from './controller/controller-options.js';
export type { PlanServer } from './controller/xds/plan-server.js';
export { TokenReviewer, type ReviewedCaller, type TokenReviewerOptions } from './controller/xds/token-reviewer.js';
export { parseRole, startRole, type Role } from './role.js';
export { startSimulatedMember, type SimulatedMember, type SimulatedMemberOptions } from './simulated/simulated-member.js';
export { SimulatedNodes } from './simulated/simulated-nodes.js';
