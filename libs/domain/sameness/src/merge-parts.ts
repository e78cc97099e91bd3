import { byKey, type BackendConflict, type BackendPort, type ClusterId, type MemberBackend, type MemberPart, type SessionAffinity, type TrafficClass } from '#domain/fleet';

/** One backend made of its members' parts. */
export interface MergedBackend {
  readonly trafficClass: TrafficClass;
  readonly sessionAffinity: SessionAffinity;
  /** Every port with the parts that share its traffic, sorted by number and protocol. */
  readonly ports: readonly MergedPort[];
  /** Parts that take traffic, sorted by cluster id: those of the winning traffic class and work unit. */
  readonly parts: readonly MemberPart[];
  readonly conflicts: readonly BackendConflict[];
}

/** A port of a merged backend. */
export interface MergedPort {
  readonly port: BackendPort;
  readonly parts: readonly MemberPart[];
}

/**
 * Merges the parts of one backend. Where they disagree, the definition that the hub saw first stays in force (lowest
 * sequence, then cluster id), and every conflict names winner and losers. A part of another traffic class or work unit
 * takes no traffic; a part that speaks another protocol on a port takes none on that port. The order of parts and of
 * their ports does not matter. Undefined without parts.
 */
export function mergeParts(unordered: readonly MemberPart[]): MergedBackend | undefined {
  const bySeniority = [...unordered].sort(olderFirst);
  const senior = bySeniority[0];
  if (senior === undefined) return undefined;
  const counted = bySeniority.filter(({ backend }) => backend.trafficClass === senior.backend.trafficClass && backend.capacity.unit === senior.backend.capacity.unit);
  const ports = mergePorts(counted);
  return {
    trafficClass: senior.backend.trafficClass,
    sessionAffinity: senior.backend.sessionAffinity,
    ports: ports.merged,
    parts: [...counted].sort(byClusterId),
    conflicts: [...FIELDS.flatMap((field) => fieldConflict(field, senior, bySeniority)), ...ports.conflicts],
  };
}

const byClusterId = byKey((part: MemberPart) => part.clusterId);

function olderFirst(a: MemberPart, b: MemberPart): number {
  if (a.firstSeenSequence !== b.firstSeenSequence) return a.firstSeenSequence < b.firstSeenSequence ? -1 : 1;
  return byClusterId(a, b);
}

interface ConflictField {
  readonly field: BackendConflict['field'];
  readonly noun: string;
  readonly valueOf: (backend: MemberBackend) => string;
  readonly consequence: string;
}

const FIELDS: readonly ConflictField[] = [
  { field: 'trafficClass', noun: 'traffic class', valueOf: (backend) => backend.trafficClass, consequence: 'its endpoints get no share until they agree' },
  { field: 'workUnit', noun: 'work unit', valueOf: (backend) => backend.capacity.unit, consequence: 'its endpoints get no share until they agree' },
  { field: 'sessionAffinity', noun: 'session affinity', valueOf: (backend) => backend.sessionAffinity, consequence: 'the first definition holds for all' },
];

function fieldConflict({ field, noun, valueOf, consequence }: ConflictField, senior: MemberPart, parts: readonly MemberPart[]): readonly BackendConflict[] {
  const want = valueOf(senior.backend);
  const losing = parts.filter(({ backend }) => valueOf(backend) !== want).sort(byClusterId);
  if (losing.length === 0) return [];
  const said = losing.map(({ clusterId, backend }) => `"${clusterId}" says ${valueOf(backend)}`).join(', ');
  const message = `Cluster "${senior.clusterId}" defined ${noun} ${want} first; ${said}: ${consequence}.`;
  return [{ field, winner: senior.clusterId, losers: losing.map(({ clusterId }) => clusterId), message }];
}

function mergePorts(bySeniority: readonly MemberPart[]): { readonly merged: readonly MergedPort[]; readonly conflicts: readonly BackendConflict[] } {
  const numbers = [...new Set(bySeniority.flatMap(({ backend }) => backend.ports.map(({ port }) => port)))].sort((a, b) => a - b);
  const merged: MergedPort[] = [];
  const conflicts: BackendConflict[] = [];
  for (const number of numbers) {
    const exposing = bySeniority.filter(({ backend }) => protocolsAt(backend, number).length > 0);
    const first = exposing[0];
    if (first === undefined) continue;
    const losing = exposing.filter(({ backend }) => !sharesProtocol(backend, first.backend, number)).sort(byClusterId);
    const agreeing = exposing.filter((part) => !losing.includes(part)).sort(byClusterId);
    merged.push(...portsAt(agreeing, number));
    if (losing.length > 0) conflicts.push(portConflict(number, first, losing));
  }
  return { merged, conflicts };
}

const protocolsAt = (backend: MemberBackend, number: number): string[] => [...new Set(backend.ports.filter(({ port }) => port === number).map(({ protocol }) => protocol))].sort();

// One protocol in common is agreement: DNS on 53/TCP and 53/UDP may come to one member after the other.
const sharesProtocol = (a: MemberBackend, b: MemberBackend, number: number): boolean => protocolsAt(a, number).some((protocol) => protocolsAt(b, number).includes(protocol));

function portsAt(parts: readonly MemberPart[], number: number): readonly MergedPort[] {
  const protocols = (['TCP', 'UDP'] as const).filter((protocol) => parts.some(({ backend }) => protocolsAt(backend, number).includes(protocol)));
  return protocols.map((protocol) => ({ port: { port: number, protocol }, parts: parts.filter(({ backend }) => protocolsAt(backend, number).includes(protocol)) }));
}

function portConflict(number: number, first: MemberPart, losing: readonly MemberPart[]): BackendConflict {
  const losers: readonly ClusterId[] = losing.map(({ clusterId }) => clusterId);
  const said = losing.map(({ clusterId, backend }) => `"${clusterId}" says ${protocolsAt(backend, number).join(' and ')}`).join(', ');
  const want = protocolsAt(first.backend, number).join(' and ');
  return { field: 'portProtocol', winner: first.clusterId, losers, message: `Cluster "${first.clusterId}" defined port ${number} as ${want} first; ${said}: it gets no share of port ${number} until they agree.` };
}
