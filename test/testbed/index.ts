export { binaryCacheDirectory, gatewayApiCrds, GATEWAY_API_VERSION, isBinaryReady, KUBERNETES_VERSION, resolveBinaries, resolveBinary, type BinaryName } from './binaries/index.js';
export { ControlPlane, type ControllerName } from './control-plane/control-plane.js';
export { startControlPlane, type LoneControlPlane, type LoneControlPlaneOptions } from './control-plane/start-control-plane.js';
export { ApiError, KubeApi, type ApiObject } from './kube-api/kube-api.js';
export { endAbandonedRuns } from './machine-room/end-run.js';
export { testbedNodeProblems, testbedProblems } from './testbed-problems.js';
