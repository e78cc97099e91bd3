import { createHash, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { lexicographicSortSchema, printSchema, type GraphQLSchema } from 'graphql';
import { Registry } from 'prom-client';

import { parseJoinToken } from '#contracts/spoke-api';
import { clusterId, memberBackendDigest, reportDigest, type FleetView, type MemberBackend } from '#domain/fleet';
import { createLogger, Secret } from '#platform';
import { aPart, FakeClock, FakeFleetStore, readyEndpoints } from '#testing';

import { openAccessTokens } from './auth/access-tokens.js';
import { AUTH_FAILURES_MAX, AUTH_FAILURE_WINDOW_MS } from './auth/failure-limit.js';
import { FleetViewSource, type ViewAtSequence } from './core/fleet-view-source.js';
import { createPeopleApp } from './people-app.js';

const SCHEMA_FILE = join(import.meta.dirname, '../../../libs/contracts/graphql/schema.graphql');
const PUBLIC_URL = 'https://hub.example:8443';
const VIEWER = 'viewer-token';
const CA_PEM = `-----BEGIN CERTIFICATE-----
MIIBPDCB76ADAgECAhRQKorpmfmWGtedpBb937cQWVUdHjAFBgMrZXAwFDESMBAG
A1UEAwwJdGVzdCBvbmx5MB4XDTI2MTEzMDIxNDUxN1oXDTM2MTEyNzIxNDUxN1ow
FDESMBAGA1UEAwwJdGVzdCBvbmx5MCowBQYDK2VwAyEA2Cug1KW+lB4On3Dntg+A
xzXWrih/sSV/Psa7Kyg2ibKjUzBRMB0GA1UdDgQWBBTwMUYIe+4zih0jA7/vNQGW
mbXOJTAfBgNVHSMEGDAWgBTwMUYIe+4zih0jA7/vNQGWmbXOJTAPBgNVHRMBAf8E
BTADAQH/MAUGAytlcANBAKvHd0wPTGCl5mWrGMfHN56aWsEodxfL96oUvzyC4kPC
LGYIdL54ZwZrDpo0CnUYhCC4N110p+w5SRs8k3+kSww=
-----END CERTIFICATE-----
`;
const CLUSTER_TOKEN = 'cluster-credential-that-nobody-may-read';
const kubeconfig = (over: { readonly server?: string; readonly user?: Record<string, unknown> } = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'east',
    contexts: [{ name: 'east', context: { cluster: 'east', user: 'hub' } }],
    clusters: [{ name: 'east', cluster: { server: over.server ?? 'https://10.0.0.10:6443' } }],
    users: [{ name: 'hub', user: { token: CLUSTER_TOKEN, ...over.user } }],
  });

const EMPTY: FleetView = { members: new Map(), parts: new Map(), policies: [], freeze: undefined };

/** The store's own view, loaded whole each time it is asked to catch up. */
class StoreViewSource extends FleetViewSource {
  #now: ViewAtSequence = { epoch: 'e', sequence: 0n, view: EMPTY };
  readonly #store: FakeFleetStore;
  constructor(store: FakeFleetStore) {
    super();
    this.#store = store;
  }
  current(): ViewAtSequence {
    return this.#now;
  }
  async catchUp(): Promise<void> {
    this.#now = await this.#store.changeLog.loadView();
  }
}

/** Parsed JSON, whose shape each test knows. */
type Json = ReturnType<typeof JSON.parse>;

interface GraphqlAnswer {
  readonly status: number;
  readonly data: Record<string, Json>;
  readonly codes: readonly string[];
  readonly text: string;
}

let clock: FakeClock;
let store: FakeFleetStore;
let views: StoreViewSource;
let app: NestFastifyApplication;
let adminToken: string;
let logged: string;
let notReady: string | undefined;

beforeEach(async () => {
  clock = new FakeClock();
  store = new FakeFleetStore(clock);
  views = new StoreViewSource(store);
  logged = '';
  notReady = undefined;
  await store.hubState.saveAuthority({ certificatePem: CA_PEM, privateKeyPem: 'the key of the authority' });
  const opened = await openAccessTokens(store.hubState, { admin: undefined, viewer: new Secret(VIEWER) });
  adminToken = opened.firstAdminToken?.reveal() ?? '';
  const settings = { publicUrl: PUBLIC_URL, allowLocalClusters: false, graphiql: false };
  const logger = createLogger({ app: 'hub', level: 'debug' }, { write: (line) => void (logged += line) });
  app = await createPeopleApp({ core: { store, views, clock, settings }, tokens: opened.tokens, logger, registry: new Registry(), readiness: { view: () => notReady } });
});

afterEach(async () => {
  await app.close();
});

async function ask(query: string, options: { readonly variables?: Record<string, unknown>; readonly token?: string | undefined } = {}): Promise<GraphqlAnswer> {
  const token = 'token' in options ? options.token : adminToken;
  const response = await app.inject({ method: 'POST', url: '/graphql', headers: token === undefined ? {} : { authorization: `Bearer ${token}` }, payload: { query, variables: options.variables ?? {} } });
  const body = JSON.parse(response.body) as { data?: Record<string, Json> | null; errors?: { extensions?: { code?: string } }[] };
  return { status: response.statusCode, data: body.data ?? {}, codes: (body.errors ?? []).map((error) => error.extensions?.code ?? 'NO CODE'), text: response.body };
}

