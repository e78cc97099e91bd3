import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { sortObjects } from '#testing';

import { decideGateways, fleetPorts, type GatewayDecisions } from './index.js';
import { backendName } from '#domain/fleet';

type Json = Record<string, unknown>;

const ourClass: Json = { kind: 'GatewayClass', metadata: { name: 'cluster-ip' }, spec: { controllerName: 'spillway.dev/cluster-ip' } };
const TCP_80: Json = { name: 'http', port: 80, protocol: 'TCP' };
const gateway = (listeners: readonly Json[] = [TCP_80], over: Json = {}, metadata: Json = {}): Json => ({
  kind: 'Gateway',
  metadata: { namespace: 'ai', name: 'model', ...metadata },
  spec: { gatewayClassName: 'cluster-ip', listeners, ...over },
});
const route = (backendRefs: readonly Json[], over: Json = {}, metadata: Json = {}): Json => ({
  kind: 'TCPRoute',
  metadata: { namespace: 'ai', name: 'route', ...metadata },
  spec: { parentRefs: [{ name: 'model', namespace: 'ai' }], rules: [{ backendRefs }], ...over },
});
const namespace = (name: string, labels: Json = {}): Json => ({ kind: 'Namespace', metadata: { name, labels } });
const selector = (ports?: readonly Json[]): Json => ({ kind: 'EndpointSelector', metadata: { namespace: 'ai', name: 'pods' }, spec: { selector: { matchLabels: { app: 'model' } }, ports } });
const service = (over: Json = {}): Json => ({ kind: 'Service', metadata: { namespace: 'ai', name: 'svc' }, spec: { clusterIP: '172.30.0.9', ports: [{ name: 'web', port: 80 }], ...over } });
const composite = (spec: Json): Json => ({ kind: 'CompositeBackend', metadata: { namespace: 'ai', name: 'model' }, spec });
const xSelector: Json = { kind: 'XEndpointSelector', metadata: { namespace: 'ai', name: 'pods' }, spec: { selector: { matchLabels: { app: 'model' } } } };
const toXSelector = (port?: number): Json => ({ group: 'gateway.networking.x-k8s.io', kind: 'XEndpointSelector', name: 'pods', port });
const serviceImport = (ports: readonly Json[] = [{ name: 'web', port: 80 }]): Json => ({ kind: 'ServiceImport', metadata: { namespace: 'ai', name: 'imported' }, spec: { type: 'ClusterSetIP', ips: ['172.30.0.7'], ports } });
const toImport = (port?: number): Json => ({ group: 'multicluster.x-k8s.io', kind: 'ServiceImport', name: 'imported', port });
const toSelector = (port?: number): Json => ({ group: 'spillway.dev', kind: 'EndpointSelector', name: 'pods', port });
const toComposite = (port?: number): Json => ({ group: 'spillway.dev', kind: 'CompositeBackend', name: 'model', port });
const toService = (port?: number): Json => ({ name: 'svc', port });

const decide = (objects: readonly Json[]): GatewayDecisions => decideGateways(sortObjects([ourClass, ...objects]).gateway);
const routeVerdict = ({ routes }: GatewayDecisions): string | undefined => routes[0]?.parents[0]?.accepted.reason;
const refsVerdict = ({ routes }: GatewayDecisions): string | undefined => routes[0]?.resolvedRefs.reason;
const gatewayVerdict = ({ gateways }: GatewayDecisions): string | undefined => (gateways[0] === undefined ? undefined : `${gateways[0].accepted.ok} ${gateways[0].accepted.reason}`);
const serving = ({ gateways }: GatewayDecisions): string[] =>
  gateways.flatMap(({ listeners }) => listeners.flatMap((listener) => listener.serving ?? [])).map(({ port, targets, rejectWeight }) => `${port}: ${[...targets.map((target) => `${target.weight} ${target.kind} ${target.name}/${target.port.port}`), `${rejectWeight} refused`].join(', ')}`);

