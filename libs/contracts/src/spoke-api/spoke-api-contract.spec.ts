import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { endpointAddressFault } from '#domain/addresses';
import { backendName, clusterId, type ImportedBackend, type MemberBackend, memberBackendDigest } from '#domain/fleet';

import { decodeMemberBackend, encodeJoinToken, encodeMemberBackend, FirstSeenSchema, importedBackendVersion, isBackendName, isShortText, type Path, parseImportedBackend, parseJoinToken, parseMemberBackend, parseReport, ReportRequestSchema, toWireFirstSeen, toWireImportedBackend, toWireMemberBackend, type WorkUnit } from './index.js';

const portArbitrary = fc.record({ port: fc.integer({ min: 1, max: 65_535 }), protocol: fc.constantFrom('TCP' as const, 'UDP' as const) });

const backendArbitrary: fc.Arbitrary<MemberBackend> = fc.uniqueArray(portArbitrary, { maxLength: 4, selector: (port) => `${port.port}/${port.protocol}` }).chain((ports) =>
  fc.record({
    name: fc.constantFrom(backendName('ai', 'model'), backendName('ml', 'train.v2')),
    trafficClass: fc.constantFrom('endpoints' as const, 'inference-pool' as const, 'external' as const),
    sessionAffinity: fc.constantFrom('None' as const, 'ClientIP' as const, 'Cluster' as const),
    ports: fc.constant(ports),
    endpoints: fc
      .uniqueArray(fc.record({ address: fc.ipV4().filter((address) => endpointAddressFault(address) === undefined), targetPorts: fc.tuple(...ports.map(() => fc.integer({ min: 0, max: 65_535 }))), ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean(), zone: fc.string(), node: fc.string() }), { maxLength: 5, selector: (endpoint) => endpoint.address })
      .map((endpoints) => endpoints.sort((a, b) => (a.address < b.address ? -1 : 1))),
    capacity: fc.record({ unit: fc.constantFrom('Requests' as const, 'Concurrent' as const, 'Tokens' as const), perEndpoint: fc.double({ min: 0.001, max: 1e9, noNaN: true }) }),
  }),
);

const token = { hubUrl: 'https://hub.example:8443', caFingerprint: 'ab'.repeat(32), clusterId: clusterId('east-1'), secret: 'x'.repeat(43) };

describe('join token', () => {
  it('carries the hub, its authority, the cluster and the secret, in one line that survives copying with spaces around', () => {
    const text = encodeJoinToken(token);
    expect(text).toMatch(/^spw1\.[A-Za-z0-9_-]+$/);
    expect(parseJoinToken(`\n ${text} \n`)).toEqual(token);
  });

  it.each([
    { name: 'another version', text: encodeJoinToken(token).replace('spw1', 'spw2') },
    { name: 'a cut off end', text: encodeJoinToken(token).slice(0, -5) },
    { name: 'plain http', text: encodeJoinToken({ ...token, hubUrl: 'http://hub.example' }) },
    { name: 'a short fingerprint', text: encodeJoinToken({ ...token, caFingerprint: 'ab' }) },
    { name: 'a name that is no label', text: encodeJoinToken({ ...token, clusterId: clusterId('East_1') }) },
    { name: 'a short secret', text: encodeJoinToken({ ...token, secret: 'x' }) },
    { name: 'nothing', text: '' },
  ])('$name is no token', ({ text }) => {
    expect(parseJoinToken(text)).toBeUndefined();
  });
});

describe('isShortText', () => {
  it.each([['0.1.0', true], ['', true], ['x'.repeat(101), false], ['a\0', false], ['Ü', false], ['a\n', false]] as const)('%j may be a version: %s', (text, want) => {
    expect(isShortText(text)).toBe(want);
  });
});

describe('member backend', () => {
  it('comes back from the wire and from storage as it was, with the same digest', () => {
    fc.assert(
      fc.property(backendArbitrary, (backend) => {
        const parsed = parseMemberBackend(toWireMemberBackend(backend), 'changed[0]');
        expect(parsed).toEqual({ backend });
        const stored = decodeMemberBackend(encodeMemberBackend(backend));
        expect(memberBackendDigest(stored)).toBe(memberBackendDigest(backend));
      }),
    );
  });

  it.each([
    { text: 'ai/model', want: true },
    { text: 'ai/model.v2', want: true },
    { text: 'ai', want: false },
    { text: 'ai/', want: false },
    { text: '/model', want: false },
    { text: 'ai/model/x', want: false },
    { text: 'ai.x/model', want: false },
    { text: 'ai/Model', want: false },
    { text: `ai/${'x'.repeat(254)}`, want: false },
  ])('"$text" is a backend name: $want', ({ text, want }) => {
    expect(isBackendName(text)).toBe(want);
  });

  it('every problem is told, each with its field', () => {
    const wire = toWireMemberBackend({ name: backendName('ai', 'model'), trafficClass: 'endpoints', sessionAffinity: 'None', ports: [{ port: 80, protocol: 'TCP' }, { port: 80, protocol: 'TCP' }], endpoints: [], capacity: { unit: 'Requests', perEndpoint: 0 } });
    const parsed = parseMemberBackend({ ...wire, workUnit: 9 as WorkUnit }, 'b');
    expect('problems' in parsed && parsed.problems.map(({ path, code }) => `${path} ${code}`)).toEqual(['b.workUnit ENUM_UNKNOWN', 'b.capacityPerEndpoint CAPACITY_INVALID', 'b.ports[1] PORT_REPEATED']);
  });

  it.each([
    { says: 'loopback', address: '127.0.0.1' },
    { says: 'the metadata service of a cloud', address: '169.254.169.254' },
    { says: 'loopback in the spelling of IPv6', address: '::ffff:127.0.0.1' },
    { says: 'multicast', address: '224.0.0.1' },
    { says: 'a link', address: 'fe80::1%eth0' },
  ])('a member cannot lead the traffic of others to $says', ({ address }) => {
    const endpoint = { address, targetPorts: [80], ready: true, serving: true, terminating: false, zone: '', node: '' };
    const parsed = parseMemberBackend(toWireMemberBackend({ name: backendName('ai', 'model'), trafficClass: 'endpoints', sessionAffinity: 'None', ports: [{ port: 80, protocol: 'TCP' }], endpoints: [endpoint], capacity: { unit: 'Requests', perEndpoint: 1 } }), 'b');
    expect('problems' in parsed && parsed.problems.map(({ path, code }) => `${path} ${code}`)).toEqual(['b.endpoints[0].address ADDRESS_INVALID']);
  });

  it.each([NaN, Infinity, -1, 0, 1.1e9])('a capacity of %d per endpoint is refused', (perEndpoint) => {
    const parsed = parseMemberBackend(toWireMemberBackend({ name: backendName('ai', 'model'), trafficClass: 'endpoints', sessionAffinity: 'None', ports: [], endpoints: [], capacity: { unit: 'Requests', perEndpoint } }), 'b');
    expect('problems' in parsed && parsed.problems.map(({ code }) => code)).toEqual(['CAPACITY_INVALID']);
  });
});

