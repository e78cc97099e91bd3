import type { AddressAssignment } from '#domain/addresses';
import type { ImportSet, MemberBackend, NamespacedName } from '#domain/fleet';

import type { ProgrammedEvidence } from './programmed-evidence.js';

/** What statuses say beyond the objects themselves. */
export interface StatusInput {
  /** By `namespace/name` of the Gateway. */
  readonly assignments: ReadonlyMap<string, AddressAssignment>;
  /** By `namespace/name` of the Gateway; a Gateway without an entry has no evidence. */
  readonly gatewayEvidence: ReadonlyMap<string, ProgrammedEvidence>;
  /** By `namespace/name` of the CompositeBackend. */
  readonly compositeEvidence: ReadonlyMap<string, ProgrammedEvidence>;
  /** What this cluster itself offers. */
  readonly localParts: readonly MemberBackend[];
  /** What the hub says; undefined before it has said anything. */
  readonly imports: ImportSet | undefined;
  /** Whether the installed definition of Gateways keeps an address's routability (GEP-5093). */
  readonly keepsRoutability: boolean;
  readonly nowMs: number;
}

/** The kinds whose status we write. */
export type StatusKind = 'GatewayClass' | 'Gateway' | 'TCPRoute' | 'UDPRoute' | 'CompositeBackend' | 'EndpointSelector';

/** The complete new status of one object, to be written against exactly this resourceVersion. Only differing ones are listed. */
export interface StatusWrite extends NamespacedName {
  readonly kind: StatusKind;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: Readonly<Record<string, unknown>>;
}