describe('which Gateways are ours (R1)', () => {
  it.each([
    { name: 'a Gateway of our class is judged', objects: [gateway()], want: 'true Accepted' },
    { name: 'a Gateway of another controller\'s class is left alone', objects: [{ ...ourClass, metadata: { name: 'theirs' }, spec: { controllerName: 'example.com/x' } }, gateway([TCP_80], { gatewayClassName: 'theirs' })], want: undefined },
    { name: 'a Gateway whose class does not exist is left alone', objects: [gateway([TCP_80], { gatewayClassName: 'none' })], want: undefined },
    { name: 'a class under any name is ours by its controllerName', objects: [{ ...ourClass, metadata: { name: 'vip' } }, gateway([TCP_80], { gatewayClassName: 'vip' })], want: 'true Accepted' },
    { name: 'a Gateway on its way out serves no more', objects: [gateway([TCP_80], {}, { deletionTimestamp: '2026-01-01T00:00:00Z' })], want: undefined },
  ])('$name', ({ objects, want }) => {
    expect(gatewayVerdict(decide(objects))).toBe(want);
  });
});

describe('whether a Gateway is accepted', () => {
  it.each([
    { name: 'not without a usable listener', object: gateway([{ name: 'a', port: 80, protocol: 'HTTP' }]), want: 'false ListenersNotValid' },
    { name: 'with one usable listener of two', object: gateway([TCP_80, { name: 'a', port: 81, protocol: 'HTTP' }]), want: 'true ListenersNotValid' },
    { name: 'not with two TCP listeners on one port', object: gateway([TCP_80, { ...TCP_80, name: 'b' }]), want: 'false ListenersNotValid' },
    { name: 'not with an address of another type', object: gateway([TCP_80], { addresses: [{ type: 'Hostname', value: 'a.example' }] }), want: 'false UnsupportedAddress' },
    { name: 'not with parameters', object: gateway([TCP_80], { infrastructure: { parametersRef: { group: '', kind: 'ConfigMap', name: 'x' } } }), want: 'false InvalidParameters' },
    { name: 'with an empty address value', object: gateway([TCP_80], { addresses: [{ type: 'IPAddress', value: '' }] }), want: 'true Accepted' },
  ])('$name', ({ object, want }) => {
    expect(gatewayVerdict(decide([object]))).toBe(want);
  });

  it('not when its class asks for parameters', () => {
    const asking = { ...ourClass, spec: { controllerName: 'spillway.dev/cluster-ip', parametersRef: { group: '', kind: 'ConfigMap', name: 'x' } } };
    const decisions = decideGateways(sortObjects([asking, gateway()]).gateway);
    expect([decisions.classes[0]?.accepted.reason, gatewayVerdict(decisions)]).toEqual(['InvalidParameters', 'false InvalidParameters']);
  });
});

describe('listeners that share a port (R10)', () => {
  it.each([
    { name: 'TCP and TCP conflict', protocols: ['TCP', 'TCP'], want: ['ProtocolConflict', 'ProtocolConflict'] },
    { name: 'TCP and TLS conflict', protocols: ['TCP', 'TLS'], want: ['ProtocolConflict', 'ProtocolConflict'] },
    { name: 'TCP and UDP do not', protocols: ['TCP', 'UDP'], want: ['NoConflicts', 'NoConflicts'] },
    { name: 'HTTP and HTTPS conflict', protocols: ['HTTP', 'HTTPS'], want: ['ProtocolConflict', 'ProtocolConflict'] },
    { name: 'HTTPS and TLS may share', protocols: ['HTTPS', 'TLS'], want: ['NoConflicts', 'NoConflicts'] },
    { name: 'HTTP and HTTP of one hostname conflict', protocols: ['HTTP', 'HTTP'], want: ['HostnameConflict', 'HostnameConflict'] },
    { name: 'UDP and UDP conflict', protocols: ['UDP', 'UDP'], want: ['ProtocolConflict', 'ProtocolConflict'] },
  ])('$name', ({ protocols, want }) => {
    const decisions = decide([gateway(protocols.map((protocol, at) => ({ name: `l${at}`, port: 80, protocol })))]);
    expect(decisions.gateways[0]?.listeners.map(({ unconflicted }) => unconflicted.reason)).toEqual(want);
  });
});

