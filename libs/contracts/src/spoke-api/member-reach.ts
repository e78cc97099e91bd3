import type { MessageInitShape } from '@bufbuild/protobuf';

import { endpointAddressFault } from '#domain/addresses';
import type { HeldGatewayPort, MemberReach, Problem, ReachReport } from '#domain/fleet';

import { protocolNames } from './enum-names.js';
import type { HeldGatewayPort as WireHeldPort, MemberReach as WireMemberReach, ReportRequest, ReportRequestSchema } from './generated/spillway/spoke/v1/spoke_pb.js';
import { SPOKE_API_LIMITS } from './limits.js';
import { isBackendName } from './member-backend.js';

/** The fields of a report that say how its cluster is reached. */
type ReachFields = Pick<ReportRequest, 'reachDigest' | 'reach' | 'gatewayPorts'>;

/** The wire form of what a report says of the cluster's reach. */
export function toWireReachReport(report: ReachReport | undefined): MessageInitShape<typeof ReportRequestSchema> {
  if (report === undefined) return {};
  const { digest: reachDigest, changed, gatewayPorts } = report;
  return {
    reachDigest,
    gatewayPorts: gatewayPorts.map(({ backend, port, gatewayPort }) => ({ backend, port: { port: port.port, protocol: protocolNames.toWire[port.protocol] }, gatewayPort })),
    ...(changed === undefined ? {} : { reach: { gateways: [...changed.gateways], egress: [...changed.egress], probes: [...changed.probes], probePort: changed.probePort } }),
  };
}

/**
 * Parses what a report says of its cluster's reach: the value with its lists sorted, or every problem; undefined where it says
 * nothing, as older spokes do.
 */
export function parseReachReport({ reachDigest, reach, gatewayPorts }: ReachFields): { readonly report: ReachReport } | { readonly problems: readonly Problem[] } | undefined {
  if (reachDigest === '' && reach === undefined) return undefined;
  const held = parseHeldGatewayPorts(gatewayPorts, 'gatewayPorts');
  const problems = [
    ...(/^[0-9a-f]{32}$/.test(reachDigest) ? [] : [problem('reachDigest', 'DIGEST_INVALID', 'give the digest of the reach as 32 hex digits')]),
    ...(reach === undefined ? [] : reachProblems(reach, 'reach')),
    ...('problems' in held ? held.problems : []),
  ];
  if (problems.length > 0 || 'problems' in held) return { problems };
  return { report: { digest: reachDigest, changed: reach === undefined ? undefined : readReach(reach), gatewayPorts: held.held } };
}

function reachProblems(wire: WireMemberReach, path: string): readonly Problem[] {
  const { gatewaysMax, egressMax, probesMax } = SPOKE_API_LIMITS;
  return [
    ...addressListProblems(wire.gateways, `${path}.gateways`, gatewaysMax),
    ...addressListProblems(wire.egress, `${path}.egress`, egressMax),
    ...addressListProblems(wire.probes, `${path}.probes`, probesMax),
    ...(wire.probePort > 65_535 ? [problem(`${path}.probePort`, 'PORT_INVALID', `${wire.probePort} is no port; use 1 to 65535, or 0 for none`)] : []),
  ];
}

const readReach = ({ gateways, egress, probes, probePort }: WireMemberReach): MemberReach => ({ gateways: [...gateways].sort(), egress: [...egress].sort(), probes: [...probes].sort(), probePort });

function parseHeldGatewayPorts(wires: readonly WireHeldPort[], path: string): { readonly held: readonly HeldGatewayPort[] } | { readonly problems: readonly Problem[] } {
  const { gatewayPortsMax } = SPOKE_API_LIMITS;
  if (wires.length > gatewayPortsMax) return { problems: [problem(path, 'TOO_MANY_GATEWAY_PORTS', `a cluster may serve ${gatewayPortsMax} gateway ports; this names ${wires.length}`)] };
  const read = wires.map((wire) => ({ wire, held: readHeldGatewayPort(wire) }));
  const problems = read.flatMap(({ held }, index) => (held === undefined ? [problem(`${path}[${index}]`, 'GATEWAY_PORT_INVALID', 'name the backend as namespace/name, its port with a protocol, and a gateway port from 1 to 65535')] : []));
  return problems.length > 0 ? { problems } : { held: read.flatMap(({ held }) => held ?? []) };
}

function readHeldGatewayPort({ backend, port, gatewayPort }: WireHeldPort): HeldGatewayPort | undefined {
  const protocol = port === undefined ? undefined : protocolNames.fromWire.get(port.protocol);
  if (port === undefined || protocol === undefined || !isPort(port.port) || !isPort(gatewayPort) || !isBackendName(backend)) return undefined;
  return { backend, port: { port: port.port, protocol }, gatewayPort };
}

function addressListProblems(addresses: readonly string[], path: string, max: number): readonly Problem[] {
  if (addresses.length > max) return [problem(path, 'TOO_MANY_ADDRESSES', `at most ${max} addresses are taken here; this names ${addresses.length}`)];
  const seen = new Set<string>();
  return addresses.flatMap((address, index) => {
    const fault = seen.has(address) ? 'is there twice' : endpointAddressFault(address);
    seen.add(address);
    return fault === undefined ? [] : [problem(`${path}[${index}]`, 'ADDRESS_INVALID', `"${address.slice(0, 80)}" ${fault}`)];
  });
}

const isPort = (port: number): boolean => port >= 1 && port <= 65_535;
const problem = (path: string, code: string, message: string): Problem => ({ path, code, message });