const ERRORS = 'userErrors { path code message }';
const register = (input: Record<string, unknown>) => ask(`mutation ($input: RegisterClusterInput!) { registerCluster(input: $input) { cluster { name serverUrl hasKubeconfig network location { region zone } labels { key value } freshness } ${ERRORS} } }`, { variables: { input } });
const errorsOf = (payload: Json): string[] => payload.userErrors.map((error: Json) => `${error.path} ${error.code}`);

/** Makes a member that reported these backends. */
async function member(id: string, backends: readonly MemberBackend[] = []): Promise<void> {
  await store.membership.register({ id: clusterId(id), labels: {}, region: id, zone: '', network: 'flat', credential: undefined }, 'test');
  const digest = reportDigest(new Map(backends.map((backend) => [backend.name, memberBackendDigest(backend)])));
  await store.reports.accept({ clusterId: clusterId(id), full: true, changed: backends, removed: [], digest, applied: undefined, spokeVersion: '0.1.0', clockSkewMs: 3 });
}
const model = (ready: number, over: Partial<MemberBackend> = {}): MemberBackend => aPart('x', 0, ready, over).backend;
const everyone = { all: true };
const setPolicy = (over: Record<string, unknown> = {}) =>
  ask(`mutation ($input: SetSamenessPolicyInput!) { setSamenessPolicy(input: $input) { policy { name namespaces owner mayExport { all names matchLabels { key value } } } ${ERRORS} } }`, {
    variables: { input: { name: 'shared-ai', namespaces: ['ai'], mayExport: everyone, mayImport: everyone, ...over } },
  });

describe('the schema', () => {
  it('is the published one; `npm run golden` writes it', () => {
    const { schema } = (app.getHttpAdapter().getInstance() as unknown as FastifyInstance & { graphql: { schema: GraphQLSchema } }).graphql;
    const text = `# What the hub serves at /graphql, generated from its resolvers.\n\n${printSchema(lexicographicSortSchema(schema))}\n`;
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(SCHEMA_FILE, text);
    expect(existsSync(SCHEMA_FILE) ? readFileSync(SCHEMA_FILE, 'utf8') : '').toBe(text);
  });
});

describe('who may call', () => {
  it.each([
    { says: 'a call without a token is refused', header: undefined, want: 'AUTH_MISSING' },
    { says: 'a call with another scheme is refused', header: 'Basic YTpi', want: 'AUTH_MISSING' },
    { says: 'a wrong token is refused', header: 'Bearer spwa_wrong', want: 'AUTH_INVALID' },
  ])('$says, before any GraphQL is looked at', async ({ header, want }) => {
    const response = await app.inject({ method: 'POST', url: '/graphql', headers: header === undefined ? {} : { authorization: header }, payload: { query: 'not even graphql {' } });
    expect(response.statusCode).toBe(401);
    expect(response.json()).toMatchObject({ errors: [{ extensions: { code: want } }] });
  });

  it('introspection needs a token as well', async () => {
    expect(await ask('{ __schema { queryType { name } } }', { token: undefined })).toMatchObject({ status: 401 });
  });

  it('a call by GET needs a token as well', async () => {
    expect((await app.inject({ method: 'GET', url: '/graphql?query={fleet{clusterCount}}' })).statusCode).toBe(401);
    const allowed = await app.inject({ method: 'GET', url: '/graphql?query={fleet{clusterCount}}', headers: { authorization: `Bearer ${adminToken}` } });
    expect(allowed.json()).toEqual({ data: { fleet: { clusterCount: 0 } } });
  });

  it('no spelling of the path leads around the token', async () => {
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const body = '{"query":"{ fleet { clusterCount } }"}';
    const targets = ['/graphql', `http://127.0.0.1:${port}/graphql`, '/%67raphql', '/graphql?x', '/graphql#y', '/graphql;a=1', '//graphql', '/GRAPHQL', '/graphql/'];
    for (const target of targets) {
      const answer = await rawPost(port, target, body);
      expect({ target, leaks: answer.includes('clusterCount') }).toEqual({ target, leaks: false });
      expect(answer).toMatch(/^HTTP\/1\.1 (401|404|400) /);
    }
  });

  it('the admin token made at first start opens the door, and only its hash is stored', async () => {
    expect((await ask('{ fleet { clusterCount } }')).data).toEqual({ fleet: { clusterCount: 0 } });
    expect(JSON.stringify([...(await storeText())])).not.toContain(adminToken);
  });

  it('a later start makes no second token and accepts the first', async () => {
    const again = await openAccessTokens(store.hubState, { admin: undefined, viewer: undefined });
    expect(again.firstAdminToken).toBeUndefined();
    expect(again.tokens.authenticate(`Bearer ${adminToken}`)).toEqual({ name: 'admin', role: 'admin' });
  });

  it('of replicas that start at once exactly one makes the token', async () => {
    const fresh = new FakeFleetStore(clock);
    const starts = await Promise.all([1, 2, 3].map(() => openAccessTokens(fresh.hubState, { admin: undefined, viewer: undefined })));
    const made = starts.flatMap(({ firstAdminToken }) => firstAdminToken ?? []);
    expect(made).toHaveLength(1);
    for (const { tokens } of starts) expect(tokens.authenticate(`Bearer ${made[0]?.reveal()}`).role).toBe('admin');
  });

  it('a configured admin token is accepted beside the stored one, and none is made', async () => {
    const fresh = new FakeFleetStore(clock);
    const opened = await openAccessTokens(fresh.hubState, { admin: new Secret('configured'), viewer: undefined });
    expect(opened.firstAdminToken).toBeUndefined();
    expect(opened.tokens.authenticate('Bearer configured').role).toBe('admin');
  });

  it('a viewer reads and changes nothing', async () => {
    expect((await ask('{ fleet { clusterCount } }', { token: VIEWER })).data).toEqual({ fleet: { clusterCount: 0 } });
    const refused = await ask('mutation { resumeAutomation { fleet { clusterCount } userErrors { code } } }', { token: VIEWER });
    expect(refused.codes).toEqual(['AUTH_FORBIDDEN']);
    expect(await store.audit.list({ limit: 10 })).toEqual([]);
  });

  it('too many wrong tokens close the door for that address for a while, even to the right token', async () => {
    for (let attempt = 0; attempt < AUTH_FAILURES_MAX; attempt += 1) expect((await ask('{ fleet { clusterCount } }', { token: 'wrong' })).status).toBe(401);
    expect(await ask('{ fleet { clusterCount } }')).toMatchObject({ status: 429, codes: ['AUTH_TOO_MANY_FAILURES'] });
    await clock.advance(AUTH_FAILURE_WINDOW_MS);
    expect((await ask('{ fleet { clusterCount } }')).status).toBe(200);
  });

  it('wrong tokens behind a shared address do not keep out those who came with the right one before', async () => {
    expect((await ask('{ fleet { clusterCount } }')).status).toBe(200);
    for (let attempt = 0; attempt < AUTH_FAILURES_MAX; attempt += 1) expect((await ask('{ fleet { clusterCount } }', { token: 'wrong' })).status).toBe(401);
    expect((await ask('{ fleet { clusterCount } }')).status).toBe(200);
    expect(await ask('{ fleet { clusterCount } }', { token: 'wrong' })).toMatchObject({ status: 429, codes: ['AUTH_TOO_MANY_FAILURES'] });
  });

  it('an address that a caller claims in a header counts for nothing', async () => {
    const call = async (n: number) => app.inject({ method: 'POST', url: '/graphql', headers: { authorization: 'Bearer wrong', 'x-forwarded-for': `10.0.0.${n}` }, payload: { query: '{ fleet { clusterCount } }' } });
    for (let attempt = 0; attempt < AUTH_FAILURES_MAX; attempt += 1) await call(attempt);
    expect((await call(99)).statusCode).toBe(429);
  });

  it('health, readiness and metrics need no token, and readiness names every reason', async () => {
    const get = async (url: string) => app.inject({ method: 'GET', url });
    expect((await get('/healthz')).body).toBe('ok\n');
    expect((await get('/readyz')).statusCode).toBe(200);
    notReady = 'not loaded yet';
    expect(await get('/readyz')).toMatchObject({ statusCode: 503, body: 'view: not loaded yet\n' });
    expect((await get('/metrics')).body).toContain('spillway_hub_http_request_seconds');
  });

  it('the query editor is not served outside development', async () => {
    expect((await app.inject({ method: 'GET', url: '/graphiql' })).statusCode).toBe(404);
  });
});

