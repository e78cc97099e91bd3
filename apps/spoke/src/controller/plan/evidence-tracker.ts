import { CLUSTER_TYPE_URL } from '#contracts/envoy';
import type { NamespacedName } from '#domain/fleet';
import { EVIDENCE_TTL_MS, objectKey, type NodeEvidence, type ProgrammedEvidence } from '#domain/gateway-api';
import { frontendKey } from '#domain/routing-plan';
import { rejectClusterName, type XdsCluster, type XdsSnapshot } from '#domain/xds-snapshot';
import type { Clock } from '#ports';

import type { PlanAcknowledgements } from '../xds/plan-server.js';

/** How long a node that does not acknowledge the removal of an address may hold it back. */
const RELEASE_WAIT_MAX_MS = 60_000;

/** What nodes say of every Gateway and CompositeBackend. */
export interface Evidence {
  readonly gateways: ReadonlyMap<string, ProgrammedEvidence>;
  readonly composites: ReadonlyMap<string, ProgrammedEvidence>;
  /** Whether time alone may change a verdict: some node has not acknowledged, or is away. */
  readonly isOpen: boolean;
}

/** A Gateway or a CompositeBackend: the resources that make it work. */
interface Subject {
  readonly resources: readonly string[];
  /** Names and versions; when it changes, nodes are asked anew. */
  readonly signature: string;
  readonly sinceMs: number;
  /** Nodes that have acknowledged it, and from which stream. */
  readonly acknowledged: Map<string, number>;
}

interface SeenNode {
  readonly joinedAtMs: number;
  lastSeenAtMs: number | undefined;
  /** As the xDS server says it: tells one stream from the next. */
  streamOpenedAtMs: number | undefined;
}

/**
 * Turns acknowledgements of xDS resources into evidence about Gateways, backends and addresses. Ages are measured on the
 * monotonic clock: a clock that is set by hours makes no node silent and keeps no address back.
 */
export class EvidenceTracker {
  #subjects = new Map<string, Subject>();
  /** Resources in which an address was, while it is in the plan, and since it left. */
  #addresses = new Map<string, readonly string[]>();
  readonly #gone = new Map<string, { readonly resources: readonly string[]; readonly sinceMs: number }>();
  readonly #nodes = new Map<string, SeenNode>();
  #names: readonly string[] = [];
  #firstPublishedMs: number | undefined;

  constructor(
    private readonly acks: PlanAcknowledgements,
    private readonly clock: Clock,
  ) {}