describe('which listeners a route is attached to', () => {
  const listeners = [TCP_80, { name: 'admin', port: 81, protocol: 'TCP' }];
  const attached = (parentRef: Json): number[] | undefined => decide([gateway(listeners), route([], { parentRefs: [parentRef] })]).gateways[0]?.listeners.map(({ attachedRoutes }) => attachedRoutes);

  it.each([
    { name: 'to all without sectionName and port', ref: { name: 'model' }, want: [1, 1] },
    { name: 'by sectionName', ref: { name: 'model', sectionName: 'admin' }, want: [0, 1] },
    { name: 'by port', ref: { name: 'model', port: 80 }, want: [1, 0] },
    { name: 'by both, which must agree', ref: { name: 'model', port: 80, sectionName: 'admin' }, want: [0, 0] },
    { name: 'to none of a parent of another kind', ref: { name: 'model', kind: 'Service', group: '' }, want: [0, 0] },
  ])('$name', ({ ref, want }) => {
    expect(attached(ref)).toEqual(want);
  });

  it('once, however many references lead there', () => {
    const decisions = decide([gateway(), route([], { parentRefs: [{ name: 'model' }, { name: 'model', sectionName: 'http' }] })]);
    expect(decisions.gateways[0]?.listeners[0]?.attachedRoutes).toBe(1);
    expect(decisions.routes[0]?.parents).toHaveLength(2);
  });
});

describe('whether a route is accepted', () => {
  const from = (allowed: Json): Json => gateway([{ ...TCP_80, allowedRoutes: { namespaces: allowed } }]);
  const elsewhere = route([], {}, { namespace: 'team-b' });

  it.each([
    { name: 'from the Gateway\'s own namespace by default', objects: [gateway(), route([])], want: 'Accepted' },
    { name: 'not from another namespace by default', objects: [gateway(), elsewhere], want: 'NotAllowedByListeners' },
    { name: 'from anywhere under All', objects: [from({ from: 'All' }), elsewhere], want: 'Accepted' },
    { name: 'from nowhere under None', objects: [from({ from: 'None' }), route([])], want: 'NotAllowedByListeners' },
    { name: 'from a namespace whose labels match', objects: [from({ from: 'Selector', selector: { matchLabels: { team: 'b' } } }), namespace('team-b', { team: 'b' }), elsewhere], want: 'Accepted' },
    { name: 'not from one whose labels do not', objects: [from({ from: 'Selector', selector: { matchLabels: { team: 'b' } } }), namespace('team-b'), elsewhere], want: 'NotAllowedByListeners' },
    { name: 'not on a listener of another protocol', objects: [gateway([{ name: 'a', port: 80, protocol: 'HTTP' }]), route([])], want: 'NotAllowedByListeners' },
    { name: 'not on a listener that allows other kinds alone', objects: [gateway([{ ...TCP_80, allowedRoutes: { kinds: [{ kind: 'HTTPRoute' }] } }]), route([])], want: 'NotAllowedByListeners' },
    { name: 'not on a listener that is not there', objects: [gateway(), route([], { parentRefs: [{ name: 'model', sectionName: 'x' }] })], want: 'NoMatchingParent' },
    { name: 'not while its listener is in conflict', objects: [gateway([TCP_80, { ...TCP_80, name: 'b' }]), route([])], want: 'Pending' },
    { name: 'not while its Gateway is not accepted', objects: [gateway([TCP_80], { addresses: [{ type: 'Hostname', value: 'x' }] }), route([])], want: 'Pending' },
    { name: 'not with two rules', objects: [gateway(), route([], { rules: [{}, {}] })], want: 'UnsupportedValue' },
    { name: 'left alone where its Gateway does not exist', objects: [route([])], want: undefined },
  ])('$name', ({ objects, want }) => {
    expect(routeVerdict(decide(objects))).toBe(want);
  });
});

