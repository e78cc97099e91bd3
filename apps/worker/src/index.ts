export { startWorker, type RunningWorker } from './start-worker.js';
export { loadWorkerConfig } from './worker-config.js';
export { buildMemberManifests } from './member-manifests/index.js';