describe('registerCluster', () => {
  it('keeps a cluster with its place, and nobody can read its credential again', async () => {
    const { data, text } = await register({ name: 'east-1', kubeconfig: kubeconfig(), labels: [{ key: 'tier', value: 'gold' }], location: { region: 'east', zone: 'east-a' }, network: 'flat' });
    expect(data['registerCluster']).toEqual({
      cluster: { name: 'east-1', serverUrl: 'https://10.0.0.10:6443', hasKubeconfig: true, network: 'flat', location: { region: 'east', zone: 'east-a' }, labels: [{ key: 'tier', value: 'gold' }], freshness: 'JOINING' },
      userErrors: [],
    });
    const everything = text + (await ask(EVERYTHING)).text + logged;
    expect(everything).not.toContain(CLUSTER_TOKEN);
    expect(await store.membership.openKubeconfig(clusterId('east-1'))).toContain(CLUSTER_TOKEN);
  });

  it('takes a cluster without a kubeconfig, for a spoke that calls by itself', async () => {
    expect((await register({ name: 'edge-1' })).data['registerCluster']).toMatchObject({ cluster: { hasKubeconfig: false, serverUrl: null, network: 'default' }, userErrors: [] });
  });

  it('refuses a name that is taken and says so', async () => {
    await register({ name: 'east-1' });
    expect(errorsOf((await register({ name: 'east-1' })).data['registerCluster'])).toEqual(['name CLUSTER_NAME_TAKEN']);
  });

  it.each<{ readonly says: string; readonly input: Record<string, unknown>; readonly want: readonly string[] }>([
    { says: 'a name must be an RFC 1123 label', input: { name: 'East_1' }, want: ['name MEMBER_NAME_INVALID'] },
    { says: 'a name has a longest length', input: { name: 'x'.repeat(64) }, want: ['name MEMBER_NAME_TOO_LONG'] },
    { says: 'a kubeconfig must be YAML', input: { kubeconfig: '{ not: [yaml' }, want: ['kubeconfig KUBECONFIG_NOT_YAML'] },
    { says: 'a kubeconfig may run no program on the hub', input: { kubeconfig: kubeconfig({ user: { exec: { command: 'sh' } } }) }, want: ['kubeconfig.users[0].user.exec KUBECONFIG_EXEC'] },
    { says: 'a kubeconfig may read no file of the hub', input: { kubeconfig: kubeconfig({ user: { tokenFile: '/etc/passwd' } }) }, want: ['kubeconfig.users[0].user.tokenFile KUBECONFIG_TOKEN_FILE'] },
    { says: 'a kubeconfig may not lead to the hub itself', input: { kubeconfig: kubeconfig({ server: 'https://127.0.0.1:6443' }) }, want: ['kubeconfig.clusters[0].cluster.server KUBECONFIG_SERVER_LOCAL'] },
    { says: 'a named context must exist', input: { kubeconfig: kubeconfig(), context: 'west' }, want: ['kubeconfig.contexts KUBECONFIG_CONTEXT_UNKNOWN'] },
    { says: 'a context alone means nothing', input: { context: 'west' }, want: ['context KUBECONFIG_CONTEXT_ALONE'] },
    { says: 'labels follow Kubernetes, each key once', input: { labels: [{ key: 'a b', value: 'x' }, { key: 'a', value: 'x' }, { key: 'a', value: 'y' }] }, want: ['labels[0].a b LABEL_KEY_INVALID', 'labels[2] CLUSTER_LABEL_TWICE'] },
    { says: 'a location is a label value', input: { location: { region: 'eu west', zone: '' } }, want: ['location.region CLUSTER_LOCATION_INVALID'] },
    { says: 'a network is a label', input: { network: 'Flat' }, want: ['network CLUSTER_NETWORK_INVALID'] },
    { says: 'every problem is told at once', input: { name: '', network: '' }, want: ['name MEMBER_NAME_EMPTY', 'network CLUSTER_NETWORK_INVALID'] },
  ])('$says, and nothing is written', async ({ input, want }) => {
    const { data } = await register({ name: 'east-1', ...input });
    expect(data['registerCluster'].cluster).toBeNull();
    expect(errorsOf(data['registerCluster'])).toEqual(want);
    expect(await store.membership.list()).toEqual([]);
  });
});

