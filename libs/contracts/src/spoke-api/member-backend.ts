import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { endpointAddressFault } from '#domain/addresses';
import { type BackendName, byKey, type MemberBackend, type Problem } from '#domain/fleet';

import { protocolNames, sessionAffinityNames, trafficClassNames, workUnitNames } from './enum-names.js';
import { type Endpoint as WireEndpoint, type MemberBackend as WireMemberBackend, MemberBackendSchema } from './generated/spillway/spoke/v1/spoke_pb.js';
import { SPOKE_API_LIMITS } from './limits.js';

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const TEXT_LENGTH_MAX = 253;

/** Whether a text is `namespace/name` as Kubernetes names them. */
export function isBackendName(text: string): text is BackendName {
  const [namespace = '', name = '', ...rest] = text.split('/');
  return rest.length === 0 && LABEL.test(namespace) && name.length <= TEXT_LENGTH_MAX && SUBDOMAIN.test(name);
}

/** The wire form of a member backend. */
export function toWireMemberBackend(backend: MemberBackend): WireMemberBackend {
  return create(MemberBackendSchema, {
    name: backend.name,
    trafficClass: trafficClassNames.toWire[backend.trafficClass],
    sessionAffinity: sessionAffinityNames.toWire[backend.sessionAffinity],
    ports: backend.ports.map((port) => ({ port: port.port, protocol: protocolNames.toWire[port.protocol] })),
    endpoints: backend.endpoints.map((endpoint) => ({ ...endpoint, targetPorts: [...endpoint.targetPorts] })),
    workUnit: workUnitNames.toWire[backend.capacity.unit],
    capacityPerEndpoint: backend.capacity.perEndpoint,
  });
}

/** Parses a member backend: the value, or every problem with its path under `path`. Endpoints come out sorted by address. */
export function parseMemberBackend(wire: WireMemberBackend, path: string): { readonly backend: MemberBackend } | { readonly problems: readonly Problem[] } {
  const problems = [...headProblems(wire, path), ...portProblems(wire, path), ...endpointsProblems(wire, path)];
  if (problems.length > 0) return { problems };
  return { backend: readMemberBackend(wire) };
}

/** Encodes a member backend as compact bytes, for storage. */
export function encodeMemberBackend(backend: MemberBackend): Uint8Array {
  return toBinary(MemberBackendSchema, toWireMemberBackend(backend));
}

/** Decodes what {@link encodeMemberBackend} made. */
export function decodeMemberBackend(bytes: Uint8Array): MemberBackend {
  return readMemberBackend(fromBinary(MemberBackendSchema, bytes));
}

// Values were checked before, here or when they were stored; the fallbacks only satisfy the types.
function readMemberBackend(wire: WireMemberBackend): MemberBackend {
  return {
    name: wire.name as BackendName,
    trafficClass: trafficClassNames.fromWire.get(wire.trafficClass) ?? 'endpoints',
    sessionAffinity: sessionAffinityNames.fromWire.get(wire.sessionAffinity) ?? 'None',
    ports: wire.ports.map((port) => ({ port: port.port, protocol: protocolNames.fromWire.get(port.protocol) ?? 'TCP' })),
    endpoints: wire.endpoints.map(readEndpoint).sort(byKey((endpoint) => endpoint.address)),
    capacity: { unit: workUnitNames.fromWire.get(wire.workUnit) ?? 'Requests', perEndpoint: wire.capacityPerEndpoint },
  };
}

/** A wire endpoint as a plain domain value. */
export function readEndpoint(wire: WireEndpoint): MemberBackend['endpoints'][number] {
  const { address, targetPorts, ready, serving, terminating, zone, node } = wire;
  return { address, targetPorts: [...targetPorts], ready, serving, terminating, zone, node };
}

