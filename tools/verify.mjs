// Everything that must hold before a change lands, in one run: generated code, formatting walls, types, build, and every
// test level. Stops at the first failing step and names its command; ends with the plain count line.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const counts = { passed: 0, failed: 0, skipped: 0 };
const scratch = mkdtempSync(join(tmpdir(), 'spillway-verify-'));
const seconds = (sinceMs) => ((Date.now() - sinceMs) / 1000).toFixed(0);

function step(title, command, args) {
  process.stdout.write(`\n== ${title}: ${command} ${args.join(' ')}\n`);
  const startedMs = Date.now();
  const countFile = join(scratch, `${title.replace(/\W+/g, '-')}.json`);
  const result = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, SPILLWAY_COUNT_FILE: countFile } });
  process.stdout.write(`== ${title}: ${result.status === 0 ? 'ok' : 'FAILED'} in ${seconds(startedMs)} s\n`);
  if (existsSync(countFile)) {
    const ran = JSON.parse(readFileSync(countFile, 'utf8'));
    for (const key of Object.keys(counts)) counts[key] += ran[key];
  }
  if (result.status !== 0) {
    if (!existsSync(countFile)) counts.failed += 1;
    finish();
  }
}

function finish() {
  rmSync(scratch, { recursive: true, force: true });
  const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`;
  process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  process.exit(counts.failed === 0 ? 0 : 1);
}

const jest = (project, ...more) => ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', `--selectProjects=${project}`, ...more];

step('system packages', 'node', ['tools/system-packages.mjs']);
step('generate', 'node', ['tools/gen.mjs']);
step('types', 'tsc', ['-p', 'tsconfig.json', '--noEmit']);
step('lint', 'eslint', ['.', '--cache', '--cache-location', 'node_modules/.cache/eslint/']);
step('module graph', 'depcruise', ['apps', 'libs', 'test', '--config', '.dependency-cruiser.cjs', '--output-type', 'err']);
step('unused code', 'knip', []);
step('build', 'npm', ['run', '-s', 'build']);
step('testbed binaries', 'node', ['dist/test/testbed/main.js', 'fetch']);
step('unit tests', 'node', jest('unit'));
step('integration tests', 'node', jest('integration', '--runInBand'));
step('e2e tests', 'node', jest('e2e', '--runInBand'));
finish();
