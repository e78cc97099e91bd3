import { create } from '@bufbuild/protobuf';

import { endpointAddressFault } from '#domain/addresses';
import { type BackendPort, clusterId, digest, type GatewayOpening, type MemberPaths, type PathPeer } from '#domain/fleet';

import { pathNames, protocolNames } from './enum-names.js';
import { type BackendPort as WirePort, type GatewayOpening as WireOpening, type MemberPaths as WireMemberPaths, MemberPathsSchema, type PathPeer as WirePeer } from './generated/spillway/spoke/v1/spoke_pb.js';
import { isBackendName } from './member-backend.js';

/** Resource name of a member's paths in Sync. */
export const PATHS_RESOURCE = 'paths';

/** Content hash of a member's paths: equal content, equal version, on every replica. */
export function memberPathsVersion({ intake, peers }: MemberPaths): string {
  const openings = intake.openings.map(({ gatewayPort, backend, port, callers }) => [gatewayPort, backend, port.port, port.protocol, callers]);
  return digest(JSON.stringify([openings, intake.callers.map((caller) => [caller.clusterId, caller.addresses]), peers.map((peer) => [peer.clusterId, peer.path, peer.addresses, peer.port])]));
}

/** The wire form of a member's paths. */
export function toWireMemberPaths({ intake, peers }: MemberPaths): WireMemberPaths {
  return create(MemberPathsSchema, {
    openings: intake.openings.map(({ gatewayPort, backend, port, callers }) => ({ gatewayPort, backend, port: { port: port.port, protocol: protocolNames.toWire[port.protocol] }, callers: [...callers] })),
    callers: intake.callers.map((caller) => ({ clusterId: caller.clusterId, addresses: [...caller.addresses] })),
    peers: peers.map((peer) => ({ clusterId: peer.clusterId, path: pathNames.toWire[peer.path], addresses: [...peer.addresses], port: peer.port })),
  });
}

/**
 * Parses a member's paths. What this version does not know, or what no member may be told, is left out of them one by one: an
 * opening too few refuses callers, and must not take all others with it.
 */
export function parseMemberPaths(wire: WireMemberPaths): MemberPaths {
  return {
    intake: {
      openings: wire.openings.flatMap((opening) => readOpening(opening) ?? []),
      callers: wire.callers.map((caller) => ({ clusterId: clusterId(caller.clusterId), addresses: goodAddresses(caller.addresses) })),
    },
    peers: wire.peers.flatMap((peer) => readPeer(peer) ?? []),
  };
}

function readOpening({ gatewayPort, backend, port, callers }: WireOpening): GatewayOpening | undefined {
  const read = port === undefined ? undefined : readPort(port);
  if (read === undefined || !isPort(gatewayPort) || !isBackendName(backend)) return undefined;
  return { gatewayPort, backend, port: read, callers: callers.map(clusterId) };
}

function readPort({ port, protocol }: WirePort): BackendPort | undefined {
  const known = protocolNames.fromWire.get(protocol);
  return known === undefined || !isPort(port) ? undefined : { port, protocol: known };
}

function readPeer(wire: WirePeer): PathPeer | undefined {
  const path = pathNames.fromWire.get(wire.path);
  const addresses = goodAddresses(wire.addresses);
  if (path === undefined || addresses.length === 0 || !isPort(wire.port)) return undefined;
  return { clusterId: clusterId(wire.clusterId), path, addresses, port: wire.port };
}

// The hub refuses these; a spoke does not depend on it.
const goodAddresses = (addresses: readonly string[]): readonly string[] => addresses.filter((address) => endpointAddressFault(address) === undefined);

const isPort = (port: number): boolean => port >= 1 && port <= 65_535;
