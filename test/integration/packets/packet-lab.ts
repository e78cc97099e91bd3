import { execFileSync, spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

import { describe } from '@jest/globals';

import { lastWill } from '../../fleet/last-will.js';

const NEEDED_PROGRAMS = ['ip', 'nft', 'nsenter', 'conntrack'] as const;

/** What this machine lacks for tests with real packets; empty where they can run. */
function missingForRealPackets(): readonly string[] {
  return [
    ...(process.platform === 'linux' ? [] : ['Linux']),
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...NEEDED_PROGRAMS.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0).map((program) => `the program ${program}`),
  ];
}

/** A block of tests that need a real kernel; elsewhere it is skipped, and says loudly why. */
export function describeWithRealPackets(name: string, body: () => void): void {
  const missing = missingForRealPackets();
  if (missing.length === 0) {
    describe(name, body);
    return;
  }
  process.stderr.write(`SKIPPED ${name}: this machine lacks ${missing.join(', ')}\n`);
  describe.skip(name, body);
}

let madeCount = 0;

// A run that was killed could not clean up; the next one does it. Names carry the process id.
function removeNamespacesOfDeadRuns(): void {
  for (const [name, pid] of execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }).matchAll(/^spw-(\d+)-\d+/gm)) {
    if (!existsSync(`/proc/${pid}`)) spawnSync('ip', ['netns', 'del', name]);
  }
}

/** A network namespace that a test made. */
export class LabNamespace {
  readonly name = `spw-${process.pid}-${(madeCount += 1)}`;
  readonly #children: ChildProcessWithoutNullStreams[] = [];

  constructor() {
    if (madeCount === 1) removeNamespacesOfDeadRuns();
    execFileSync('ip', ['netns', 'add', this.name]);
    this.run('ip', 'link', 'set', 'lo', 'up');
  }

  get path(): string {
    return `/run/netns/${this.name}`;
  }

  /** Runs a program inside and gives its output. */
  run(program: string, ...args: readonly string[]): string {
    return execFileSync('nsenter', [`--net=${this.path}`, program, ...args], { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'] });
  }

  /** Loads a ruleset by the nft program. */
  nft(script: string): void {
    execFileSync('nsenter', [`--net=${this.path}`, 'nft', '-f', '-'], { input: script });
  }

  /** Starts one of the scripts beside this file inside, and waits until it says that it is ready. */
  async start(script: string, ...args: readonly string[]): Promise<{ readonly child: ChildProcessWithoutNullStreams; readonly lines: Interface }> {
    const child = spawn('nsenter', [`--net=${this.path}`, process.execPath, '--no-warnings', join(import.meta.dirname, script), ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#children.push(child);
    lastWill().endProcess(child.pid ?? 0);
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    const lines = createInterface({ input: child.stdout });
    const first = await Promise.race([once(lines, 'line'), once(child, 'close')]);
    if (first[0] !== 'ready') throw new Error(`${script} did not start: ${complaint}`);
    return { child, lines };
  }

  /** Ends what runs inside and removes the namespace. */
  async end(): Promise<void> {
    for (const child of this.#children) {
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    }
    execFileSync('ip', ['netns', 'del', this.name]);
  }
}

/** Connects two namespaces: `inner` gets the addresses and a default route, `node` the gateway's address. */
export function connectNamespaces(node: LabNamespace, inner: LabNamespace, link: { readonly gateway: string; readonly addresses: readonly string[] }): void {
  const nodeEnd = `to-${inner.name.slice(-8)}`;
  node.run('ip', 'link', 'add', nodeEnd, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', inner.name);
  node.run('ip', 'addr', 'add', `${link.gateway}/24`, 'dev', nodeEnd);
  node.run('ip', 'link', 'set', nodeEnd, 'up');
  for (const address of link.addresses) inner.run('ip', 'addr', 'add', `${address}/24`, 'dev', 'eth0');
  inner.run('ip', 'link', 'set', 'eth0', 'up');
  inner.run('ip', 'route', 'add', 'default', 'via', link.gateway);
}

/** Calls to make from inside a namespace. */
export interface LabCalls {
  readonly host: string;
  readonly port: number;
  readonly localAddress?: string;
  readonly count: number;
  readonly showCaller?: boolean;
}

/** A caller inside a namespace: real TCP connections, counted by outcome. */
export class LabCaller {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;

  static async start(namespace: LabNamespace): Promise<LabCaller> {
    const { child, lines } = await namespace.start('call-client.ts');
    return new LabCaller(child, lines);
  }

  private constructor(child: ChildProcessWithoutNullStreams, lines: Interface) {
    this.#child = child;
    this.#lines = lines;
  }

  /** Makes connections and counts who answered, or how they failed. One call at a time. */
  async call(calls: LabCalls): Promise<Readonly<Record<string, number>>> {
    const answer = once(this.#lines, 'line');
    this.#child.stdin.write(`${JSON.stringify(calls)}\n`);
    const [line] = (await answer) as [string];
    return JSON.parse(line) as Record<string, number>;
  }
}
