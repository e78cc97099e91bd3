export { startWorker, MEMBER_QUEUE, type RunningWorker } from './start-worker.js';
export { loadWorkerConfig, WorkerEnvSchema, type WorkerConfig } from './worker-config.js';
export { buildGatewayClass, buildMemberManifests, readCrds, type Manifest, type SpokeSettings } from './member-manifests/index.js';
