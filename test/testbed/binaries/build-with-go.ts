import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runCommand } from '../machine-room/run-command.js';
import type { GoBuild } from './binary-catalog.js';

const BUILD_MS_MAX = 40 * 60_000;

/** Where Go put a module that it downloaded and verified. */
export interface GoModule {
  readonly Dir: string;
  readonly GoMod: string;
}

/** Downloads a module through Go, which checks it against the public checksum database. */
export async function downloadGoModule(module: string, version: string): Promise<GoModule> {
  const output = await runCommand('go', ['mod', 'download', '-json', `${module}@${version}`], { timeoutMs: BUILD_MS_MAX, cwd: '/', env: goEnvironment() });
  return JSON.parse(output) as GoModule;
}

/** Builds a program in a scratch module inside `directory` and returns the program's path. */
export async function buildWithGo(build: GoBuild, directory: string, name: string): Promise<string> {
  const module = join(directory, 'module');
  mkdirSync(module, { recursive: true });
  const source = await downloadGoModule(build.module, build.version);
  writeFileSync(join(module, 'go.mod'), renderGoMod(build, readFileSync(source.GoMod, 'utf8')));
  const options = { cwd: module, timeoutMs: BUILD_MS_MAX, env: goEnvironment() };
  await runCommand('go', ['mod', 'tidy'], options);
  const path = join(directory, name);
  await runCommand('go', ['build', '-trimpath', '-ldflags', build.ldflags, '-o', path, build.packagePath], options);
  return path;
}

/**
 * A go.mod that requires the module and names the program as its tool. Kubernetes requires its own parts as v0.0.0 and
 * replaces them by folders of its repository; outside of it they are published as v0.(minor).(patch).
 */
export function renderGoMod(build: GoBuild, sourceGoMod: string): string {
  const goLine = /^go .+$/m.exec(sourceGoMod)?.[0] ?? 'go 1.24';
  const partVersion = build.version.replace(/^v1\./, 'v0.');
  const parts = [...sourceGoMod.matchAll(/^\s+(\S+) v0\.0\.0\s*(?:\/\/.*)?$/gm)].map((match) => match[1]);
  return [
    'module spillway.dev/testbed-binaries',
    goLine,
    `require ${build.module} ${build.version}`,
    `tool ${build.packagePath}`,
    ...[...new Set(parts)].map((part) => `replace ${part} => ${part} ${partVersion}`),
    '',
  ].join('\n\n');
}

const goEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false -mod=mod', GOWORK: 'off' });
