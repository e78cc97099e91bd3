import type { Path as ImportPath, Protocol as DomainProtocol, SessionAffinity as DomainAffinity, TrafficClass as DomainClass, WorkUnit as DomainUnit } from '#domain/fleet';

import { Path, Protocol, SessionAffinity, TrafficClass, WorkUnit } from './generated/spillway/spoke/v1/spoke_pb.js';

/** Wire value of each name; its inverse reads what arrives and knows no other value. */
interface EnumNames<N extends string> {
  readonly toWire: Readonly<Record<N, number>>;
  readonly fromWire: ReadonlyMap<number, N>;
}

function enumNames<N extends string>(toWire: Readonly<Record<N, number>>): EnumNames<N> {
  return { toWire, fromWire: new Map((Object.keys(toWire) as N[]).map((name) => [toWire[name], name])) };
}

/** Protocols on the wire. */
export const protocolNames = enumNames<DomainProtocol>({ TCP: Protocol.TCP, UDP: Protocol.UDP });

/** Traffic classes on the wire. */
export const trafficClassNames = enumNames<DomainClass>({
  endpoints: TrafficClass.ENDPOINTS,
  'inference-pool': TrafficClass.INFERENCE_POOL,
  external: TrafficClass.EXTERNAL,
});

/** Work units on the wire. */
export const workUnitNames = enumNames<DomainUnit>({ Requests: WorkUnit.REQUESTS, Concurrent: WorkUnit.CONCURRENT, Tokens: WorkUnit.TOKENS });

/** Session affinities on the wire. */
export const sessionAffinityNames = enumNames<DomainAffinity>({
  None: SessionAffinity.NONE,
  ClientIP: SessionAffinity.CLIENT_IP,
  Cluster: SessionAffinity.CLUSTER,
});

/** Paths on the wire. */
export const pathNames = enumNames<ImportPath>({ direct: Path.DIRECT, gateway: Path.GATEWAY });
