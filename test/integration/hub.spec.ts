import { generateKeyPairSync, randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { HttpHubLink } from '#adapters/hub-link';
import { loadHubConfig, startHub, type RunningHub } from '#apps/hub';
import { memberBackendDigest, reportDigest, type ImportedBackend, type MemberBackend } from '#domain/fleet';
import { SystemClock } from '#platform';
import type { HubSync, SpokeIdentity, SyncCursor } from '#ports';
import { aPart, readyEndpoints } from '#testing';

import { freePorts } from '../fleet/free-ports.js';
import { startPostgresServer, type PostgresServer } from './postgres-server.js';

/** Parsed JSON, whose shape each step knows. */
type Json = ReturnType<typeof JSON.parse>;

const CLUSTER_CREDENTIAL = 'credential-of-a-member-cluster';
const KUBECONFIG = JSON.stringify({
  'current-context': 'east',
  contexts: [{ name: 'east', context: { cluster: 'east', user: 'hub' } }],
  clusters: [{ name: 'east', cluster: { server: 'https://127.0.0.1:6443' } }],
  users: [{ name: 'hub', user: { token: CLUSTER_CREDENTIAL } }],
});

/** One member's spoke, as far as the hub can tell: the real link, and what it holds. */
class Spoke {
  readonly link = new HttpHubLink({ clock: new SystemClock(), version: '0.1.0' });
  readonly backends = new Map<string, ImportedBackend>();
  cursor: SyncCursor | undefined;
  identity: SpokeIdentity | undefined;
  readonly #uid: string;
  constructor(uid: string) {
    this.#uid = uid;
  }

  async enrol(joinToken: string): Promise<void> {
    const privateKeyPem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    this.identity = await this.link.enrol({ joinToken, privateKeyPem, clusterUid: this.#uid });
  }

  async report(...changed: MemberBackend[]): Promise<void> {
    const digest = reportDigest(new Map(changed.map((backend) => [backend.name, memberBackendDigest(backend)])));
    const answer = await this.link.report(this.identity!, { full: true, changed, removed: [], digest, applied: this.cursor });
    expect(answer.resendFull).toBe(false);
  }

  async sync(waitMs = 0): Promise<HubSync> {
    const answer = await this.link.sync(this.identity!, this.cursor, waitMs, new AbortController().signal);
    if (answer.full) this.backends.clear();
    for (const { backend } of answer.changed) this.backends.set(backend.name, backend);
    for (const name of answer.removed) this.backends.delete(name.replace(/^backend\//, ''));
    this.cursor = answer.cursor;
    return answer;
  }

  /** Polls until the model looks as wanted; a long poll each time, so that nothing sleeps. */
  async syncUntil(isWanted: (model: ImportedBackend | undefined) => boolean): Promise<ImportedBackend | undefined> {
    for (let round = 0; round < 20 && !isWanted(this.model); round += 1) await this.sync(1_000);
    expect(isWanted(this.model)).toBe(true);
    return this.model;
  }

  get model(): ImportedBackend | undefined {
    return this.backends.get('ai/model');
  }
}

const model = (ready: number, network: number): MemberBackend => aPart('x', 0, 0, { endpoints: readyEndpoints(ready).map((endpoint, index) => ({ ...endpoint, address: `10.${network}.0.${index + 1}` })) }).backend;
const sharesOf = (backend: ImportedBackend | undefined): string => backend?.ports[0]?.shares.map(({ clusterId, shareBp }) => `${clusterId}=${shareBp}`).join(' ') ?? 'none';

describe('a whole hub on a real database', () => {
  let postgres: PostgresServer;
  let env: Record<string, string>;
  let hub: RunningHub;
  const adminTokens: string[] = [];
  const east = new Spoke('uid-east');
  const west = new Spoke('uid-west');

  beforeAll(async () => {
    postgres = await startPostgresServer();
    const [machinePort = 0] = await freePorts(1);
    env = {
      SPILLWAY_DATABASE_URL: await postgres.emptyDatabase(),
      SPILLWAY_PUBLIC_URL: `https://127.0.0.1:${machinePort}`,
      SPILLWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      SPILLWAY_PEOPLE_HOST: '127.0.0.1',
      SPILLWAY_PEOPLE_PORT: '0',
      SPILLWAY_MACHINE_HOST: '127.0.0.1',
      SPILLWAY_MACHINE_PORT: String(machinePort),
      SPILLWAY_ALLOW_LOCAL_CLUSTERS: 'true',
      SPILLWAY_LOG_LEVEL: 'silent',
    };
    await start();
  });

  afterAll(async () => {
    await hub?.stop();
    await postgres?.stop();
  });

  async function start(): Promise<void> {
    hub = await startHub(loadHubConfig(env), { onFirstAdminToken: (token) => adminTokens.push(token.reveal()) });
  }

  async function ask(query: string, variables: Record<string, unknown> = {}): Promise<Json> {
    const response = await fetch(`${hub.urls.people}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${adminTokens[0]}` }, body: JSON.stringify({ query, variables }) });
    const body = (await response.json()) as Json;
    expect(body.errors).toBeUndefined();
    for (const payload of Object.values<Json>(body.data)) expect(payload?.userErrors ?? []).toEqual([]);
    return body.data;
  }

  const joinTokenFor = async (name: string): Promise<string> =>
    (await ask('mutation ($name: String!) { createJoinToken(input: { name: $name }) { joinToken { token } userErrors { code message } } }', { name })).createJoinToken.joinToken.token;

  it('brings an empty database up and makes one admin token', () => {
    expect(adminTokens).toHaveLength(1);
  });

  it('registers members, and keeps the credential unreadable in the database', async () => {
    await ask('mutation ($kubeconfig: String!) { registerCluster(input: { name: "east-1", network: "flat", kubeconfig: $kubeconfig }) { cluster { name } userErrors { code message } } }', { kubeconfig: KUBECONFIG });
    await ask('mutation { registerCluster(input: { name: "west-1", network: "flat" }) { cluster { name } userErrors { code message } } }');
    const dump = await everyRow(env['SPILLWAY_DATABASE_URL']!);
    expect(dump).toContain('east-1');
    expect(dump).not.toContain(CLUSTER_CREDENTIAL);
    expect(dump).not.toContain(Buffer.from(CLUSTER_CREDENTIAL).toString('hex'));
    expect(dump).not.toContain(adminTokens[0]);
  });

  it('enrols spokes with the tokens that it made, each once', async () => {
    const token = await joinTokenFor('east-1');
    await east.enrol(token);
    await west.enrol(await joinTokenFor('west-1'));
    await expect(new Spoke('uid-other').enrol(token)).rejects.toMatchObject({ code: expect.stringMatching(/TOKEN_USED/) });
    expect((await ask('{ cluster(name: "east-1") { uid freshness } }')).cluster).toEqual({ uid: 'uid-east', freshness: 'JOINING' });
  });

  it('tells each member its own backend only, with the reason, until a policy joins them', async () => {
    await east.report(model(1, 1));
    await west.report(model(3, 2));
    const seen = await west.syncUntil((backend) => backend !== undefined);
    expect(sharesOf(seen)).toBe('west-1=10000');
    expect(seen?.refusals).toEqual([expect.stringContaining('No sameness policy covers namespace "ai"')]);
    expect(JSON.stringify([...west.backends.values()])).not.toContain('10.1.0.1');
  });

  it('a policy makes them one backend at both ends, and a waiting sync answers at once', async () => {
    await east.syncUntil((backend) => backend !== undefined);
    const waiting = east.syncUntil((backend) => sharesOf(backend) === 'east-1=2500 west-1=7500');
    await ask('mutation { setSamenessPolicy(input: { name: "shared-ai", namespaces: ["ai"], mayExport: { all: true }, mayImport: { all: true } }) { policy { name } userErrors { code message } } }');
    expect((await waiting)?.providers.map(({ clusterId, endpoints }) => [clusterId, endpoints.map(({ address }) => address)])).toEqual([['east-1', []], ['west-1', ['10.2.0.1', '10.2.0.2', '10.2.0.3']]]);
    const seen = await west.syncUntil((backend) => sharesOf(backend) === 'east-1=2500 west-1=7500');
    expect(seen?.refusals).toEqual([]);
  });

  it('shows people the same that it tells spokes', async () => {
    const { backend } = await ask('{ backend(namespace: "ai", name: "model") { memberCount servingCount freshness observedAt imports(consumer: "west-1") { nodes { ports { shares { cluster shareBp } } } } members { nodes { cluster readyCount freshness endpoints { nodes { address } } } } } }');
    expect(backend).toMatchObject({ memberCount: 2, servingCount: 2, freshness: 'FRESH', observedAt: expect.any(String) });
    expect(backend.imports.nodes[0].ports[0].shares).toEqual([{ cluster: 'east-1', shareBp: 2_500 }, { cluster: 'west-1', shareBp: 7_500 }]);
    expect(backend.members.nodes[0]).toEqual({ cluster: 'east-1', readyCount: 1, freshness: 'FRESH', endpoints: { nodes: [{ address: '10.1.0.1' }] } });
  });

  it('frozen, endpoints still move and shares do not; resumed, they do', async () => {
    await ask('mutation { freezeAutomation(input: { reason: "test" }) { fleet { freeze { reason } } userErrors { code message } } }');
    await east.report(model(3, 1));
    const held = await west.syncUntil((backend) => backend?.providers[0]?.endpoints.length === 3);
    expect(sharesOf(held)).toBe('east-1=2500 west-1=7500');
    await ask('mutation { resumeAutomation { fleet { freeze { reason } } userErrors { code message } } }');
    await west.syncUntil((backend) => sharesOf(backend) === 'east-1=5000 west-1=5000');
  });

  it('a policy that no longer lets a member export takes its endpoints away everywhere and tells it why', async () => {
    await ask('mutation { setSamenessPolicy(input: { name: "shared-ai", namespaces: ["ai"], mayExport: { names: ["west-1"] }, mayImport: { all: true } }) { policy { name } userErrors { code message } } }');
    const seen = await west.syncUntil((backend) => sharesOf(backend) === 'west-1=10000');
    expect(JSON.stringify(seen)).not.toContain('10.1.0.');
    const told = await east.syncUntil((backend) => (backend?.refusals.length ?? 0) > 0);
    expect(told?.refusals).toEqual([expect.stringContaining('"shared-ai" covers namespace "ai" but does not let cluster "east-1" export it')]);
    await ask('mutation { setSamenessPolicy(input: { name: "shared-ai", namespaces: ["ai"], mayExport: { all: true }, mayImport: { all: true } }) { policy { name } userErrors { code message } } }');
    await west.syncUntil((backend) => sharesOf(backend) === 'east-1=5000 west-1=5000');
  });

  it('after a restart it has the same epoch and token, and a spoke goes on where it was', async () => {
    const before = (await ask('{ fleet { position { epoch } } }')).fleet.position.epoch;
    await west.sync();
    await hub.stop();
    await expect(west.sync()).rejects.toMatchObject({ kind: 'transient' });
    await start();
    expect(adminTokens).toHaveLength(1);
    expect((await ask('{ fleet { position { epoch } } }')).fleet.position.epoch).toBe(before);
    expect(await west.sync()).toMatchObject({ full: false, changed: [], removed: [] });
    await east.report(model(1, 1));
    await west.syncUntil((backend) => sharesOf(backend) === 'east-1=2500 west-1=7500');
  });

  it('two replicas on one database tell the same', async () => {
    const [machinePort = 0] = await freePorts(1);
    const second = await startHub(loadHubConfig({ ...env, SPILLWAY_MACHINE_PORT: String(machinePort) }), { onFirstAdminToken: (token) => adminTokens.push(token.reveal()) });
    try {
      expect(adminTokens).toHaveLength(1);
      const identity = { ...west.identity!, hubUrl: `https://127.0.0.1:${machinePort}` };
      const link = new HttpHubLink({ clock: new SystemClock(), version: '0.1.0' });
      const full = await link.sync(identity, undefined, 0, new AbortController().signal);
      expect(full.full).toBe(true);
      expect(full.changed.map(({ backend }) => backend)).toEqual([...west.backends.values()]);
      // A change that one replica takes wakes a sync that waits at the other.
      const waiting = link.sync(identity, full.cursor, 5_000, new AbortController().signal);
      await east.report(model(3, 1));
      expect(sharesOf((await waiting).changed[0]?.backend)).toBe('east-1=5000 west-1=5000');
    } finally {
      await second.stop();
    }
  });

  it('records who did what', async () => {
    const { auditLog } = await ask('{ auditLog(first: 200) { nodes { by action target } } }');
    const entries = auditLog.nodes.map(({ by, action, target }: Json) => `${by}: ${action} ${target}`);
    expect(entries).toEqual(expect.arrayContaining(['admin: registerCluster cluster/east-1', 'admin: createJoinToken cluster/west-1', 'admin: setSamenessPolicy samenessPolicy/shared-ai']));
    expect(new Set(auditLog.nodes.map((entry: Json) => entry.by))).toEqual(new Set(['admin', 'spoke/east-1', 'spoke/west-1']));
  });

  it('answers health and readiness, and its metrics say what it serves', async () => {
    expect((await fetch(`${hub.urls.people}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${hub.urls.people}/metrics`)).text();
    expect(metrics).toContain('spillway_hub_http_request_seconds');
  });
});

/** Every row of every table as text, bytes in hex. */
async function everyRow(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>("SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'");
    const dumps = await Promise.all(tables.rows.map(async ({ name }) => (await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)).rows.map(({ row }) => row)));
    return dumps.flat().join('\n');
  } finally {
    await client.end();
  }
}