describe('updateCluster and removeCluster', () => {
  const update = (input: Record<string, unknown>) => ask(`mutation ($input: UpdateClusterInput!) { updateCluster(input: $input) { cluster { network location { region zone } labels { key value } hasKubeconfig } ${ERRORS} } }`, { variables: { input } });

  it('changes what is given and leaves the rest', async () => {
    await register({ name: 'east-1', labels: [{ key: 'tier', value: 'gold' }], location: { region: 'east', zone: 'a' }, network: 'flat' });
    expect((await update({ name: 'east-1', network: 'far' })).data['updateCluster'].cluster).toEqual({ network: 'far', location: { region: 'east', zone: 'a' }, labels: [{ key: 'tier', value: 'gold' }], hasKubeconfig: false });
    expect((await update({ name: 'east-1', labels: [], kubeconfig: kubeconfig() })).data['updateCluster'].cluster).toEqual({ network: 'far', location: { region: 'east', zone: 'a' }, labels: [], hasKubeconfig: true });
  });

  it('refuses an unknown cluster and a bad kubeconfig by code', async () => {
    expect(errorsOf((await update({ name: 'nobody', network: 'flat' })).data['updateCluster'])).toEqual(['name CLUSTER_NOT_FOUND']);
    expect(errorsOf((await update({ name: 'nobody', kubeconfig: '' })).data['updateCluster'])).toEqual(['kubeconfig KUBECONFIG_EMPTY']);
  });

  it('marks a cluster as leaving and says who asked, until the worker has cleaned up', async () => {
    await register({ name: 'east-1' });
    const remove = (name: string, force: boolean) => ask(`mutation ($input: RemoveClusterInput!) { removeCluster(input: $input) { cluster { removal { force by } } ${ERRORS} } }`, { variables: { input: { name, force } } });
    expect((await remove('east-1', false)).data['removeCluster'].cluster.removal).toEqual({ force: false, by: 'admin' });
    expect((await remove('east-1', true)).data['removeCluster'].cluster.removal).toEqual({ force: true, by: 'admin' });
    expect(errorsOf((await remove('nobody', false)).data['removeCluster'])).toEqual(['name CLUSTER_NOT_FOUND']);
  });
});

describe('createJoinToken', () => {
  const create = (input: Record<string, unknown>) => ask(`mutation ($input: CreateJoinTokenInput!) { createJoinToken(input: $input) { joinToken { token clusterName expiresAt replace } ${ERRORS} } }`, { variables: { input } });

  it('makes a token that carries where the hub is and whom to trust, and enrols once', async () => {
    await register({ name: 'east-1' });
    const { joinToken } = (await create({ name: 'east-1', ttlSeconds: 60 })).data['createJoinToken'];
    const parsed = parseJoinToken(joinToken.token);
    const fingerprint = createHash('sha256').update(new X509Certificate(CA_PEM).raw).digest('hex');
    expect(parsed).toMatchObject({ hubUrl: PUBLIC_URL, caFingerprint: fingerprint, clusterId: 'east-1' });
    expect(joinToken.expiresAt).toBe(new Date(clock.nowMs() + 60_000).toISOString());
    const claim = { tokenHash: createHash('sha256').update(parsed?.secret ?? '').digest('hex'), clusterId: clusterId('east-1'), clusterUid: 'uid-1', publicKey: Buffer.alloc(32, 1).toString('base64url'), spokeVersion: '0.1.0' };
    expect(await store.enrolment.enrol(claim, 1_000)).toMatchObject({ clusterId: 'east-1' });
    expect(JSON.stringify([...(await storeText())])).not.toContain(parsed?.secret);
  });

  it.each([
    { says: 'for a registered cluster only', input: { name: 'nobody' }, want: 'name CLUSTER_NOT_FOUND' },
    { says: 'not for longer than a day', input: { name: 'east-1', ttlSeconds: 86_401 }, want: 'ttlSeconds JOIN_TOKEN_TTL_INVALID' },
    { says: 'not for less than a minute', input: { name: 'east-1', ttlSeconds: 59 }, want: 'ttlSeconds JOIN_TOKEN_TTL_INVALID' },
  ])('is made $says', async ({ input, want }) => {
    await register({ name: 'east-1' });
    expect(errorsOf((await create(input)).data['createJoinToken'])).toEqual([want]);
  });
});

