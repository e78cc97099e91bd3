// Suites that a fake and every real adapter of its port must pass. Apart from the index: these need Jest to be there.
export { kubeConformance, type KubeUnderTest } from './fake-kube/kube.conformance.js';
export { nftConformance } from './fake-nft/nft.conformance.js';
export { describeFleetStore } from './fleet-store/fleet-store.conformance.js';
export { jobQueueConformance, type JobQueueUnderTest } from './job-queue/job-queue.conformance.js';
