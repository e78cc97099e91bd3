import { describe, expect, it } from '@jest/globals';

import { sortObjects } from '#testing';

import { acceptedFrontendKey, acceptedFrontends, decideGateways, type AcceptedFrontend, type GatewayDecisions } from './index.js';

type Json = Record<string, unknown>;

const PORTS = [{ name: 'web', port: 80 }, { name: 'admin', port: 81 }, { name: 'dns', port: 53, protocol: 'UDP' }];
const web = (spec: Json = {}): Json => ({ kind: 'Service', metadata: { namespace: 'shop', name: 'web' }, spec: { clusterIPs: ['172.30.0.9', 'fd00:30::9'], ports: PORTS, ...spec } });
const pods = (namespace: string): Json => ({ kind: 'EndpointSelector', metadata: { namespace, name: 'pods' }, spec: { selector: { matchLabels: { app: 'web' } } } });
const parent = { group: '', kind: 'Service', name: 'web', namespace: 'shop' };
const ours = (port: number): Json => ({ group: 'spillway.dev', kind: 'EndpointSelector', name: 'pods', port });
const route = (over: Json = {}, metadata: Json = {}): Json => ({
  kind: 'TCPRoute',
  metadata: { namespace: 'shop', name: 'route', ...metadata },
  spec: { parentRefs: [parent], rules: [{ backendRefs: [ours(8080)] }], ...over },
});
const serviceImport = (spec: Json): Json => ({ kind: 'ServiceImport', metadata: { namespace: 'ai', name: 'model' }, spec: { type: 'ClusterSetIP', ...spec } });

const decide = (objects: readonly Json[]): GatewayDecisions => decideGateways(sortObjects([pods('shop'), pods('client'), ...objects]).gateway);
const accepted = ({ routes }: GatewayDecisions): string[] => routes.flatMap(({ parents }) => parents.map((one) => one.accepted.reason));
const frontends = (decisions: GatewayDecisions): readonly AcceptedFrontend[] => acceptedFrontends(decisions, new Map(), 'cluster.local');
const text = (frontend: AcceptedFrontend): string =>
  `${acceptedFrontendKey(frontend)} ${frontend.addresses.join()}: ${frontend.listeners.map(({ name, port, protocol, targets, rejectWeight }) => `${name} ${port}/${protocol} to ${[...targets.map((target) => `${target.weight} ${target.kind} ${target.name}/${target.port.port}`), `${rejectWeight} refused`].join(', ')}`).join('; ')}`;
const frontTexts = (objects: readonly Json[]): string[] => frontends(decide(objects)).map(text);

