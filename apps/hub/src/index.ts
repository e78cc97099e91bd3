export { loadHubConfig } from './hub-config.js';
export { startHub, type RunningHub } from './start-hub.js';
