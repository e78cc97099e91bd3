import { runProcess } from '#platform';

import { loadWorkerConfig, startWorker } from './index.js';

await runProcess(() => startWorker(loadWorkerConfig(process.env)));