describe('several routes on a listener (R11)', () => {
  const older = route([toSelector(8080)], {}, { name: 'z-older', creationTimestamp: '2026-01-01T00:00:00Z' });
  const newer = route([toService(80)], {}, { name: 'a-newer', creationTimestamp: '2026-01-02T00:00:00Z' });

  it('are all accepted and counted, and the oldest serves', () => {
    const decisions = decide([gateway(), selector(), service(), newer, older]);
    expect(decisions.routes.map(({ parents }) => parents[0]?.accepted.reason)).toEqual(['Accepted', 'Accepted']);
    expect(decisions.gateways[0]?.listeners[0]?.attachedRoutes).toBe(2);
    expect(serving(decisions)).toEqual(['80: 1 selector pods/8080, 0 refused']);
  });

  it('of one age are served by name', () => {
    const twin = { ...newer, metadata: { namespace: 'ai', name: 'a-newer', creationTimestamp: '2026-01-01T00:00:00Z' } };
    expect(serving(decide([gateway(), selector(), service(), twin, older]))).toEqual(['80: 1 service svc/80, 0 refused']);
  });

  it('the next oldest serves once the oldest is on its way out', () => {
    const going = { ...older, metadata: { namespace: 'ai', name: 'z-older', creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp: '2026-01-03T00:00:00Z' } };
    expect(serving(decide([gateway(), selector(), service(), newer, going]))).toEqual(['80: 1 service svc/80, 0 refused']);
  });
});

describe('where a route\'s connections go (R12)', () => {
  it.each([
    { name: 'an EndpointSelector by pod port', objects: [selector(), route([toSelector(8080)])], want: ['80: 1 selector pods/8080, 0 refused'] },
    { name: 'an EndpointSelector with one port needs no number', objects: [selector([{ targetPort: 8080 }]), route([toSelector()])], want: ['80: 1 selector pods/8080, 0 refused'] },
    { name: 'weights stay as written', objects: [selector(), service(), route([{ ...toSelector(8080), weight: 7 }, { ...toService(80), weight: 3 }])], want: ['80: 7 selector pods/8080, 3 service svc/80, 0 refused'] },
    { name: 'the exact weight of a missing backend is refused', objects: [selector(), route([{ ...toSelector(8080), weight: 20 }, { ...toService(80), weight: 80 }])], want: ['80: 20 selector pods/8080, 80 refused'] },
    { name: 'a backend of weight 0 gets nothing', objects: [selector(), service(), route([toSelector(8080), { ...toService(80), weight: 0 }])], want: ['80: 1 selector pods/8080, 0 refused'] },
    { name: 'weights of 0 alone refuse everything', objects: [service(), route([{ ...toService(80), weight: 0 }])], want: ['80: 1 refused'] },
    { name: 'a route to nothing refuses everything', objects: [route([])], want: ['80: 1 refused'] },
    { name: 'no route refuses everything', objects: [], want: ['80: 1 refused'] },
  ])('$name', ({ objects, want }) => {
    expect(serving(decide([gateway(), ...objects]))).toEqual(want);
  });
});

