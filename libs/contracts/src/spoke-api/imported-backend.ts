import { create } from '@bufbuild/protobuf';

import { endpointAddressFault } from '#domain/addresses';
import { type BackendConflict, type BackendName, clusterId, digest, FleetError, type ImportedBackend, type ImportedPort, type ImportedProvider } from '#domain/fleet';

import { pathNames, protocolNames, sessionAffinityNames, trafficClassNames } from './enum-names.js';
import {
  type BackendPort as WirePort,
  type Conflict as WireConflict,
  type ImportedBackend as WireImportedBackend,
  ImportedBackendSchema,
  type ImportedPort as WireImportedPort,
  type ImportedProvider as WireImportedProvider,
} from './generated/spillway/spoke/v1/spoke_pb.js';
import { readEndpoint } from './member-backend.js';

/** Resource name of a backend in Sync. */
export const backendResourceName = (name: BackendName): string => `backend/${name}`;

/** The backend that a resource name speaks of; undefined for resources of other kinds. */
export const backendOfResource = (resource: string): BackendName | undefined => (resource.startsWith('backend/') ? (resource.slice('backend/'.length) as BackendName) : undefined);

/** Resource name of the hub's CA bundle in Sync. */
export const CA_BUNDLE_RESOURCE = 'ca-bundle';

/** Content hash of an imported backend, and of the place that its consumer is told with it: equal content, equal version, on every replica. */
export function importedBackendVersion(backend: ImportedBackend, firstSeen?: bigint): string {
  const providers = backend.providers.map((p) => [p.clusterId, p.locality.region, p.locality.zone, p.path, p.readyAssumed, portTexts(p.ports), p.endpoints.map(endpointFields)]);
  const ports = backend.ports.map((p) => [portText(p.port), p.shares.map((share) => [share.clusterId, share.shareBp])]);
  const conflicts = backend.conflicts.map((c) => [c.field, c.winner, c.losers, c.message]);
  return digest(JSON.stringify([backend.name, backend.trafficClass, backend.sessionAffinity, providers, ports, conflicts, backend.refusals, backend.memberCount, backend.servingCount, ...(firstSeen === undefined ? [] : [String(firstSeen)])]));
}

const portText = (port: ImportedPort['port']): string => `${port.port}/${port.protocol}`;
const portTexts = (ports: ImportedProvider['ports']): string[] => ports.map(portText);
const endpointFields = (e: ImportedProvider['endpoints'][number]): unknown[] => [e.address, e.targetPorts, Number(e.ready), Number(e.serving), Number(e.terminating), e.zone, e.node];

/** The wire form of an imported backend. */
export function toWireImportedBackend(backend: ImportedBackend): WireImportedBackend {
  return create(ImportedBackendSchema, {
    name: backend.name,
    trafficClass: trafficClassNames.toWire[backend.trafficClass],
    sessionAffinity: sessionAffinityNames.toWire[backend.sessionAffinity],
    providers: backend.providers.map((provider) => ({
      clusterId: provider.clusterId,
      region: provider.locality.region,
      zone: provider.locality.zone,
      path: pathNames.toWire[provider.path],
      endpoints: provider.endpoints.map((endpoint) => ({ ...endpoint, targetPorts: [...endpoint.targetPorts] })),
      ports: provider.ports.map(toWirePort),
      readyAssumed: provider.readyAssumed,
    })),
    ports: backend.ports.map(({ port, shares }) => ({ port: toWirePort(port), shares: shares.map((share) => ({ ...share })) })),
    conflicts: backend.conflicts.map((conflict) => ({ ...conflict, losers: [...conflict.losers] })),
    refusals: [...backend.refusals],
    memberCount: backend.memberCount,
    servingCount: backend.servingCount,
  });
}

const toWirePort = (port: ImportedPort['port']): { port: number; protocol: number } => ({ port: port.port, protocol: protocolNames.toWire[port.protocol] });

/** Parses an imported backend. Throws FleetError IMPORT_INVALID (`bug`) where the hub says something that this version does not know. */
export function parseImportedBackend(wire: WireImportedBackend): ImportedBackend {
  return {
    name: wire.name as BackendName,
    trafficClass: known(trafficClassNames.fromWire.get(wire.trafficClass), `${wire.name}: trafficClass ${wire.trafficClass}`),
    sessionAffinity: known(sessionAffinityNames.fromWire.get(wire.sessionAffinity), `${wire.name}: sessionAffinity ${wire.sessionAffinity}`),
    providers: wire.providers.map((provider) => readProvider(provider, wire.name)),
    ports: wire.ports.map((port) => readPort(port, wire.name)),
    conflicts: wire.conflicts.map((conflict) => readConflict(conflict, wire.name)),
    refusals: [...wire.refusals],
    memberCount: wire.memberCount,
    servingCount: wire.servingCount,
  };
}

function readProvider(wire: WireImportedProvider, name: string): ImportedProvider {
  return {
    clusterId: clusterId(wire.clusterId),
    locality: { region: wire.region, zone: wire.zone },
    path: known(pathNames.fromWire.get(wire.path), `${name}: path ${wire.path}`),
    // The hub refuses these; a spoke does not depend on it.
    endpoints: wire.endpoints.filter(({ address }) => endpointAddressFault(address) === undefined).map(readEndpoint),
    ports: wire.ports.map((port) => readBackendPort(port, name)),
    readyAssumed: wire.readyAssumed,
  };
}

function readPort(wire: WireImportedPort, name: string): ImportedPort {
  const port = readBackendPort(known(wire.port, `${name}: a share without its port`), name);
  return { port, shares: wire.shares.map((share) => ({ clusterId: clusterId(share.clusterId), shareBp: share.shareBp })) };
}

const readBackendPort = (wire: WirePort, name: string): ImportedPort['port'] => ({
  port: wire.port,
  protocol: known(protocolNames.fromWire.get(wire.protocol), `${name}: protocol ${wire.protocol}`),
});

const CONFLICT_FIELDS: readonly BackendConflict['field'][] = ['trafficClass', 'workUnit', 'portProtocol', 'sessionAffinity'];

function readConflict(wire: WireConflict, name: string): BackendConflict {
  const field = known(CONFLICT_FIELDS.find((known) => known === wire.field), `${name}: conflict field ${wire.field}`);
  return { field, winner: clusterId(wire.winner), losers: wire.losers.map(clusterId), message: wire.message };
}

function known<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new FleetError('IMPORT_INVALID', 'bug', `the hub sent what this spoke does not know (${what}); upgrade the spoke`);
  return value;
}