function headProblems(wire: WireMemberBackend, path: string): Problem[] {
  const problems: Problem[] = [];
  if (!isBackendName(wire.name)) problems.push(problem(`${path}.name`, 'NAME_INVALID', `"${wire.name.slice(0, 80)}" is not namespace/name as Kubernetes names them`));
  problems.push(
    ...enumProblems(`${path}.trafficClass`, wire.trafficClass, trafficClassNames.fromWire),
    ...enumProblems(`${path}.sessionAffinity`, wire.sessionAffinity, sessionAffinityNames.fromWire),
    ...enumProblems(`${path}.workUnit`, wire.workUnit, workUnitNames.fromWire),
  );
  const { capacityPerEndpointMax } = SPOKE_API_LIMITS;
  if (!(wire.capacityPerEndpoint > 0) || wire.capacityPerEndpoint > capacityPerEndpointMax) {
    problems.push(problem(`${path}.capacityPerEndpoint`, 'CAPACITY_INVALID', `capacity per endpoint must be a number above 0 and at most ${capacityPerEndpointMax}`));
  }
  return problems;
}

function portProblems(wire: WireMemberBackend, path: string): Problem[] {
  if (wire.ports.length > SPOKE_API_LIMITS.portsPerBackendMax) {
    return [problem(`${path}.ports`, 'TOO_MANY_PORTS', `a backend may have ${SPOKE_API_LIMITS.portsPerBackendMax} ports; this has ${wire.ports.length}`)];
  }
  const seen = new Set<string>();
  return wire.ports.flatMap((port, index) => {
    const at = `${path}.ports[${index}]`;
    const problems = enumProblems(`${at}.protocol`, port.protocol, protocolNames.fromWire);
    if (port.port < 1 || port.port > 65_535) problems.push(problem(`${at}.port`, 'PORT_INVALID', `${port.port} is no port; use 1 to 65535`));
    const key = `${port.port}/${port.protocol}`;
    if (seen.has(key)) problems.push(problem(at, 'PORT_REPEATED', `port ${port.port} of one protocol is there twice; name it once`));
    seen.add(key);
    return problems;
  });
}

function endpointsProblems(wire: WireMemberBackend, path: string): Problem[] {
  if (wire.endpoints.length > SPOKE_API_LIMITS.endpointsPerBackendMax) {
    const { endpointsPerBackendMax } = SPOKE_API_LIMITS;
    return [problem(`${path}.endpoints`, 'TOO_MANY_ENDPOINTS', `a backend may have ${endpointsPerBackendMax} endpoints in one cluster; this has ${wire.endpoints.length}`)];
  }
  const seen = new Set<string>();
  return wire.endpoints.flatMap((endpoint, index) => {
    const at = `${path}.endpoints[${index}]`;
    const problems = endpointProblems(endpoint, wire.ports.length, at);
    if (seen.has(endpoint.address)) problems.push(problem(`${at}.address`, 'ADDRESS_REPEATED', `address ${endpoint.address} is there twice; send it once`));
    seen.add(endpoint.address);
    return problems;
  });
}

function endpointProblems(endpoint: WireEndpoint, portCount: number, at: string): Problem[] {
  const problems: Problem[] = [];
  const fault = endpointAddressFault(endpoint.address);
  if (fault !== undefined) problems.push(problem(`${at}.address`, 'ADDRESS_INVALID', `"${endpoint.address.slice(0, 80)}" ${fault}`));
  if (endpoint.targetPorts.length !== portCount) {
    problems.push(problem(`${at}.targetPorts`, 'TARGET_PORTS_MISMATCH', `give one target port for each of the ${portCount} ports, 0 where the endpoint lacks it`));
  }
  if (endpoint.targetPorts.some((port) => port > 65_535)) problems.push(problem(`${at}.targetPorts`, 'PORT_INVALID', 'a target port is above 65535'));
  if (endpoint.zone.length > TEXT_LENGTH_MAX || endpoint.node.length > TEXT_LENGTH_MAX) {
    problems.push(problem(at, 'TEXT_TOO_LONG', `zone and node may have ${TEXT_LENGTH_MAX} characters`));
  }
  return problems;
}

function enumProblems(path: string, value: number, known: ReadonlyMap<number, string>): Problem[] {
  if (known.has(value)) return [];
  return [problem(path, 'ENUM_UNKNOWN', `value ${value} is not known to this hub; it knows ${[...known.values()].join(', ')}`)];
}

const problem = (path: string, code: string, message: string): Problem => ({ path, code, message });