describe('why a reference leads nowhere', () => {
  it.each([
    { name: 'a missing Service', objects: [route([toService(80)])], want: 'BackendNotFound' },
    { name: 'a Service without the port', objects: [service(), route([toService(81)])], want: 'BackendNotFound' },
    { name: 'a Service without a port number', objects: [service(), route([toService()])], want: 'BackendNotFound' },
    { name: 'a Service that is an ExternalName', objects: [service({ type: 'ExternalName' }), route([toService(80)])], want: 'BackendNotFound' },
    { name: 'a Service port that is UDP', objects: [service({ ports: [{ port: 80, protocol: 'UDP' }] }), route([toService(80)])], want: 'UnsupportedProtocol' },
    { name: 'a headless Service resolves', objects: [service({ clusterIP: 'None' }), route([toService(80)])], want: 'ResolvedRefs' },
    { name: 'a missing EndpointSelector', objects: [route([toSelector(80)])], want: 'BackendNotFound' },
    { name: 'an EndpointSelector that lists other ports', objects: [selector([{ targetPort: 8080 }]), route([toSelector(80)])], want: 'BackendNotFound' },
    { name: 'an EndpointSelector without ports and a reference without one', objects: [selector(), route([toSelector()])], want: 'BackendNotFound' },
    { name: 'a missing CompositeBackend', objects: [route([toComposite(80)])], want: 'BackendNotFound' },
    { name: 'a CompositeBackend whose port nobody has', objects: [composite({ ports: [{ port: 80 }] }), route([toComposite(81)])], want: 'BackendNotFound' },
    { name: 'a CompositeBackend of which no port is known yet resolves', objects: [composite({}), route([toComposite(81)])], want: 'ResolvedRefs' },
    { name: 'a CompositeBackend with one port needs no number', objects: [composite({ ports: [{ port: 80 }] }), route([toComposite()])], want: 'ResolvedRefs' },
    { name: 'a kind that is no backend', objects: [route([{ group: 'example.com', kind: 'Bucket', name: 'x' }])], want: 'InvalidKind' },
    { name: 'a missing ServiceImport', objects: [route([toImport(80)])], want: 'BackendNotFound' },
    { name: 'a ServiceImport without the port', objects: [serviceImport(), route([toImport(81)])], want: 'BackendNotFound' },
    { name: 'a ServiceImport port that is UDP', objects: [serviceImport([{ port: 80, protocol: 'UDP' }]), route([toImport(80)])], want: 'UnsupportedProtocol' },
    { name: 'a ServiceImport with the port resolves', objects: [serviceImport(), route([toImport(80)])], want: 'ResolvedRefs' },
    { name: 'a missing XEndpointSelector, though an EndpointSelector has its name', objects: [selector(), route([toXSelector(8080)])], want: 'BackendNotFound' },
    { name: 'an XEndpointSelector resolves', objects: [xSelector, route([toXSelector(8080)])], want: 'ResolvedRefs' },
    { name: 'an XEndpointSelector and a reference without a port', objects: [xSelector, route([toXSelector()])], want: 'BackendNotFound' },
    { name: 'a selector of another group', objects: [xSelector, route([{ ...toXSelector(8080), group: 'discovery.example' }])], want: 'InvalidKind' },
    { name: 'another namespace, even where the object does not exist there', objects: [route([{ ...toService(80), namespace: 'other' }])], want: 'RefNotPermitted' },
  ])('$name: $want', ({ objects, want }) => {
    expect(refsVerdict(decide([gateway(), ...objects]))).toBe(want);
  });

  it('a port that another member alone exposes resolves once the hub tells of it', () => {
    const objects = sortObjects([ourClass, gateway(), composite({ ports: [{ port: 80 }] }), route([toComposite(90)])]).gateway;
    const imports = {
      backends: [{ name: backendName('ai', 'model'), trafficClass: 'endpoints' as const, sessionAffinity: 'None' as const, providers: [], ports: [{ port: { port: 90, protocol: 'TCP' as const }, shares: [] }], conflicts: [], refusals: [], memberCount: 1, servingCount: 0 }],
    };
    expect([refsVerdict(decideGateways(objects)), refsVerdict(decideGateways(objects, fleetPorts(imports)))]).toEqual(['BackendNotFound', 'ResolvedRefs']);
  });
});

