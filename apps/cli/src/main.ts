import { SystemClock } from '#platform';

import { runCli } from './program.js';

process.exitCode = await runCli(process.argv.slice(2), {
  terminal: {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    interactive: process.stderr.isTTY === true,
  },
  clock: new SystemClock(),
  env: process.env,
});
