import { describe, expect, it } from '@jest/globals';

import { clusterId } from '#domain/fleet';
import type { Frontend, PlannedBackend, PlannedBackendId, PlannedEndpoint, PlannedProvider } from '#domain/routing-plan';

import { answerQuestion } from './answer-question.js';
import { buildClustersetZone } from './build-clusterset-zone.js';
import type { DnsRecord } from './dns-zone.js';

const options = { nameServer: 'spillway-spoke-dns.spillway-system.svc.cluster.local', serial: 7 };

const backendId = (name: string, port: number, protocol = 'TCP') => `import:shop/${name}/${port}/${protocol}` as PlannedBackendId;
const listener = (backend: PlannedBackendId, name: string, port: number, protocol: 'TCP' | 'UDP' = 'TCP') => ({ name, port, protocol, uses: [{ backend, weight: 1 }], rejectWeight: 0 });
const imported = (name: string, addresses: readonly string[], listeners: Frontend['listeners']): Frontend => ({
  kind: 'service-import',
  callers: undefined,
  isHeadless: addresses.length === 0,
  namespace: 'shop',
  name,
  addresses,
  dnsNames: [`${name}.shop.svc.clusterset.local`],
  listeners,
});
const endpoint = (address: string, port: number, more: Partial<PlannedEndpoint> = {}): PlannedEndpoint => ({ address, port, state: 'ready', zone: '', node: '', hostname: '', ...more });
const provider = (cluster: string, endpoints: readonly PlannedEndpoint[], more: Partial<PlannedProvider> = {}): PlannedProvider => ({ clusterId: clusterId(cluster), locality: { region: '', zone: '' }, path: 'direct', shareBp: 5_000, endpoints, ...more });
const backend = (id: PlannedBackendId, ...providers: PlannedProvider[]): PlannedBackend => ({ id, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers });

const [DB_SQL, DB_STATS, CART, GONE, FAR, LATER] = [backendId('db', 5432), backendId('db', 9_000), backendId('cart', 42), backendId('gone', 80), backendId('far', 80), backendId('later', 80)];

const zone = buildClustersetZone(
  {
    frontends: [
      imported('cart', ['10.96.0.7', 'fd00:96::7'], [listener(CART, 'tcp', 42), listener(CART, 'udp', 42, 'UDP'), listener(CART, '', 8_443)]),
      { ...imported('pending', ['unused'], []), addresses: [] },
      imported('db', [], [listener(DB_SQL, 'sql', 5_432), listener(DB_STATS, 'stats', 9_000)]),
      imported('gone', [], [listener(GONE, 'http', 80)]),
      imported('far', [], [listener(FAR, 'http', 80)]),
      imported('later', [], [listener(LATER, 'http', 80)]),
      { ...imported('cart', ['10.96.0.9'], []), kind: 'gateway', dnsNames: ['gateway.shop.svc.clusterset.local'] },
      { ...imported('sly', ['10.96.0.10'], []), dnsNames: ['dns-version.clusterset.local', 'sly.shop.clusterset.local', 'sly.shop.svc.cluster.local'] },
    ],
    backends: [
      backend(
        DB_SQL,
        provider('east', [endpoint('10.1.0.1', 15_432, { hostname: 'db-0' }), endpoint('fd01::1', 15_432, { hostname: 'db-0' }), endpoint('10.1.0.2', 15_432, { hostname: 'db-1', state: 'not-ready' }), endpoint('10.1.0.3', 15_432, { hostname: 'db-2', state: 'serving-terminating' })]),
        provider('west', [endpoint('10.2.0.1', 15_432), endpoint('fd02::1', 15_432, { hostname: 'Not.A.Label' })], { shareBp: 0 }),
      ),
      backend(DB_STATS, provider('east', [endpoint('10.1.0.1', 9_000, { hostname: 'db-0' })])),
      backend(CART, provider('east', [endpoint('10.1.0.9', 42)])),
      backend(GONE, provider('east', [endpoint('10.1.0.5', 80, { state: 'not-ready' })])),
      backend(FAR, provider('south', [endpoint('192.0.2.1', 31_000)], { path: 'gateway' })),
    ],
  },
  options,
);

const textOf = (record: DnsRecord): string => {
  if ('address' in record) return record.address;
  return record.type === 'SRV' ? `${record.port} ${record.target}` : `${record.type} ${record.type === 'TXT' ? record.text : ''}`;
};
const ask = (name: string, type: string, isCurrent = true): string[] => {
  const answer = answerQuestion([zone], { name, type }, isCurrent);
  return answer.kind === 'answer' ? answer.answers.map(textOf) : [answer.kind];
};

describe('an import with clusterset addresses', () => {
  it.each([
    { name: 'has its IPv4 address', asked: 'cart.shop.svc.clusterset.local', type: 'A', want: ['10.96.0.7'] },
    { name: 'has its IPv6 address', asked: 'cart.shop.svc.clusterset.local', type: 'AAAA', want: ['fd00:96::7'] },
    { name: 'has an SRV record of each named port', asked: '_udp._udp.cart.shop.svc.clusterset.local', type: 'SRV', want: ['42 cart.shop.svc.clusterset.local'] },
    { name: 'has SRV records of its own name once for each port, whatever the protocols', asked: 'cart.shop.svc.clusterset.local', type: 'SRV', want: ['42 cart.shop.svc.clusterset.local', '8443 cart.shop.svc.clusterset.local'] },
    { name: 'has no name for a port without one', asked: '_._tcp.cart.shop.svc.clusterset.local', type: 'SRV', want: ['no-such-name'] },
    { name: 'has no names of clusters', asked: 'east.cart.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'has no names of endpoints', asked: '10-1-0-9.east.cart.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'that has no address yet exists', asked: 'pending.shop.svc.clusterset.local', type: 'A', want: ['no-data'] },
  ])('$name', ({ asked, type, want }) => {
    expect(ask(asked, type)).toEqual(want);
  });
});

