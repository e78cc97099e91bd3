import { runProcess } from '#platform';

import { loadHubConfig } from './hub-config.js';
import { startHub } from './start-hub.js';

await runProcess(async () => startHub(loadHubConfig(process.env)));
