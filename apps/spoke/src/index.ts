export { Controller } from './controller/controller.js';
export { DEFAULT_CONTROLLER_OPTIONS } from './controller/controller-options.js';
export { TokenReviewer } from './controller/xds/token-reviewer.js';
export { startRole } from './role.js';
export { startSimulatedMember, type SimulatedMember } from './simulated/simulated-member.js';
export { SimulatedNodes } from './simulated/simulated-nodes.js';
