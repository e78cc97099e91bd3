import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';

import { backendName, clusterId, reachDigest, type MemberPaths, type MemberReach, type ReachReport } from '#domain/fleet';

import { MemberPathsSchema, memberPathsVersion, parseMemberPaths, parseReport, ReportRequestSchema, toWireMemberPaths, toWireReachReport, type ReportRequest } from './index.js';

const reach: MemberReach = { gateways: ['198.51.100.1'], egress: ['192.0.2.1', '192.0.2.2'], probes: ['192.0.2.1'], probePort: 9091 };
const report: ReachReport = { digest: reachDigest(reach), changed: reach, gatewayPorts: [{ backend: backendName('ai', 'model'), port: { port: 80, protocol: 'TCP' }, gatewayPort: 20_000 }] };

function parsed(over: (request: ReportRequest) => void = () => undefined, reported: ReachReport | undefined = report) {
  const request = create(ReportRequestSchema, { clusterId: 'east-1', full: true, digest: '0'.repeat(32), ...toWireReachReport(reported) });
  over(request);
  return parseReport(fromBinary(ReportRequestSchema, toBinary(ReportRequestSchema, request)));
}

describe('reach in a report', () => {
  it('comes back from the wire as it was', () => {
    expect(parsed()).toMatchObject({ content: { reach: report } });
    expect(parsed(undefined, { ...report, changed: undefined, gatewayPorts: [] })).toMatchObject({ content: { reach: { digest: report.digest, changed: undefined, gatewayPorts: [] } } });
  });

  it('is absent where the spoke is older and says nothing of it', () => {
    const got = parsed((request) => Object.assign(request, { reachDigest: '', reach: undefined, gatewayPorts: [] }));
    expect('content' in got && 'reach' in got.content).toBe(false);
  });

  it.each<{ readonly name: string; readonly over: (request: ReportRequest) => void; readonly want: string }>([
    { name: 'a gateway on loopback', over: ({ reach: wire }) => wire?.gateways.push('127.0.0.1'), want: 'reach.gateways[1] ADDRESS_INVALID' },
    { name: 'an egress address that is no address', over: ({ reach: wire }) => wire?.egress.push('10.0.0.0/8'), want: 'reach.egress[2] ADDRESS_INVALID' },
    { name: 'an address that is there twice', over: ({ reach: wire }) => wire?.probes.push('192.0.2.1'), want: 'reach.probes[1] ADDRESS_INVALID' },
    { name: 'too many gateways', over: ({ reach: wire }) => wire?.gateways.push(...Array.from({ length: 16 }, (_, at) => `192.0.2.${at + 10}`)), want: 'reach.gateways TOO_MANY_ADDRESSES' },
    { name: 'too many nodes to probe', over: ({ reach: wire }) => wire?.probes.push('192.0.2.7', '192.0.2.8', '192.0.2.9'), want: 'reach.probes TOO_MANY_ADDRESSES' },
    { name: 'a probe port that is none', over: ({ reach: wire }) => Object.assign(wire ?? {}, { probePort: 70_000 }), want: 'reach.probePort PORT_INVALID' },
    { name: 'a digest that is none', over: (request) => Object.assign(request, { reachDigest: 'x' }), want: 'reachDigest DIGEST_INVALID' },
    { name: 'a gateway port that is none', over: ({ gatewayPorts: [first] }) => Object.assign(first ?? {}, { gatewayPort: 0 }), want: 'gatewayPorts[0] GATEWAY_PORT_INVALID' },
    { name: 'a gateway port of no backend', over: ({ gatewayPorts: [first] }) => Object.assign(first ?? {}, { backend: 'x' }), want: 'gatewayPorts[0] GATEWAY_PORT_INVALID' },
  ])('$name is refused with its place', ({ over, want }) => {
    const got = parsed(over);
    expect('problems' in got && got.problems.map(({ path, code }) => `${path} ${code}`)).toEqual([want]);
  });
});

describe('member paths', () => {
  const paths: MemberPaths = {
    intake: {
      openings: [{ gatewayPort: 20_000, backend: backendName('ai', 'model'), port: { port: 53, protocol: 'UDP' }, callers: [clusterId('b')] }],
      callers: [{ clusterId: clusterId('b'), addresses: ['192.0.2.1'] }],
    },
    peers: [{ clusterId: clusterId('c'), path: 'gateway', addresses: ['198.51.100.1'], port: 9091 }],
  };

  it('come back from the wire as they were, with the same version', () => {
    const back = parseMemberPaths(fromBinary(MemberPathsSchema, toBinary(MemberPathsSchema, toWireMemberPaths(paths))));
    expect(back).toEqual(paths);
    expect(memberPathsVersion(back)).toBe(memberPathsVersion(paths));
  });

  it.each<{ readonly name: string; readonly over: Partial<MemberPaths> }>([
    { name: 'a caller', over: { intake: { ...paths.intake, callers: [] } } },
    { name: 'an opening', over: { intake: { ...paths.intake, openings: [] } } },
    { name: 'a peer', over: { peers: [] } },
  ])('a change of $name is another version', ({ over }) => {
    expect(memberPathsVersion({ ...paths, ...over })).not.toBe(memberPathsVersion(paths));
  });

  it('lose what this version does not know or nobody may be told, and nothing else', () => {
    const wire = toWireMemberPaths({ ...paths, intake: { ...paths.intake, openings: [...paths.intake.openings, ...paths.intake.openings] }, peers: [...paths.peers, ...paths.peers] });
    Object.assign(wire.openings[0]!.port!, { protocol: 9 });
    wire.callers[0]!.addresses.push('127.0.0.1');
    Object.assign(wire.peers[0]!, { path: 9 });
    expect(parseMemberPaths(wire)).toEqual(paths);
  });
});