describe('a headless import', () => {
  it.each([
    { name: 'has exactly the addresses of its ready endpoints in all clusters, whatever their shares', asked: 'db.shop.svc.clusterset.local', type: 'A', want: ['10.1.0.1', '10.2.0.1'] },
    { name: 'has the IPv6 addresses of the same endpoints', asked: 'db.shop.svc.clusterset.local', type: 'AAAA', want: ['fd01::1', 'fd02::1'] },
    { name: 'names an endpoint by host name and cluster', asked: 'db-0.east.db.shop.svc.clusterset.local', type: 'A', want: ['10.1.0.1'] },
    { name: 'has both families below one host name', asked: 'db-0.east.db.shop.svc.clusterset.local', type: 'AAAA', want: ['fd01::1'] },
    { name: 'names an endpoint without host name by its address', asked: '10-2-0-1.west.db.shop.svc.clusterset.local', type: 'A', want: ['10.2.0.1'] },
    { name: 'names an endpoint by its address where its host name is no label', asked: 'fd02--1.west.db.shop.svc.clusterset.local', type: 'AAAA', want: ['fd02::1'] },
    { name: 'has no name of an endpoint that is not ready', asked: 'db-1.east.db.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'has no name of an endpoint that terminates', asked: 'db-2.east.db.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'keeps a host name to its cluster', asked: 'db-0.west.db.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'has the port that answers, of each endpoint', asked: '_sql._tcp.db.shop.svc.clusterset.local', type: 'SRV', want: ['15432 db-0.east.db.shop.svc.clusterset.local', '15432 10-2-0-1.west.db.shop.svc.clusterset.local', '15432 fd02--1.west.db.shop.svc.clusterset.local'] },
    { name: 'has no more than the endpoints of that port', asked: '_stats._tcp.db.shop.svc.clusterset.local', type: 'SRV', want: ['9000 db-0.east.db.shop.svc.clusterset.local'] },
    { name: 'without ready endpoints does not exist', asked: 'gone.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'has no ports without ready endpoints', asked: '_http._tcp.gone.shop.svc.clusterset.local', type: 'SRV', want: ['no-such-name'] },
    { name: 'says nothing of endpoints behind a gateway, whose addresses nobody here could call', asked: 'far.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'whose endpoints are not known is not denied', asked: 'later.shop.svc.clusterset.local', type: 'A', want: ['unknown'] },
    { name: 'whose endpoints are not known has names that are not denied', asked: 'x-0.east.later.shop.svc.clusterset.local', type: 'A', want: ['unknown'] },
  ])('$name', ({ asked, type, want }) => {
    expect(ask(asked, type)).toEqual(want);
  });

  it.each(['A', 'AAAA', 'SRV', 'TXT', 'ANY'])('has no record of a cluster as such (%s)', (type) => {
    expect(ask('east.db.shop.svc.clusterset.local', type)).toEqual(['no-data']);
    expect(ask('north.db.shop.svc.clusterset.local', type)).toEqual(['no-such-name']);
  });

  it('brings the addresses of SRV targets along, each once', () => {
    const answer = answerQuestion([zone], { name: 'db.shop.svc.clusterset.local', type: 'SRV' }, true);
    expect(answer.kind === 'answer' && [answer.answers.length, answer.additionals.map(textOf)]).toEqual([4, ['10.1.0.1', 'fd01::1', '10.2.0.1', 'fd02::1']]);
  });
});

describe('the clusterset zone', () => {
  it.each([
    { name: 'says which specification it follows', asked: 'dns-version.clusterset.local', type: 'TXT', want: ['TXT 1.0.0'] },
    { name: 'lets nobody have that name', asked: 'dns-version.clusterset.local', type: 'A', want: ['no-data'] },
    { name: 'has imports below svc alone', asked: 'sly.shop.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'has no Gateways', asked: 'gateway.shop.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
    { name: 'never speaks for cluster.local', asked: 'sly.shop.svc.cluster.local', type: 'A', want: ['refused'] },
    { name: 'has namespaces with imports', asked: 'shop.svc.clusterset.local', type: 'A', want: ['no-data'] },
    { name: 'denies other namespaces', asked: 'web.svc.clusterset.local', type: 'A', want: ['no-such-name'] },
  ])('$name', ({ asked, type, want }) => {
    expect(ask(asked, type)).toEqual(want);
  });

  it('that may be out of date says what it has and denies nothing', () => {
    expect(ask('cart.shop.svc.clusterset.local', 'A', false)).toEqual(['10.96.0.7']);
    expect(ask('cart.shop.svc.clusterset.local', 'MX', false)).toEqual(['no-data']);
    expect(ask('gone.shop.svc.clusterset.local', 'A', false)).toEqual(['unknown']);
    expect(ask('new.shop.svc.clusterset.local', 'A', false)).toEqual(['unknown']);
  });

  it('lets no answer be kept for more than 5 seconds', () => {
    expect([...zone.names.values()].flat().map(({ ttlSeconds }) => ttlSeconds).every((ttl) => ttl >= 1 && ttl <= 5)).toBe(true);
  });
});