describe('a reference to another namespace needs a ReferenceGrant there (R13)', () => {
  const target = { kind: 'Service', metadata: { namespace: 'other', name: 'svc' }, spec: { ports: [{ port: 80 }] } };
  const crossing = route([{ name: 'svc', namespace: 'other', port: 80 }]);
  const fromUs = { group: 'gateway.networking.k8s.io', kind: 'TCPRoute', namespace: 'ai' };
  const toService80 = { group: '', kind: 'Service' };
  const grant = (from: Json, to: Json, metadata: Json = {}): Json => ({ kind: 'ReferenceGrant', metadata: { namespace: 'other', name: 'g', ...metadata }, spec: { from: [from], to: [to] } });

  it.each([
    { name: 'granted for every Service', grant: grant(fromUs, toService80), want: 'ResolvedRefs' },
    { name: 'granted for this Service', grant: grant(fromUs, { ...toService80, name: 'svc' }), want: 'ResolvedRefs' },
    { name: 'not granted for another Service', grant: grant(fromUs, { ...toService80, name: 'else' }), want: 'RefNotPermitted' },
    { name: 'not granted for another namespace', grant: grant({ ...fromUs, namespace: 'b' }, toService80), want: 'RefNotPermitted' },
    { name: 'not granted for another kind of route', grant: grant({ ...fromUs, kind: 'HTTPRoute' }, toService80), want: 'RefNotPermitted' },
    { name: 'not granted for another kind of backend', grant: grant(fromUs, { group: 'spillway.dev', kind: 'CompositeBackend' }), want: 'RefNotPermitted' },
    { name: 'not granted from the wrong side', grant: grant(fromUs, toService80, { namespace: 'ai' }), want: 'RefNotPermitted' },
    { name: 'not granted by a grant on its way out', grant: grant(fromUs, toService80, { deletionTimestamp: '2026-01-01T00:00:00Z' }), want: 'RefNotPermitted' },
  ])('$name', ({ grant: given, want }) => {
    expect(refsVerdict(decide([gateway(), target, crossing, given]))).toBe(want);
  });
});

describe('the local part of a CompositeBackend', () => {
  const verdictOf = (objects: readonly Json[]): string | undefined => decide(objects).compositeBackends[0]?.resolvedRefs.reason;
  const selecting = { group: 'spillway.dev', kind: 'EndpointSelector', name: 'pods' };
  const serving80 = { group: '', kind: 'Service', name: 'svc' };

  it.each([
    { name: 'may be missing altogether', objects: [composite({})], want: 'ResolvedRefs' },
    { name: 'may be an EndpointSelector', objects: [selector(), composite({ backendRef: selecting })], want: 'ResolvedRefs' },
    { name: 'may be a Service', objects: [service(), composite({ backendRef: serving80 })], want: 'ResolvedRefs' },
    { name: 'may be the prototype\'s selector', objects: [xSelector, composite({ backendRef: { group: 'gateway.networking.x-k8s.io', kind: 'XEndpointSelector', name: 'pods' } })], want: 'ResolvedRefs' },
    { name: 'may be mapped by port name', objects: [service(), composite({ backendRef: serving80, ports: [{ port: 90, targetPort: 'web' }] })], want: 'ResolvedRefs' },
    { name: 'must exist', objects: [composite({ backendRef: selecting })], want: 'BackendNotFound' },
    { name: 'must have the port that is mapped', objects: [service(), composite({ backendRef: serving80, ports: [{ port: 90 }] })], want: 'BackendNotFound' },
    { name: 'must have the port name that is mapped', objects: [selector([{ name: 'http', targetPort: 8080 }]), composite({ backendRef: selecting, ports: [{ port: 90, targetPort: 'grpc' }] })], want: 'BackendNotFound' },
    { name: 'must not be a CompositeBackend', objects: [composite({ backendRef: { group: 'spillway.dev', kind: 'CompositeBackend', name: 'model' } })], want: 'InvalidKind' },
    { name: 'must not be an ExternalName', objects: [service({ type: 'ExternalName' }), composite({ backendRef: serving80 })], want: 'BackendNotFound' },
  ])('$name', ({ objects, want }) => {
    expect(verdictOf(objects)).toBe(want);
  });

  it('an empty selector is refused (R28)', () => {
    const empty = { kind: 'EndpointSelector', metadata: { namespace: 'ai', name: 'pods' }, spec: { selector: {} } };
    expect(decide([empty]).endpointSelectors[0]?.accepted.reason).toBe('Invalid');
  });
});

