import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

import { freePorts } from '../fleet/free-ports.js';
import { lastWill } from '../fleet/last-will.js';

/** A Redis server of a test's own: on a free loopback port, with nothing on disk. */
export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Why no Redis server can be started here; empty where one can. */
export function redisProblems(): readonly string[] {
  return spawnSync('redis-server', ['--version']).error === undefined ? [] : ['The program redis-server is missing (Debian package redis-server).'];
}

/** Starts a Redis server that ends with this process. */
export async function startRedisServer(): Promise<RedisServer> {
  const [port = 0] = await freePorts(1);
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--loglevel', 'notice'], { stdio: ['ignore', 'pipe', 'inherit'] });
  lastWill().endProcess(child.pid ?? 0);
  await ready(child);
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function ready(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let text = '';
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${text}`)));
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('Ready to accept connections')) resolve();
    });
  });
}
