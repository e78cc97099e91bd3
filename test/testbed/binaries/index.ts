export { KUBERNETES_VERSION, TESTBED_BINARIES, type BinaryName } from './binary-catalog.js';
export { gatewayApiCrds, GATEWAY_API_VERSION } from './gateway-api-crds.js';
export { binaryCacheDirectory, isBinaryReady, resolveBinaries, resolveBinary } from './resolve-binary.js';
export { fetchTestbedPrograms } from './fetch-programs.js';