describe('UDP beside TCP', () => {
  const UDP_53: Json = { name: 'dns', port: 53, protocol: 'UDP' };
  const udpRoute = (backendRefs: readonly Json[], over: Json = {}, metadata: Json = {}): Json => ({ ...route(backendRefs, over, metadata), kind: 'UDPRoute' });
  const udpService = service({ ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] });
  const listenersOf = ({ gateways }: GatewayDecisions): string[] => gateways.flatMap(({ listeners }) => listeners.map(({ name, supportedKinds, attachedRoutes, serving: one }) => `${name} takes ${supportedKinds.map(({ kind }) => kind).join()}, ${attachedRoutes} attached, ${one?.targets.map(({ kind, name: target, port }) => `${kind} ${target}/${port.port}/${port.protocol}`).join() ?? 'out of service'}`));

  it.each([
    { name: 'a UDP listener takes UDPRoutes, and a TCP listener TCPRoutes', objects: [gateway([TCP_80, UDP_53]), service(), route([toService(80)])], want: ['http takes TCPRoute, 1 attached, service svc/80/TCP', 'dns takes UDPRoute, 0 attached, '] },
    { name: 'a UDPRoute leads to the UDP port of its backend', objects: [gateway([TCP_80, UDP_53]), udpService, udpRoute([toService(53)])], want: ['http takes TCPRoute, 0 attached, ', 'dns takes UDPRoute, 1 attached, service svc/53/UDP'] },
    { name: 'listeners of both on one port serve beside each other, and so do routes of one name', objects: [gateway([{ ...TCP_80, port: 53 }, UDP_53]), selector(), route([toSelector(5353)]), udpRoute([toSelector(5353)])], want: ['http takes TCPRoute, 1 attached, selector pods/5353/TCP', 'dns takes UDPRoute, 1 attached, selector pods/5353/UDP'] },
    { name: 'a listener that allows the other kind alone takes none', objects: [gateway([{ ...UDP_53, allowedRoutes: { kinds: [{ kind: 'TCPRoute' }] } }]), udpRoute([])], want: ['dns takes , 0 attached, '] },
  ])('$name', ({ objects, want }) => {
    expect(listenersOf(decide(objects))).toEqual(want);
  });

  it.each([
    { name: 'accepted on a UDP listener', objects: [gateway([UDP_53]), udpRoute([])], want: 'Accepted' },
    { name: 'not allowed on a TCP listener', objects: [gateway(), udpRoute([])], want: 'NotAllowedByListeners' },
    { name: 'not with two rules', objects: [gateway([UDP_53]), udpRoute([], { rules: [{}, {}] })], want: 'UnsupportedValue' },
  ])('a UDPRoute is $name', ({ objects, want }) => {
    expect(routeVerdict(decide(objects))).toBe(want);
  });

  it('of several UDPRoutes on a listener the oldest serves', () => {
    const older = udpRoute([toSelector(1)], {}, { name: 'z-older', creationTimestamp: '2026-01-01T00:00:00Z' });
    const newer = udpRoute([toSelector(2)], {}, { name: 'a-newer', creationTimestamp: '2026-01-02T00:00:00Z' });
    expect(listenersOf(decide([gateway([UDP_53]), selector(), newer, older]))).toEqual(['dns takes UDPRoute, 2 attached, selector pods/1/UDP']);
  });

  it.each([
    { name: 'the TCP port of a Service', objects: [service(), udpRoute([toService(80)])], want: 'UnsupportedProtocol' },
    { name: 'a CompositeBackend without such a UDP port', objects: [composite({ ports: [{ port: 53 }] }), udpRoute([toComposite(53)])], want: 'BackendNotFound' },
    { name: 'a CompositeBackend with it', objects: [composite({ ports: [{ port: 53 }, { port: 53, protocol: 'UDP' }] }), udpRoute([toComposite(53)])], want: 'ResolvedRefs' },
    { name: 'an EndpointSelector that lists the port for TCP', objects: [selector([{ targetPort: 53 }]), udpRoute([toSelector(53)])], want: 'BackendNotFound' },
    { name: 'another namespace with a grant for TCPRoutes alone', objects: [{ kind: 'ReferenceGrant', metadata: { namespace: 'other', name: 'g' }, spec: { from: [{ group: 'gateway.networking.k8s.io', kind: 'TCPRoute', namespace: 'ai' }], to: [{ group: '', kind: 'Service' }] } }, udpRoute([{ ...toService(53), namespace: 'other' }])], want: 'RefNotPermitted' },
  ])('a UDPRoute to $name: $want', ({ objects, want }) => {
    expect(refsVerdict(decide([gateway([UDP_53]), ...objects]))).toBe(want);
  });
});

