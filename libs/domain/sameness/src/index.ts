export { judgeSameness } from './judge-sameness.js';
export { planBackend, planFleet } from './plan-fleet.js';
export { planPaths } from './plan-paths.js';
export { labelProblems, policyProblems } from './policy-problems.js';
export { readyCapacities, readyCapacity } from './ready-capacities.js';
export { splitShares } from './split-shares.js';