describe('a Service that routes take over (GEP-1294)', () => {
  it.each([
    { name: 'all its TCP ports without port and sectionName', objects: [web(), route()], want: ['service:shop/web 172.30.0.9,fd00:30::9: admin 81/TCP to 1 selector pods/8080, 0 refused; web 80/TCP to 1 selector pods/8080, 0 refused'] },
    { name: 'one port by number, the others stay as they are', objects: [web(), route({ parentRefs: [{ ...parent, port: 81 }] })], want: ['service:shop/web 172.30.0.9,fd00:30::9: admin 81/TCP to 1 selector pods/8080, 0 refused'] },
    { name: 'one port by name', objects: [web(), route({ parentRefs: [{ ...parent, sectionName: 'web' }] })], want: ['service:shop/web 172.30.0.9,fd00:30::9: web 80/TCP to 1 selector pods/8080, 0 refused'] },
    { name: 'the only port may have no name', objects: [web({ ports: [{ port: 80 }] }), route()], want: ['service:shop/web 172.30.0.9,fd00:30::9: tcp-80 80/TCP to 1 selector pods/8080, 0 refused'] },
    { name: 'a route of another namespace is for callers of that namespace alone', objects: [web(), route({ parentRefs: [{ ...parent, port: 80 }] }, { namespace: 'client' })], want: ['service:shop/web@client 172.30.0.9,fd00:30::9: web 80/TCP to 1 selector pods/8080, 0 refused'] },
    { name: 'producer and consumer routes are two frontends', objects: [web(), route({ parentRefs: [{ ...parent, port: 80 }] }), route({ parentRefs: [{ ...parent, port: 80 }] }, { namespace: 'client' })], want: ['service:shop/web 172.30.0.9,fd00:30::9: web 80/TCP to 1 selector pods/8080, 0 refused', 'service:shop/web@client 172.30.0.9,fd00:30::9: web 80/TCP to 1 selector pods/8080, 0 refused'] },
    { name: 'the oldest of several routes on a port serves it', objects: [web(), route({ parentRefs: [{ ...parent, port: 80 }] }, { creationTimestamp: '2026-01-02T00:00:00Z' }), route({ parentRefs: [parent], rules: [{ backendRefs: [ours(9090)] }] }, { name: 'zz', creationTimestamp: '2026-01-01T00:00:00Z' })], want: ['service:shop/web 172.30.0.9,fd00:30::9: admin 81/TCP to 1 selector pods/9090, 0 refused; web 80/TCP to 1 selector pods/9090, 0 refused'] },
    { name: 'what leads nowhere is refused by its exact weight, and never falls back to the Service', objects: [web(), route({ parentRefs: [{ ...parent, port: 80 }], rules: [{ backendRefs: [ours(8080), { group: 'spillway.dev', kind: 'CompositeBackend', name: 'gone', port: 1, weight: 3 }] }] })], want: ['service:shop/web 172.30.0.9,fd00:30::9: web 80/TCP to 1 selector pods/8080, 3 refused'] },
    { name: 'nothing once its route is on its way out: the Service has its own endpoints back', objects: [web(), route({}, { deletionTimestamp: '2026-01-03T00:00:00Z' })], want: [] },
    { name: 'nothing by a route that leads to no backend of ours: it is a mesh\'s', objects: [web(), route({ rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] })], want: [] },
    { name: 'nothing by a parentRef without its group, which means Gateway API\'s own', objects: [web(), route({ parentRefs: [{ kind: 'Service', name: 'web', namespace: 'shop' }] })], want: [] },
  ])('$name', ({ objects, want }) => {
    expect(frontTexts(objects)).toEqual(want);
  });

  it.each([
    { name: 'accepted', objects: [web(), route()], want: ['Accepted'] },
    { name: 'without the Service', objects: [route()], want: ['NoMatchingParent'] },
    { name: 'on a port that the Service lacks', objects: [web(), route({ parentRefs: [{ ...parent, port: 82 }] })], want: ['NoMatchingParent'] },
    { name: 'on a port that speaks UDP', objects: [web(), route({ parentRefs: [{ ...parent, port: 53 }] })], want: ['NoMatchingParent'] },
    { name: 'by a name and a number that do not agree', objects: [web(), route({ parentRefs: [{ ...parent, port: 80, sectionName: 'admin' }] })], want: ['NoMatchingParent'] },
    { name: 'to a headless Service', objects: [web({ clusterIPs: [], clusterIP: 'None' }), route()], want: ['UnsupportedValue'] },
    { name: 'to an ExternalName', objects: [web({ type: 'ExternalName', clusterIPs: [], clusterIP: '' }), route()], want: ['UnsupportedValue'] },
    { name: 'with two rules', objects: [web(), route({ rules: [{ backendRefs: [ours(1)] }, {}] })], want: ['UnsupportedValue'] },
    { name: 'beside a parent of a mesh\'s, each by itself', objects: [web(), route({ parentRefs: [{ ...parent, port: 82 }, parent] })], want: ['NoMatchingParent', 'Accepted'] },
    { name: 'left alone where it leads to no backend of ours', objects: [web(), route({ rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] })], want: [] },
  ])('a route is $name: $want', ({ objects, want }) => {
    expect(accepted(decide(objects))).toEqual(want);
  });

  it('a UDPRoute is refused, and says why', () => {
    const decisions = decide([web(), { ...route({ parentRefs: [{ ...parent, port: 53 }] }), kind: 'UDPRoute' }]);
    expect(decisions.routes[0]?.parents[0]?.accepted).toMatchObject({ ok: false, reason: 'UnsupportedValue' });
    expect(decisions.routes[0]?.parents[0]?.accepted.message).toContain('kube-proxy ends UDP flows');
    expect(frontends(decisions)).toEqual([]);
  });

  it('a CompositeBackend behind a Service counts as used', () => {
    const composite = { kind: 'CompositeBackend', metadata: { namespace: 'shop', name: 'all' }, spec: { ports: [{ port: 80 }] } };
    const decisions = decide([web(), composite, route({ rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'CompositeBackend', name: 'all', port: 80 }] }] })]);
    expect(decisions.compositeBackends[0]?.isUsed).toBe(true);
  });
});

describe('a ServiceImport as a frontend', () => {
  it.each([
    { name: 'each port leads to the clusterset\'s endpoints', spec: { ips: ['172.31.0.7', 'fd00:31:0::7'], ports: [{ name: 'web', port: 80 }, { name: 'dns', port: 53, protocol: 'UDP' }] }, want: ['service-import:ai/model 172.31.0.7,fd00:31::7: dns 53/UDP to 1 import model/53, 0 refused; web 80/TCP to 1 import model/80, 0 refused'] },
    { name: 'without an address yet', spec: { ports: [{ port: 80 }] }, want: ['service-import:ai/model : tcp-80 80/TCP to 1 import model/80, 0 refused'] },
    { name: 'ports of other protocols are left out', spec: { ips: ['172.31.0.7'], ports: [{ name: 'x', port: 80, protocol: 'SCTP' }] }, want: ['service-import:ai/model 172.31.0.7: '] },
    { name: 'a headless one has no address, whatever it says', spec: { type: 'Headless', ips: ['172.31.0.7'], ports: [{ name: 'web', port: 80 }] }, want: ['service-import:ai/model : web 80/TCP to 1 import model/80, 0 refused'] },
  ])('$name', ({ spec, want }) => {
    expect(frontTexts([serviceImport(spec)])).toEqual(want);
  });

  it('has its name in the clusterset\'s zone, and says whether it is headless', () => {
    const [frontend] = frontends(decide([serviceImport({ type: 'Headless', ports: [] })]));
    expect([frontend?.dnsNames, frontend?.isHeadless]).toEqual([['model.ai.svc.clusterset.local'], true]);
  });
});
