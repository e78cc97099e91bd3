import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { programOnPath } from '../machine-room/program-on-path.js';
import { binaryRecipe, type BinaryName, type BinaryRecipe } from './binary-catalog.js';
import { buildWithGo } from './build-with-go.js';
import { withLock } from './cache-lock.js';
import { downloadRelease } from './download-release.js';
import { withProgress } from './progress.js';

/** Where programs are kept between runs, outside the tree. */
export function binaryCacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const cache = env.XDG_CACHE_HOME === undefined || env.XDG_CACHE_HOME === '' ? join(homedir(), '.cache') : env.XDG_CACHE_HOME;
  return join(cache, 'spillway', 'testbed');
}

/**
 * The path of a program: from KUBEBUILDER_ASSETS, else the cache, else its official release with its checksum, else built
 * with Go. Only the last two take time, say so, and fill the cache.
 */
export async function resolveBinary(name: BinaryName, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const recipe = binaryRecipe(name, goArch());
  const ready = findReadyBinary(recipe, env);
  if (ready !== undefined) return ready;
  const cached = cachedPath(recipe, env);
  const waiting = (): void => {
    process.stderr.write(`testbed: ${name} ${recipe.version}: another run is getting it; waiting\n`);
  };
  return withLock(`${cached}.lock`, waiting, async () => {
    if (!existsSync(cached)) await fillCache(recipe, cached);
    return cached;
  });
}

/** Resolves several programs, one after the other: builds would only take turns on the same cores. */
export async function resolveBinaries<Name extends BinaryName>(names: readonly Name[], env: NodeJS.ProcessEnv = process.env): Promise<Readonly<Record<Name, string>>> {
  const paths: [Name, string][] = [];
  for (const name of names) paths.push([name, await resolveBinary(name, env)]);
  return Object.fromEntries(paths) as Record<Name, string>;
}

/** True where a program is there without a download or a build. */
export function isBinaryReady(name: BinaryName, env: NodeJS.ProcessEnv = process.env): boolean {
  return findReadyBinary(binaryRecipe(name, goArch()), env) !== undefined;
}

function findReadyBinary(recipe: BinaryRecipe, env: NodeJS.ProcessEnv): string | undefined {
  const assets = env.KUBEBUILDER_ASSETS;
  const candidates = [...(assets === undefined || assets === '' ? [] : [join(assets, recipe.name)]), cachedPath(recipe, env)];
  const found = candidates.find((path) => existsSync(path));
  // kubectl alone is good in any near version, so the machine's own will do.
  return found ?? (recipe.name === 'kubectl' ? programOnPath('kubectl', env) : undefined);
}

const cachedPath = (recipe: BinaryRecipe, env: NodeJS.ProcessEnv): string => join(binaryCacheDirectory(env), recipe.name, recipe.version, recipe.name);

async function fillCache(recipe: BinaryRecipe, cached: string): Promise<void> {
  const folder = join(cached, '..');
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, '.getting-'));
  const label = `${recipe.name} ${recipe.version}`;
  try {
    const made = await withProgress(`${label}: downloading the official release (not in ${folder})`, () => downloadRelease(recipe.release, scratch, recipe.name)).catch((error: unknown) => {
      process.stderr.write(`testbed: ${label}: no download: ${causeOf(error)}\n`);
      return buildHere(recipe, scratch);
    });
    renameSync(made, cached);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function buildHere(recipe: BinaryRecipe, scratch: string): Promise<string> {
  if (programOnPath('go') === undefined) {
    throw new Error(`${recipe.name} ${recipe.version} could not be downloaded, and there is no Go to build it with: install Go, or put the program at ${join(scratch, '..', recipe.name)}`);
  }
  return withProgress(`${recipe.name} ${recipe.version}: building with Go (about ${recipe.build.typicalSeconds} s on two cores where Go has its common parts, minutes more where not; once)`, () => buildWithGo(recipe.build, scratch, recipe.name));
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

const goArch = (): string => (process.arch === 'x64' ? 'amd64' : process.arch);
