export * from './address-plan.js';
export * from './fake-clock.js';
export * from './fleet.fixture.js';
export * from './golden.js';
export * from './routing-plan.arbitrary.js';
export * from './fleet-store/fake-fleet-store.js';
export * from './fake-kube/index.js';