describe('places in a report', () => {
  const wire = (firstSeen: ReturnType<typeof toWireFirstSeen>) => fromBinary(ReportRequestSchema, toBinary(ReportRequestSchema, create(ReportRequestSchema, { clusterId: 'east-1', full: true, digest: '0'.repeat(32), firstSeen })));

  it('come back from the wire as they were', () => {
    const places = new Map([[backendName('ai', 'model'), 1_850_000_000_000_000_123n], [backendName('ai', 'embed'), 7n]]);
    expect(parseReport(wire(toWireFirstSeen(places)))).toMatchObject({ content: { firstSeen: places } });
    expect(parseReport(wire([]))).toMatchObject({ content: { firstSeen: new Map() } });
  });

  it.each([
    { name: 'a name that is none', entry: { backend: 'model', place: 1n } },
    { name: 'a place that no hub gives', entry: { backend: 'ai/model', place: 2n ** 63n } },
  ])('$name is told with its field', ({ entry }) => {
    expect(parseReport(wire([create(FirstSeenSchema, entry)]))).toMatchObject({ problems: [{ path: 'firstSeen[0]', code: 'FIRST_SEEN_INVALID' }] });
  });
});

describe('imported backend', () => {
  const imported: ImportedBackend = {
    name: backendName('ai', 'model'),
    trafficClass: 'endpoints',
    sessionAffinity: 'ClientIP',
    providers: [{ clusterId: clusterId('east-1'), locality: { region: 'east', zone: 'a' }, path: 'gateway', endpoints: [{ address: '10.1.0.1', targetPorts: [8080], ready: true, serving: true, terminating: false, zone: 'a', node: 'n' }], ports: [{ port: 80, protocol: 'TCP' }], readyAssumed: 1 }],
    ports: [{ port: { port: 80, protocol: 'TCP' }, shares: [{ clusterId: clusterId('east-1'), shareBp: 10_000 }] }],
    conflicts: [{ field: 'sessionAffinity', winner: clusterId('east-1'), losers: [clusterId('west-1')], message: 'm' }],
    refusals: ['no'],
    memberCount: 2,
    servingCount: 1,
  };

  it('comes back from the wire as it was, with the same version', () => {
    const back = parseImportedBackend(toWireImportedBackend(imported));
    expect(back).toEqual(imported);
    expect(importedBackendVersion(back)).toBe(importedBackendVersion(imported));
    expect(new Set([importedBackendVersion(back), importedBackendVersion(back, 7n), importedBackendVersion(back, 8n)]).size).toBe(3);
  });

  it.each([
    { name: 'a share', over: { ports: [{ port: { port: 80, protocol: 'TCP' as const }, shares: [{ clusterId: clusterId('east-1'), shareBp: 9_999 }] }] } },
    { name: 'an endpoint', over: { providers: [{ ...imported.providers[0]!, endpoints: [] }] } },
    { name: 'a refusal', over: { refusals: [] } },
    { name: 'a count', over: { servingCount: 0 } },
  ])('a change of $name is another version', ({ over }) => {
    expect(importedBackendVersion({ ...imported, ...over })).not.toBe(importedBackendVersion(imported));
  });

  it('an endpoint that no member may name is left out, whoever says it', () => {
    const wire = toWireImportedBackend(imported);
    wire.providers[0]!.endpoints[0]!.address = '127.0.0.1';
    expect(parseImportedBackend(wire).providers[0]!.endpoints).toEqual([]);
  });

  it('a value that this version does not know is refused as a bug, not guessed', () => {
    const wire = toWireImportedBackend(imported);
    wire.providers[0]!.path = 7 as Path;
    expect(() => parseImportedBackend(wire)).toThrow(expect.objectContaining({ code: 'IMPORT_INVALID', kind: 'bug' }));
  });
});
