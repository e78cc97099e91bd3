// Brings node_modules up to package-lock.json. Plain JavaScript for the Node that the user has (>= 20): everything after
// it runs on the Node 24 that the package `node` brings: scripts name node_modules/.bin/node after this one, since a shell
// remembers where it found `node` first. Does nothing when lock file and node_modules already agree.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.spillway-lock');
const want = createHash('sha256').update(readFileSync(join(root, 'package-lock.json'))).digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== want) {
  process.stderr.write('installing dependencies (npm ci)\n');
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (result.status !== 0) {
    process.stderr.write('npm ci failed: check the network and the message above, then run the command again\n');
    process.exit(result.status ?? 1);
  }
  writeFileSync(stamp, want);
}