describe('clusters', () => {
  it('are paged by name, and a page goes on where the last one ended', async () => {
    for (const name of ['c', 'a', 'b']) await member(name);
    const page = async (after: string | null) => (await ask('query ($after: String) { clusters(first: 2, after: $after) { totalCount nodes { name } edges { node { name } } pageInfo { hasNextPage hasPreviousPage endCursor } } }', { variables: { after } })).data['clusters'];
    const first = await page(null);
    expect(first).toMatchObject({ totalCount: 3, nodes: [{ name: 'a' }, { name: 'b' }], pageInfo: { hasNextPage: true, hasPreviousPage: false } });
    expect(await page(first.pageInfo.endCursor)).toMatchObject({ edges: [{ node: { name: 'c' } }], pageInfo: { hasNextPage: false, hasPreviousPage: true } });
  });

  it('are found by freshness', async () => {
    await member('a');
    await register({ name: 'b' });
    expect((await ask('{ clusters(freshness: JOINING) { nodes { name } } }')).data['clusters'].nodes).toEqual([{ name: 'b' }]);
  });

  it('show what the worker saw with its time, and when that is old, that it is stale', async () => {
    await member('a');
    const seenAtMs = clock.nowMs();
    const inventory = { observedAtMs: seenAtMs, nodeCount: 3, readyNodeCount: 2, accelerators: [{ product: 'H100', nodeCount: 1, allocatable: 8 }], facts: { serviceCidrs: ['172.30.0.0/16'] } };
    const condition = { type: 'ApiReachable', status: 'False' as const, reason: 'KUBE_UNAUTHORIZED', message: 'The API server refuses the credential; give a new kubeconfig.', lastTransitionAtMs: seenAtMs, observedAtMs: seenAtMs };
    await store.membership.recordObservation(clusterId('a'), { kubernetesVersion: 'v1.37.2', inventory, conditions: [condition] }, undefined);
    const query = '{ cluster(name: "a") { kubernetesVersion freshness observedAt spoke { version clockSkewMs } inventory { nodeCount accelerators { product allocatable } facts { name value } observedAt freshness } conditions { type status reason message observedAt freshness } } }';
    const at = new Date(seenAtMs).toISOString();
    expect((await ask(query)).data['cluster']).toEqual({
      kubernetesVersion: 'v1.37.2',
      freshness: 'FRESH',
      observedAt: at,
      spoke: { version: '0.1.0', clockSkewMs: 3 },
      inventory: { nodeCount: 3, accelerators: [{ product: 'H100', allocatable: 8 }], facts: [{ name: 'serviceCidrs', value: ['172.30.0.0/16'] }], observedAt: at, freshness: 'FRESH' },
      conditions: [{ type: 'ApiReachable', status: 'FALSE', reason: 'KUBE_UNAUTHORIZED', message: condition.message, observedAt: at, freshness: 'FRESH' }],
    });
    await clock.advance(300_001);
    expect((await ask(query)).data['cluster']).toMatchObject({ inventory: { freshness: 'STALE' }, conditions: [{ freshness: 'STALE' }] });
  });

  it.each([
    { says: 'a page of none', query: '{ clusters(first: 0) { totalCount } }', want: 'PAGE_SIZE_INVALID' },
    { says: 'a page over the limit', query: '{ clusters(first: 201) { totalCount } }', want: 'PAGE_SIZE_INVALID' },
    { says: 'a cursor of another make', query: '{ clusters(after: "zzz") { totalCount } }', want: 'CURSOR_INVALID' },
  ])('refuse $says', async ({ query, want }) => {
    expect((await ask(query)).codes).toEqual([want]);
  });

  it('are absent where there is none of the name', async () => {
    expect((await ask('{ cluster(name: "nobody") { name } }')).data).toEqual({ cluster: null });
  });
});

