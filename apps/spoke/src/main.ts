import { runProcess } from '#platform';

import { parseRole, startRole } from './role.js';

await runProcess(async () => startRole(parseRole(process.argv.slice(2)), process.env));
