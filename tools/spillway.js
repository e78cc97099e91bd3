#!/usr/bin/env node
// The `spillway` command from a checkout: runs the built CLI on the Node that the package `node` brings.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const main = join(root, 'dist/apps/cli/src/main.js');
if (!existsSync(main)) {
  process.stderr.write('spillway is not built yet: run `npm run build` first\n');
  process.exit(1);
}
const result = spawnSync(join(root, 'node_modules/.bin/node'), [main, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(result.status ?? 1);