describe('backends', () => {
  const IMPORTS = 'imports { nodes { consumer ports { port protocol shares { cluster shareBp } } providers { cluster path readyCount freshness } refusals conflicts { field winner losers message } memberCount servingCount freshness observedAt } }';

  beforeEach(async () => {
    await member('a', [model(1)]);
    await member('b', [model(3)]);
    await member('c');
    await views.catchUp();
  });

  it('stay apart until a policy says that they are the same', async () => {
    const { data } = await ask(`{ backend(namespace: "ai", name: "model") { memberCount servingCount ${IMPORTS} } }`);
    expect(data['backend']).toMatchObject({ memberCount: 2, servingCount: 2 });
    expect(data['backend'].imports.nodes.map((node: Json) => [node.consumer, node.ports[0].shares])).toEqual([
      ['a', [{ cluster: 'a', shareBp: 10_000 }]],
      ['b', [{ cluster: 'b', shareBp: 10_000 }]],
    ]);
    expect(data['backend'].imports.nodes[0].refusals[0]).toContain('No sameness policy covers namespace "ai"');
  });

  it('are split for each consumer once a policy joins them', async () => {
    expect((await setPolicy()).data['setSamenessPolicy'].userErrors).toEqual([]);
    const { data } = await ask(`{ backend(namespace: "ai", name: "model") { ${IMPORTS} } }`);
    const split = [{ cluster: 'a', shareBp: 2_500 }, { cluster: 'b', shareBp: 7_500 }];
    expect(data['backend'].imports.nodes.map((node: Json) => [node.consumer, node.ports[0].shares])).toEqual([['a', split], ['b', split], ['c', split]]);
    expect(data['backend'].imports.nodes[2]).toMatchObject({ freshness: 'FRESH', observedAt: new Date(clock.nowMs()).toISOString(), providers: [{ cluster: 'a', path: 'DIRECT', readyCount: 1 }, { cluster: 'b', path: 'DIRECT', readyCount: 3 }] });
  });

  it('are shown to one consumer where one is named', async () => {
    await setPolicy();
    const imports = async (consumer: string) => (await ask('query ($consumer: String) { backend(namespace: "ai", name: "model") { imports(consumer: $consumer) { nodes { consumer } } } }', { variables: { consumer } })).data['backend'].imports.nodes;
    expect(await imports('c')).toEqual([{ consumer: 'c' }]);
    expect(await imports('nobody')).toEqual([]);
  });

  it('show each member’s part, its endpoints page by page, and why it may not export', async () => {
    await setPolicy({ mayExport: { names: ['b'] } });
    const { data } = await ask('{ backend(namespace: "ai", name: "model") { members { nodes { cluster mayExport mayImport refusals readyCount endpointCount readyCapacity capacity { unit perEndpoint } ports { port protocol } observedAt freshness endpoints(first: 2) { totalCount nodes { address ready targetPorts } pageInfo { hasNextPage } } } } } }');
    const [a, b] = data['backend'].members.nodes;
    expect(a).toMatchObject({ cluster: 'a', mayExport: false, mayImport: true, readyCount: 1, freshness: 'FRESH' });
    expect(a.refusals).toEqual(['Sameness policy "shared-ai" covers namespace "ai" but does not let cluster "a" export it; add the cluster to its mayExport to allow it.']);
    expect(b).toMatchObject({ cluster: 'b', mayExport: true, refusals: [], endpointCount: 3, readyCapacity: 3, capacity: { unit: 'REQUESTS', perEndpoint: 1 }, ports: [{ port: 80, protocol: 'TCP' }] });
    expect(b.endpoints).toEqual({ totalCount: 3, nodes: [{ address: '10.1.0.1', ready: true, targetPorts: [8080] }, { address: '10.1.0.2', ready: true, targetPorts: [8080] }], pageInfo: { hasNextPage: true } });
  });

  it('tell every conflict once, with winner and losers', async () => {
    await member('d', [model(1, { capacity: { unit: 'Tokens', perEndpoint: 900 } })]);
    await setPolicy();
    const { data } = await ask('{ backend(namespace: "ai", name: "model") { conflicts { field winner losers message } } }');
    expect(data['backend'].conflicts).toEqual([{ field: 'workUnit', winner: 'a', losers: ['d'], message: 'Cluster "a" defined work unit Requests first; "d" says Tokens: its endpoints get no share until they agree.' }]);
  });

  it('are listed by namespace and name', async () => {
    await member('d', [model(1, { name: 'web/shop' as MemberBackend['name'] }), model(1, { name: 'ai/embed' as MemberBackend['name'], endpoints: readyEndpoints(0) })]);
    await views.catchUp();
    expect((await ask('{ backends { totalCount nodes { namespace name servingCount } } }')).data['backends']).toEqual({
      totalCount: 3,
      nodes: [{ namespace: 'ai', name: 'embed', servingCount: 0 }, { namespace: 'ai', name: 'model', servingCount: 2 }, { namespace: 'web', name: 'shop', servingCount: 1 }],
    });
    expect((await ask('{ backends(namespace: "web") { nodes { name } } }')).data['backends'].nodes).toEqual([{ name: 'shop' }]);
    expect((await ask('{ backend(namespace: "web", name: "none") { name } }')).data).toEqual({ backend: null });
  });

  it('say that a member is stale once it is judged so', async () => {
    await setPolicy();
    await store.reports.judge([{ clusterId: clusterId('b'), freshness: 'stale', lastReportAtMs: clock.nowMs() }], undefined);
    await views.catchUp();
    const { data } = await ask(`{ backend(namespace: "ai", name: "model") { freshness servingCount members { nodes { cluster freshness } } ${IMPORTS} } }`);
    expect(data['backend']).toMatchObject({ freshness: 'STALE', servingCount: 1, members: { nodes: [{ freshness: 'FRESH' }, { freshness: 'STALE' }] } });
    expect(data['backend'].imports.nodes[0].ports[0].shares).toEqual([{ cluster: 'a', shareBp: 10_000 }]);
  });
});

