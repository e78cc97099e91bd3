import { existsSync } from 'node:fs';

import { binaryCacheDirectory, isBinaryReady, TESTBED_BINARIES } from './binaries/index.js';
import { programOnPath } from './machine-room/program-on-path.js';
import { testbedProgram } from './machine-room/project-paths.js';

const NEEDED_PROGRAMS: readonly (readonly [program: string, debianPackage: string])[] = [
  ['ip', 'iproute2'],
  ['nft', 'nftables'],
  ['nsenter', 'util-linux'],
  ['unshare', 'util-linux'],
  ['mount', 'mount'],
  ['tar', 'tar'],
];

/** What this machine lacks to run the testbed, one sentence each; empty where nothing is missing. */
export function testbedProblems(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  if (process.platform !== 'linux') return [`The testbed needs Linux (network namespaces); this is ${process.platform}.`];
  return [
    ...(process.getuid?.() === 0 ? [] : ['The testbed needs root, to make network namespaces and mounts.']),
    ...NEEDED_PROGRAMS.filter(([program]) => programOnPath(program, env) === undefined).map(([program, name]) => `The program ${program} is missing (Debian package ${name}).`),
    ...binaryProblems(env),
  ];
}

/** Like {@link testbedProblems}, for a testbed with nodes: their kubelet must have been built. */
export function testbedNodeProblems(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  const built = existsSync(testbedProgram('kubelet/main.js'));
  return [...testbedProblems(env), ...(built ? [] : ['The testbed is not built: run npm run build.'])];
}

function binaryProblems(env: NodeJS.ProcessEnv): string[] {
  // With Go, or with a way out to the official releases, what is not there yet can be had; only Go is certain beforehand.
  const missing = TESTBED_BINARIES.filter((name) => !isBinaryReady(name, env));
  if (missing.length === 0 || programOnPath('go', env) !== undefined) return [];
  return [`Not in ${binaryCacheDirectory(env)}: ${missing.join(', ')}; without Go they can only be downloaded from their official releases.`];
}
