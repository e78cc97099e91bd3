export { HubEnvSchema, loadHubConfig, type HubConfig, type ListenConfig } from './hub-config.js';
export { startHub, type HubListeners, type RunningHub } from './start-hub.js';
