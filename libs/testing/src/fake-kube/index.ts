export { FakeKube, type FakeKubeOptions, type FakeTokenOwner } from './fake-kube.js';