describe('claims on addresses', () => {
  const claimOf = (objects: readonly Json[]): unknown => {
    const [claim] = decide(objects).addressClaims;
    return claim === undefined ? undefined : [claim.mode, claim.wishes.map((wish) => (wish.kind === 'dynamic' ? 'any' : wish.kind === 'static' ? wish.value : `impossible ${wish.value}`)).join(' ')];
  };
  const OURS = { finalizers: ['spillway.dev/address-protection'] };

  it.each([
    { name: 'an accepted Gateway claims one of any value', objects: [gateway()], want: ['claim', 'any'] },
    { name: 'an accepted Gateway claims what it names', objects: [gateway([TCP_80], { addresses: [{ value: '172.30.7.7' }, { value: '172.30.7.8' }] })], want: ['claim', '172.30.7.7 172.30.7.8'] },
    { name: 'an empty value asks for any', objects: [gateway([TCP_80], { addresses: [{ value: '' }, { value: '172.30.7.8' }] })], want: ['claim', 'any 172.30.7.8'] },
    { name: 'an address of the cluster is what we have (R8)', objects: [gateway([TCP_80], { addresses: [{ value: '172.30.7.7', routability: 'Cluster' }] })], want: ['claim', '172.30.7.7'] },
    { name: 'an address of another scope is impossible, and nothing is put in its place (R8)', objects: [gateway([TCP_80], { addresses: [{ value: '172.30.7.7', routability: 'External' }, { value: '', routability: 'example.com/Moon' }] })], want: ['claim', 'impossible 172.30.7.7 impossible '] },
    { name: 'a Gateway that is not accepted holds', objects: [gateway([])], want: ['hold', 'any'] },
    { name: 'a Gateway on its way out releases', objects: [gateway([TCP_80], {}, { ...OURS, deletionTimestamp: '2026-01-01T00:00:00Z' })], want: ['release', 'any'] },
    { name: 'a Gateway whose class is gone holds', objects: [gateway([TCP_80], { gatewayClassName: 'gone' }, OURS)], want: ['hold', 'any'] },
    { name: 'a Gateway that went to another controller releases', objects: [{ ...ourClass, metadata: { name: 'theirs' }, spec: { controllerName: 'example.com/x' } }, gateway([TCP_80], { gatewayClassName: 'theirs' }, OURS)], want: ['release', 'any'] },
    { name: 'a Gateway that never was ours claims nothing', objects: [gateway([TCP_80], { gatewayClassName: 'gone' })], want: undefined },
  ])('$name', ({ objects, want }) => {
    expect(claimOf(objects)).toEqual(want);
  });
});

describe('for any order of objects', () => {
  const objects = [
    ourClass,
    gateway([TCP_80, { name: 'admin', port: 81, protocol: 'TCP' }]),
    gateway([TCP_80], {}, { name: 'b' }),
    selector(),
    service(),
    composite({ ports: [{ port: 80 }] }),
    route([toSelector(8080), toService(80)], {}, { name: 'r1' }),
    route([toComposite(80)], {}, { name: 'r2' }),
    route([toService(80)], { parentRefs: [{ name: 'b' }] }, { name: 'r3' }),
    namespace('ai'),
  ];

  it('the decisions are the same', () => {
    const want = decideGateways(sortObjects(objects).gateway);
    fc.assert(fc.property(fc.shuffledSubarray(objects, { minLength: objects.length }), (shuffled) => expect(decideGateways(sortObjects(shuffled).gateway)).toEqual(want)));
  });
});