describe('policies', () => {
  it('are set, replaced, listed and deleted', async () => {
    await setPolicy({ mayExport: { matchLabels: [{ key: 'tier', value: 'gold' }] }, owner: 'platform' });
    await setPolicy({ namespaces: ['ai*'], mayExport: { names: ['a', 'b'] } });
    const want = { name: 'shared-ai', namespaces: ['ai*'], owner: '', mayExport: { all: false, names: ['a', 'b'], matchLabels: [] } };
    expect((await ask('{ policies { nodes { name namespaces owner mayExport { all names matchLabels { key value } } } } }')).data['policies'].nodes).toEqual([want]);
    const remove = () => ask(`mutation { deletePolicy(input: { name: "shared-ai" }) { policy { name } ${ERRORS} } }`);
    expect((await remove()).data['deletePolicy']).toEqual({ policy: { name: 'shared-ai' }, userErrors: [] });
    expect(errorsOf((await remove()).data['deletePolicy'])).toEqual(['name POLICY_NOT_FOUND']);
    expect((await ask('{ policy(name: "shared-ai") { name } }')).data).toEqual({ policy: null });
  });

  it('with problems are refused whole, each problem with its path', async () => {
    const { data } = await setPolicy({ name: 'No', namespaces: [], mayExport: {}, mayImport: { matchLabels: [{ key: 'a', value: 'x' }, { key: 'a', value: 'y' }] } });
    expect(errorsOf(data['setSamenessPolicy'])).toEqual(['name POLICY_NAME_INVALID', 'namespaces POLICY_NAMESPACES_EMPTY', 'mayExport POLICY_SELECTOR_EMPTY', 'mayImport.matchLabels[1] POLICY_LABEL_TWICE']);
    expect(await store.policies.list()).toEqual([]);
  });
});

describe('automation', () => {
  const FLEET = 'fleet { freeze { reason since } clusterCount freshCount staleCount joiningCount backendCount policyCount publicUrl position { sequence } }';
  const freeze = (reason: string) => ask(`mutation ($reason: String!) { freezeAutomation(input: { reason: $reason }) { ${FLEET} ${ERRORS} } }`, { variables: { reason } });

  it('frozen holds the shares of that moment while endpoints change, and lets them go when resumed', async () => {
    await member('a', [model(1)]);
    await member('b', [model(1)]);
    await setPolicy();
    expect((await freeze('  network work  ')).data['freezeAutomation'].fleet).toMatchObject({ freeze: { reason: 'network work' }, clusterCount: 2, freshCount: 2, backendCount: 1, policyCount: 1, publicUrl: PUBLIC_URL });
    await member('c', [model(8)]);
    await store.reports.accept({ clusterId: clusterId('b'), full: true, changed: [model(9)], removed: [], digest: reportDigest(new Map([[model(9).name, memberBackendDigest(model(9))]])), applied: undefined, spokeVersion: '', clockSkewMs: 0 });
    await views.catchUp();
    const shares = async () => (await ask('{ backend(namespace: "ai", name: "model") { imports(consumer: "a") { nodes { ports { shares { cluster shareBp } } } } } }')).data['backend'].imports.nodes[0].ports[0].shares;
    expect(await shares()).toEqual([{ cluster: 'a', shareBp: 5_000 }, { cluster: 'b', shareBp: 5_000 }]);
    const resumed = await ask(`mutation { resumeAutomation { ${FLEET} ${ERRORS} } }`);
    expect(resumed.data['resumeAutomation'].fleet.freeze).toBeNull();
    expect(await shares()).toEqual([{ cluster: 'a', shareBp: 556 }, { cluster: 'b', shareBp: 5_000 }, { cluster: 'c', shareBp: 4_444 }]);
  });

  it('frozen twice keeps the first reason', async () => {
    await freeze('first');
    expect((await freeze('second')).data['freezeAutomation'].fleet.freeze.reason).toBe('first');
  });

  it('is not frozen without a reason', async () => {
    expect(errorsOf((await freeze(' ')).data['freezeAutomation'])).toEqual(['reason FREEZE_REASON_EMPTY']);
    expect(errorsOf((await freeze('x'.repeat(501))).data['freezeAutomation'])).toEqual(['reason FREEZE_REASON_TOO_LONG']);
  });
});

describe('declareRestore', () => {
  const declare = (token = adminToken) => ask(`mutation { declareRestore { fleet { position { epoch } joiningCount freshCount backendCount policyCount } ${ERRORS} } }`, { token });

  it('begins a new epoch in which nothing of the backup counts before its member told it anew, and what people set stays', async () => {
    await member('a', [model(1)]);
    await member('b', [model(2)]);
    await setPolicy();
    await views.catchUp();
    const before = views.current().epoch;
    const { fleet, userErrors } = (await declare()).data['declareRestore'];
    expect(userErrors).toEqual([]);
    expect(fleet).toMatchObject({ joiningCount: 2, freshCount: 0, backendCount: 0, policyCount: 1 });
    expect(fleet.position.epoch).not.toBe(before);
    expect((await store.audit.list({ limit: 1 }))[0]).toMatchObject({ by: 'admin', action: 'declareRestore', target: 'fleet', before: { epoch: before }, after: { epoch: fleet.position.epoch } });
    await store.reports.accept({ clusterId: clusterId('a'), full: true, changed: [model(1)], removed: [], digest: reportDigest(new Map([[model(1).name, memberBackendDigest(model(1))]])), applied: undefined, spokeVersion: '', clockSkewMs: 0 });
    await views.catchUp();
    expect((await ask('{ fleet { freshCount joiningCount } backend(namespace: "ai", name: "model") { members { nodes { cluster } } } }')).data).toMatchObject({ fleet: { freshCount: 1, joiningCount: 1 }, backend: { members: { nodes: [{ cluster: 'a' }] } } });
  });

  it('is refused to a viewer, and the epoch stays', async () => {
    const before = (await store.hubState.identity()).epoch;
    expect((await declare(VIEWER)).codes).toEqual(['AUTH_FORBIDDEN']);
    expect((await store.hubState.identity()).epoch).toBe(before);
  });
});