  /** Takes note of what is served from now on. */
  published(snapshot: XdsSnapshot): void {
    const nowMs = this.clock.monotonicMs();
    this.#firstPublishedMs ??= nowMs;
    this.#names = snapshot.clusters.map((cluster) => cluster.name);
    this.#subjects = new Map([...subjectsOf(snapshot)].map(([key, clusters]) => [key, this.#subject(key, clusters, nowMs)]));
    const addresses = addressesOf(snapshot);
    for (const [address, resources] of this.#addresses) if (!addresses.has(address)) this.#gone.set(address, { resources, sinceMs: nowMs });
    for (const [address, { sinceMs }] of this.#gone) if (addresses.has(address) || nowMs - sinceMs > 10 * RELEASE_WAIT_MAX_MS) this.#gone.delete(address);
    this.#addresses = addresses;
  }

  /** What the given nodes say now. */
  evidence(nodes: ReadonlySet<string>): Evidence {
    this.#look(nodes);
    const gateways = new Map<string, ProgrammedEvidence>();
    const composites = new Map<string, ProgrammedEvidence>();
    let isOpen = false;
    // Evidence is told in the time of day, as of now.
    const epochMs = this.clock.nowMs() - this.clock.monotonicMs();
    for (const [key, subject] of this.#subjects) {
      const evidence = { wantedSinceMs: subject.sinceMs + epochMs, nodes: [...nodes].sort().map((node) => this.#nodeEvidence(node, subject, epochMs)) };
      isOpen ||= evidence.nodes.length === 0 || evidence.nodes.some((node) => !node.hasAcknowledged || this.#nodes.get(node.node)?.streamOpenedAtMs === undefined);
      const [kind, name = ''] = key.split(' ');
      (kind === 'gateway' ? gateways : composites).set(name, evidence);
    }
    return { gateways, composites, isOpen };
  }

  /** Those of our addresses that some node may still lead somewhere. */
  stillProgrammed(held: readonly { readonly address: string; readonly gateway: NamespacedName }[], nodes: ReadonlySet<string>): ReadonlySet<string> {
    this.#look(nodes);
    return new Set(held.filter(({ address, gateway }) => this.#isStillProgrammed(address, gateway, nodes)).map(({ address }) => address));
  }

  #isStillProgrammed(address: string, gateway: NamespacedName, nodes: ReadonlySet<string>): boolean {
    if (this.#firstPublishedMs === undefined || this.#addresses.has(address)) return true;
    // An address that left the plan before this process began: any resource may have held it.
    const gone = this.#gone.get(address) ?? { resources: [...this.#names, rejectClusterName(frontendKey({ kind: 'gateway', ...gateway, callers: undefined }))], sinceMs: this.#firstPublishedMs };
    if (this.clock.monotonicMs() - gone.sinceMs > RELEASE_WAIT_MAX_MS) return false;
    return [...nodes].some((node) => this.#isAlive(node, gone.sinceMs) && gone.resources.some((name) => this.acks.status(node, CLUSTER_TYPE_URL, name).kind !== 'acked'));
  }

  #isAlive(node: string, sinceMs: number): boolean {
    const seen = this.#nodes.get(node);
    const lastMs = Math.max(sinceMs, seen?.lastSeenAtMs ?? sinceMs);
    return seen?.streamOpenedAtMs !== undefined || this.clock.monotonicMs() - lastMs <= EVIDENCE_TTL_MS;
  }

  #subject(key: string, clusters: readonly XdsCluster[], nowMs: number): Subject {
    const signature = clusters.map((cluster) => `${cluster.name}@${cluster.version}`).join(' ');
    const before = this.#subjects.get(key);
    if (before?.signature === signature) return before;
    return { resources: clusters.map((cluster) => cluster.name), signature, sinceMs: nowMs, acknowledged: new Map() };
  }

  #look(nodes: ReadonlySet<string>): void {
    const [nowMs, epochMs] = [this.clock.monotonicMs(), this.clock.nowMs() - this.clock.monotonicMs()];
    const streams = new Map(this.acks.streams().map((stream) => [stream.nodeId, stream]));
    for (const node of nodes) {
      const openedAtMs = streams.get(node)?.openedAtMs;
      const seen = this.#nodes.get(node) ?? { joinedAtMs: openedAtMs === undefined ? nowMs : openedAtMs - epochMs, lastSeenAtMs: undefined, streamOpenedAtMs: undefined };
      if (openedAtMs !== undefined) seen.lastSeenAtMs = nowMs;
      seen.streamOpenedAtMs = openedAtMs;
      this.#nodes.set(node, seen);
    }
    for (const node of this.#nodes.keys()) if (!nodes.has(node) && !streams.has(node)) this.#nodes.delete(node);
  }

  #nodeEvidence(node: string, subject: Subject, epochMs: number): NodeEvidence {
    const seen = this.#nodes.get(node) ?? NEVER_SEEN;
    const refusal = this.#ask(node, seen.streamOpenedAtMs, subject);
    const lastSeenAtMs = seen.lastSeenAtMs === undefined ? 0 : seen.lastSeenAtMs + epochMs;
    return { node, hasAcknowledged: subject.acknowledged.has(node), lastSeenAtMs, joinedAtMs: seen.joinedAtMs + epochMs, refusal };
  }

  // What a node has acknowledged from a stream it need not be asked again; a new stream may be a rebooted node's.
  #ask(node: string, openedAtMs: number | undefined, subject: Subject): string | undefined {
    if (openedAtMs === undefined || subject.acknowledged.get(node) === openedAtMs) return undefined;
    subject.acknowledged.delete(node);
    for (const name of subject.resources) {
      const status = this.acks.status(node, CLUSTER_TYPE_URL, name);
      if (status.kind === 'nacked') return status.message;
      if (status.kind !== 'acked') return undefined;
    }
    subject.acknowledged.set(node, openedAtMs);
    return undefined;
  }
}

const NEVER_SEEN: SeenNode = { joinedAtMs: 0, lastSeenAtMs: undefined, streamOpenedAtMs: undefined };

function subjectsOf(snapshot: XdsSnapshot): ReadonlyMap<string, readonly XdsCluster[]> {
  const subjects = new Map<string, XdsCluster[]>();
  const add = (key: string, cluster: XdsCluster): void => {
    const clusters = subjects.get(key);
    if (clusters === undefined) subjects.set(key, [cluster]);
    else clusters.push(cluster);
  };
  for (const cluster of snapshot.clusters) {
    for (const frontend of cluster.metadata.frontends) if (frontend.kind === 'gateway') add(`gateway ${objectKey(frontend)}`, cluster);
    const [, composite] = /^composite:([^/]+\/[^/]+)\//.exec(cluster.name) ?? [];
    if (composite !== undefined) add(`composite ${composite}`, cluster);
  }
  return subjects;
}

function addressesOf(snapshot: XdsSnapshot): Map<string, readonly string[]> {
  const addresses = new Map<string, string[]>();
  for (const cluster of snapshot.clusters) {
    for (const address of new Set(cluster.metadata.frontends.flatMap((frontend) => frontend.addresses))) {
      const names = addresses.get(address);
      if (names === undefined) addresses.set(address, [cluster.name]);
      else names.push(cluster.name);
    }
  }
  return addresses;
}
