import { readFileSync } from 'node:fs';

import type { KubeletConfig } from './kubelet-config.js';
import { runKubelet } from './kubelet.js';

await runKubelet(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as KubeletConfig);