describe('auditLog', () => {
  it('tells who changed what, newest first, page by page', async () => {
    await register({ name: 'east-1' });
    await register({ name: 'west-1' });
    await setPolicy();
    const page = async (after: string | null) => (await ask('query ($after: String) { auditLog(first: 2, after: $after) { endCursor nodes { by action target after } } }', { variables: { after } })).data['auditLog'];
    const first = await page(null);
    expect(first.nodes.map((entry: Json) => `${entry.by} ${entry.action} ${entry.target}`)).toEqual(['admin setSamenessPolicy samenessPolicy/shared-ai', 'admin registerCluster cluster/west-1']);
    const second = await page(first.endCursor);
    expect(second.nodes.map((entry: Json) => entry.target)).toEqual(['cluster/east-1']);
    expect(second.endCursor).toBeNull();
    expect((await ask('{ auditLog(target: "cluster/east-1") { nodes { target } } }')).data['auditLog'].nodes).toHaveLength(1);
  });
});

describe('limits and failures', () => {
  it.each([
    { says: 'an operation that would compute too much', query: '{ backends(first: 200) { nodes { members(first: 200) { nodes { endpoints(first: 200) { nodes { address } } } } } } }', want: ['QUERY_TOO_COSTLY'] },
    { says: 'many small pages under many names', query: `{ ${Array.from({ length: 40 }, (_, index) => `a${index}: clusters(first: 200) { nodes { name network serverUrl uid registeredAt enrolledAt hasKubeconfig } }`).join(' ')} }`, want: ['QUERY_TOO_COSTLY'] },
    { says: 'pages whose size hides in fragments', query: 'query { ...A } fragment A on Query { backends(first: 200) { nodes { ...B } } } fragment B on Backend { imports(first: 200) { nodes { consumer refusals } } }', want: ['QUERY_TOO_COSTLY'] },
    { says: 'fragments that spread each other', query: 'query { ...A } fragment A on Query { ...B } fragment B on Query { ...A fleet { clusterCount } }', want: ['QUERY_INVALID'] },
    { says: 'a field that does not exist', query: '{ secrets }', want: ['QUERY_INVALID'] },
    { says: 'text that is no GraphQL', query: '{', want: ['QUERY_INVALID'] },
    { says: 'an operation text over the limit', query: `{ fleet { clusterCount } } #${'x'.repeat(40_000)}`, want: ['QUERY_TOO_LONG'] },
  ])('$says gets its code', async ({ query, want }) => {
    expect((await ask(query)).codes).toEqual(want);
  });

  it('the size of a page counts where a variable says it', async () => {
    const query = 'query ($first: Int!) { backends(first: $first) { nodes { members(first: $first) { nodes { endpoints(first: $first) { nodes { address } } } } } } }';
    expect((await ask(query, { variables: { first: 200 } })).codes).toEqual(['QUERY_TOO_COSTLY']);
    expect((await ask(query, { variables: { first: 10 } })).codes).toEqual([]);
  });

  it('a variable of the wrong type is told to the caller', async () => {
    expect((await ask('query ($name: String!) { cluster(name: $name) { name } }', { variables: { name: 7 } })).codes).toEqual(['QUERY_INVALID']);
  });

  it('many operations at once are refused', async () => {
    const response = await app.inject({ method: 'POST', url: '/graphql', headers: { authorization: `Bearer ${adminToken}` }, payload: [{ query: '{ fleet { clusterCount } }' }] });
    expect(response.statusCode).toBe(400);
  });

  it('a mutation is never run by GET', async () => {
    const response = await app.inject({ method: 'GET', url: `/graphql?query=${encodeURIComponent('mutation { freezeAutomation(input: { reason: "x" }) { fleet { clusterCount } } }')}`, headers: { authorization: `Bearer ${adminToken}` } });
    expect(response.statusCode).toBe(405);
    expect((await store.changeLog.loadView()).view.freeze).toBeUndefined();
  });

  it('a lost database is told as such, with a code and no stack', async () => {
    store.available = false;
    const { codes, text } = await ask('{ clusters { totalCount } }');
    expect(codes).toEqual(['STORE_UNAVAILABLE']);
    expect(text).not.toContain('at ');
  });

  it('a bug is hidden from the caller and logged', async () => {
    views.current = () => {
      throw new Error('secret detail');
    };
    const { codes, text } = await ask('{ fleet { clusterCount } }');
    expect(codes).toEqual(['INTERNAL']);
    expect(text).not.toContain('secret detail');
    expect(logged).toContain('secret detail');
  });
});

/** Reads as much as the schema offers of clusters, policies and audit. */
const EVERYTHING = `{
  fleet { publicUrl } policies { nodes { name } } auditLog { nodes { before after action target } }
  clusters { nodes { name uid serverUrl hasKubeconfig conditions { message } inventory { facts { value } } spoke { version } removal { by } } }
}`;

/** Everything that the store holds, as text, but for what it keeps encrypted. */
async function storeText(): Promise<Iterable<unknown>> {
  const tables = Object.entries(store.backup() as unknown as Record<string, unknown>);
  return tables.map(([name, value]) => [name, value instanceof Map ? [...value] : value]).map((entry) => JSON.stringify(entry, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value instanceof Map ? [...value] : value)));
}

async function rawPost(port: number, target: string, body: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST ${target} HTTP/1.1\r\nhost: hub\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
