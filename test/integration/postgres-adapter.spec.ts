import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { keepEmbeddedPostgres, startEmbeddedPostgres, type EmbeddedPostgres } from '#adapters/embedded-postgres';
import { createPostgresStore, migrate } from '#adapters/postgres';
import { AesSecretBox } from '#adapters/secret-box';
import { clusterId, FleetError } from '#domain/fleet';
import { SystemClock } from '#platform';
import type { FleetStore } from '#ports';
import { aPolicy, until } from '#testing';

import { openFolder } from '../fleet/open-folder.js';
import { type PostgresServer, startPostgresServer } from './postgres-server.js';

const MIGRATIONS = 'prisma/migrations';

const connect = (connectionString: string): FleetStore => createPostgresStore({ connectionString, clock: new SystemClock(), secretBox: new AesSecretBox([Buffer.alloc(32, 7)]), poolSizeMax: 4 });

const codeOf = async (call: Promise<unknown>): Promise<string> => call.then(
  () => 'none',
  (error: unknown) => (error instanceof FleetError ? error.code : String(error)),
);

async function query(connectionString: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('migrate', () => {
  let server: PostgresServer;
  let folder: string;
  beforeAll(async () => {
    server = await startPostgresServer();
    folder = mkdtempSync(join(tmpdir(), 'spillway-migrations-'));
  }, 60_000);
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const copyOf = (name: string): string => {
    const copy = join(folder, name);
    cpSync(MIGRATIONS, copy, { recursive: true });
    return copy;
  };
  const addMigration = (to: string, name: string, sql: string): void => {
    mkdirSync(join(to, name));
    writeFileSync(join(to, name, 'migration.sql'), sql);
  };

  it('replicas that start together on an empty database apply each migration once', async () => {
    const url = await server.emptyDatabase();
    const applied = await Promise.all([migrate(url), migrate(url), migrate(url)]);
    const all = readdirSync(MIGRATIONS).sort();
    expect(applied.flat()).toEqual(all);
    expect(await query(url, 'SELECT migration_name FROM _prisma_migrations')).toHaveLength(all.length);
  });

  it('an applied migration whose text changed, or that this version lacks, is refused', async () => {
    const url = await server.freshDatabase();
    const edited = copyOf('edited');
    writeFileSync(join(edited, '20261130210000_create_fleet_store', 'migration.sql'), 'SELECT 1');
    expect(await codeOf(migrate(url, edited))).toBe('MIGRATION_DRIFT');
    const newer = copyOf('newer');
    addMigration(newer, '20991231000000_add_later', 'CREATE TABLE later (id int)');
    await migrate(url, newer);
    expect(await codeOf(migrate(url))).toBe('MIGRATION_DRIFT');
  });

  it('a migration that fails leaves nothing, and can be mended', async () => {
    const url = await server.freshDatabase();
    const broken = copyOf('broken');
    addMigration(broken, '20991231000000_break', 'CREATE TABLE half (id int); SELECT nothing_there();');
    expect(await codeOf(migrate(url, broken))).toBe('MIGRATION_FAILED');
    expect(await query(url, "SELECT 1 FROM pg_tables WHERE tablename = 'half'")).toEqual([]);
    writeFileSync(join(broken, '20991231000000_break', 'migration.sql'), 'CREATE TABLE half (id int)');
    expect(await migrate(url, broken)).toEqual(['20991231000000_break']);
  });

  it('text that the database cannot hold is told to whoever gave it, and nothing is written', async () => {
    const store = connect(await server.freshDatabase());
    try {
      const register = (labels: Record<string, string>) => store.membership.register({ id: clusterId('east-1'), labels, region: 'east', zone: '', network: 'flat', credential: undefined }, 'ada');
      expect(await codeOf(register({ a: 'b\0' }))).toBe('TEXT_INVALID');
      expect(await codeOf(register({ a: '\ud800' }))).toBe('TEXT_INVALID');
      expect(await codeOf(store.membership.find(clusterId('east\0')))).toBe('TEXT_INVALID');
      expect(await store.membership.list()).toEqual([]);
    } finally {
      await store.close();
    }
  });

  it('the sealed kubeconfig is no text in the database', async () => {
    const url = await server.freshDatabase();
    const store = connect(url);
    try {
      await store.membership.register({ id: clusterId('a'), labels: {}, region: '', zone: '', network: '', credential: { kubeconfig: 'very-secret', serverUrl: 'https://10.0.0.1' } }, 'ada');
      const [row] = await query(url, 'SELECT kubeconfig FROM clusters');
      expect((row!['kubeconfig'] as Buffer).toString('latin1')).not.toContain('very-secret');
    } finally {
      await store.close();
    }
  });

  it('every table and column of the schema is there as the client expects it', async () => {
    const store = connect(await server.freshDatabase());
    try {
      await store.membership.register({ id: clusterId('a'), labels: {}, region: '', zone: '', network: '', credential: undefined }, 'ada');
      await store.enrolment.createJoinToken({ clusterId: clusterId('a'), tokenHash: 'h', expiresAtMs: 4e12, replace: false }, 'ada');
      await store.enrolment.enrol({ clusterId: clusterId('a'), tokenHash: 'h', clusterUid: 'u', publicKey: Buffer.alloc(32).toString('base64url'), spokeVersion: '' }, 0);
      await store.policies.save(aPolicy(), 'ada');
      await store.leases.acquire('l', 'h', 1);
      const read = await Promise.all([store.membership.list(), store.policies.list(), store.audit.list({ limit: 10 }), store.hubState.identity(), store.changeLog.loadView()]);
      expect(read.map((value) => value !== undefined)).toEqual([true, true, true, true, true]);
    } finally {
      await store.close();
    }
  });
});

// A process that ended but was not waited for yet has no command line any more.
const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`).length > 0;

/** Starts a server whose parent is gone at once, as after `kill -9` of a run; returns its process id. */
async function startOrphan(folder: string, port: string): Promise<number> {
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as { postgres: string };
  const data = join(folder, 'data');
  const { uid, gid } = statSync(data);
  const command = `"${postgres}" -D "${data}" -p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= >/dev/null 2>&1 & echo $!`;
  const shell = spawnSync('sh', ['-c', command], { cwd: '/', encoding: 'utf8', uid, gid });
  const pid = Number(shell.stdout.trim());
  await until('the server holds its folder', () => existsSync(join(data, 'postmaster.pid')));
  return pid;
}

describe('a real server of our own', () => {
  let folder: string;
  const started: EmbeddedPostgres[] = [];
  beforeAll(() => {
    folder = openFolder('spillway-postgres-');
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((server) => server.stop()));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const start = async (port?: number): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({ folder, isDurable: false, ...(port === undefined ? {} : { port }) });
    started.push(server);
    return server;
  };

  it('keeps data and epoch over a restart; the store says that it is away and then heals, with its followers', async () => {
    const first = await start();
    const port = Number(new URL(first.connectionString).port);
    await migrate(first.connectionString);
    const store = connect(first.connectionString);
    try {
      let heard = 0;
      await store.changeLog.onAdvance(() => {
        heard += 1;
      });
      await store.policies.save(aPolicy({ name: 'before' }), 'ada');
      const { epoch } = await store.changeLog.head();
      await first.stop();
      expect(await codeOf(store.policies.list())).toBe('STORE_UNAVAILABLE');
      expect(await codeOf(store.policies.save(aPolicy(), 'ada'))).toBe('STORE_UNAVAILABLE');
      expect(await codeOf(store.changeLog.loadView())).toBe('STORE_UNAVAILABLE');
      const heardBefore = heard;
      await start(port);
      await until('the store answers', async () => (await codeOf(store.ping())) === 'none');
      expect((await store.policies.list()).map((policy) => policy.name)).toEqual(['before']);
      expect((await store.changeLog.head()).epoch).toBe(epoch);
      await until('the listener is told to look', () => heard > heardBefore);
      const heardAgain = heard;
      await store.policies.save(aPolicy({ name: 'after' }), 'ada');
      await until('notices come again', () => heard > heardAgain);
    } finally {
      await store.close();
    }
  }, 60_000);

  it('a connection that breaks in a transaction breaks the call and nothing else, and the next call works', async () => {
    const running = await start();
    await migrate(running.connectionString);
    const store = connect(running.connectionString);
    const holder = new pg.Client({ connectionString: running.connectionString });
    await holder.connect();
    const waiting = async (): Promise<number> => Number((await query(running.connectionString, "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))[0]?.['count']);
    try {
      // The lock of all writes: they wait for it within their transactions.
      await holder.query('SELECT pg_advisory_lock(7316001)');
      const calls = [codeOf(store.reports.judge([], undefined)), codeOf(store.policies.save(aPolicy(), 'ada'))];
      await until('both wait', async () => (await waiting()) === 2);
      await holder.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      expect(await Promise.all(calls)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
      await holder.query('SELECT pg_advisory_unlock(7316001)');
      expect(await codeOf(store.reports.judge([], undefined))).toBe('none');
    } finally {
      await holder.end();
      await store.close();
    }
  });

  it('a database that takes no writes for now is one that does not answer, not a fault of ours', async () => {
    const running = await start();
    await migrate(running.connectionString);
    const writer = "?options=-c%20default_transaction_read_only%3Doff";
    await query(running.connectionString, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await query(running.connectionString, 'SELECT pg_reload_conf()');
    const store = connect(running.connectionString);
    try {
      await until('policies cannot be saved', async () => (await codeOf(store.policies.save(aPolicy(), 'ada'))) === 'STORE_UNAVAILABLE');
      expect(await codeOf(store.changeLog.loadView())).toBe('none');
    } finally {
      await store.close();
      await query(`${running.connectionString}${writer}`, 'ALTER SYSTEM RESET default_transaction_read_only');
      await query(running.connectionString, 'SELECT pg_reload_conf()');
    }
  });

  it('a kept server that is killed comes back on the same port with what was written; one that keeps ending is given up with a sentence', async () => {
    const restarts: string[] = [];
    const kept = await keepEmbeddedPostgres({ folder }, (why) => restarts.push(why));
    const isBack = async (): Promise<boolean> => query(kept.connectionString, 'SELECT 1').then(() => true, () => false);
    try {
      await query(kept.connectionString, 'CREATE TABLE survivor AS SELECT 1 AS id');
      for (let kill = 1; kill <= 3; kill += 1) {
        const before = kept.pid;
        process.kill(before, 'SIGKILL');
        await until('it is back', async () => kept.pid !== before && (await isBack()));
      }
      expect(await query(kept.connectionString, 'SELECT id FROM survivor')).toEqual([{ id: 1 }]);
      expect(restarts).toEqual(Array.from({ length: 3 }, () => 'was ended by SIGKILL'));
      process.kill(kept.pid, 'SIGKILL');
      expect(await kept.failed).toContain('for the 4th time within a minute');
    } finally {
      await kept.stop();
    }
    expect(await isBack()).toBe(false);
  }, 60_000);

  it('a folder in use by a living process is left alone', async () => {
    const running = await start();
    expect(await codeOf(start())).toBe('POSTGRES_FOLDER_IN_USE');
    expect(await query(running.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('a server that a killed run left behind is ended, and its data goes on', async () => {
    const first = await start();
    await query(first.connectionString, 'CREATE TABLE kept (id int)');
    await first.stop();
    const orphan = await startOrphan(folder, new URL(first.connectionString).port);
    const second = await start();
    expect(second.pid).not.toBe(orphan);
    expect(isAlive(orphan)).toBe(false);
    expect(await query(second.connectionString, 'SELECT id FROM kept')).toEqual([]);
  });

  it('after stop() no process is left', async () => {
    const running = await start();
    await running.stop();
    expect(isAlive(running.pid)).toBe(false);
  });
});
