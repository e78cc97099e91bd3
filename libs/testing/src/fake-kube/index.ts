export { FakeKube, type FakeKubeOptions, type FakeTokenOwner } from './fake-kube.js';
export { kubeConformance, type KubeUnderTest } from './kube.conformance.js';
