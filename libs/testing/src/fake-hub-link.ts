import { createHash, createPublicKey } from 'node:crypto';

import { clusterId, digest, FleetError, memberBackendDigest, reachDigest, reportDigest, type BackendName, type ClusterId, type ImportedBackend, type MemberBackend, type MemberPaths, type MemberReach } from '#domain/fleet';
import { HubLink, type Clock, type HubReport, type HubReportAnswer, type HubResource, type HubSync, type SpokeIdentity, type SyncCursor } from '#ports';

interface Change {
  readonly sequence: bigint;
  readonly name: string;
}

/** A hub in memory, as spokes see it: join tokens, keys, reports with digests, an epoch, and imports that a test sets. */
export class FakeHubLink extends HubLink {
  /** Cluster ids by join token that may be used once. */
  readonly tokens = new Map<string, ClusterId>();
  /** What each cluster has reported, by backend name. */
  readonly reported = new Map<ClusterId, Map<BackendName, MemberBackend>>();
  /** How each cluster has said that it is reached. */
  readonly reaches = new Map<ClusterId, MemberReach>();
  /** Every report that was taken, oldest first. */
  readonly reports: HubReport[] = [];
  /** Clusters by key id. */
  readonly members = new Map<string, ClusterId>();
  epoch = 'epoch-1';
  /** Whether a full state that is sent now is complete. */
  isComplete = true;
  intervalMs = 5_000;
  caBundlePem: string | undefined;
  offsetMs: number | undefined;
  enrolCalls = 0;
  rotateCalls = 0;
  /** Whether a rotation is done and its answer gets lost. */
  losesRotations = false;
  /** The places that consumers are told for their own definitions. */
  readonly firstSeen = new Map<BackendName, bigint>();
  /** Full states that were sent. */
  fullStates = 0;
  readonly #endsAtMs = new Map<string, number>();
  readonly #usedTokens = new Map<string, string>();
  readonly #imports = new Map<string, ImportedBackend>();
  #paths: MemberPaths | undefined;
  #changes: Change[] = [];
  #sequence = 1n;
  #away = false;
  #waiting = new Set<() => void>();

  constructor(private readonly clock: Clock) {
    super();
  }

  /** Makes a join token for a cluster name. */
  addToken(token: string, name: string): void {
    this.tokens.set(token, clusterId(name));
  }

  /** Every call fails, and waiting ones end. */
  goAway(): void {
    this.#away = true;
    this.#wakeAll();
  }

  comeBack(): void {
    this.#away = false;
  }

  /** Tells every consumer about a backend. */
  setImport(backend: ImportedBackend): void {
    this.#imports.set(backend.name, backend);
    this.#changed(backend.name);
  }

  /** Tells every consumer about the ways to and from others. */
  setPaths(paths: MemberPaths): void {
    this.#paths = paths;
    this.#changed(PATHS);
  }

  /** Takes a backend back. */
  removeImport(name: BackendName): void {
    this.#imports.delete(name);
    this.#changed(name);
  }

  /** As after a start over an empty database: no member, no import, a new epoch. */
  startEmpty(epoch: string): void {
    this.members.clear();
    this.reported.clear();
    this.#usedTokens.clear();
    this.tokens.clear();
    this.#imports.clear();
    this.#paths = undefined;
    this.reaches.clear();
    this.newEpoch(epoch);
  }

  /** As after a declared restore: what there is counts under a new epoch. */
  newEpoch(epoch: string): void {
    this.epoch = epoch;
    this.#changes = [];
    this.#sequence = 1n;
    this.#wakeAll();
  }

  /** Takes a backup of its keys; what it returns puts that back, under a new epoch. */
  backUp(): (epoch: string) => void {
    const [members, endsAtMs] = [new Map(this.members), new Map(this.#endsAtMs)];
    return (epoch) => {
      refill(this.members, members);
      refill(this.#endsAtMs, endsAtMs);
      this.newEpoch(epoch);
    };
  }

  async enrol(request: { readonly joinToken: string; readonly privateKeyPem: string; readonly clusterUid: string }): Promise<SpokeIdentity> {
    this.#admit();
    this.enrolCalls += 1;
    const keyId = keyIdOf(request.privateKeyPem);
    const binding = `${keyId} ${request.clusterUid}`;
    const cluster = this.tokens.get(request.joinToken);
    if (cluster === undefined) throw new FleetError('HUB_TOKEN_FOREIGN', 'user', 'The join token is not of this hub; make a new one.');
    const used = this.#usedTokens.get(request.joinToken);
    if (used !== undefined && used !== binding) throw new FleetError('HUB_TOKEN_USED', 'user', 'The join token was used by another key; make a new one.');
    this.#usedTokens.set(request.joinToken, binding);
    this.#bind(keyId, cluster);
    return { clusterId: cluster, keyId, audience: 'hub', hubUrl: 'https://hub.test', caBundlePem: 'ca-1', privateKeyPem: request.privateKeyPem };
  }

  async rotateKey(identity: SpokeIdentity, newPrivateKeyPem: string): Promise<SpokeIdentity> {
    this.rotateCalls += 1;
    const next = { ...identity, privateKeyPem: newPrivateKeyPem, keyId: keyIdOf(newPrivateKeyPem) };
    const cluster = this.#authenticate(this.#knows(identity) ? identity : next);
    if (this.#knows(identity)) this.#bind(next.keyId, cluster);
    if (this.losesRotations) throw new FleetError('HUB_TIMEOUT', 'transient', 'The hub did not answer in time.');
    return next;
  }

  async report(identity: SpokeIdentity, report: HubReport): Promise<HubReportAnswer> {
    const cluster = this.#authenticate(identity);
    this.reports.push(report);
    const parts = report.full ? new Map<BackendName, MemberBackend>() : new Map(this.reported.get(cluster));
    for (const backend of report.changed) parts.set(backend.name, backend);
    for (const name of report.removed) parts.delete(name as BackendName);
    const own = reportDigest(new Map([...parts].map(([name, backend]) => [name, memberBackendDigest(backend)])));
    const reach = report.reach?.changed ?? (report.full ? undefined : this.reaches.get(cluster));
    const knowsReach = report.reach === undefined || (reach !== undefined && reachDigest(reach) === report.reach.digest);
    if (own !== report.digest || !knowsReach) return { resendFull: true, intervalMs: this.intervalMs };
    if (reach !== undefined) this.reaches.set(cluster, reach);
    this.reported.set(cluster, parts);
    return { resendFull: false, intervalMs: this.intervalMs };
  }

  async sync(identity: SpokeIdentity, cursor: SyncCursor | undefined, waitMs: number, signal: AbortSignal): Promise<HubSync> {
    this.#authenticate(identity);
    if (cursor?.epoch === this.epoch && cursor.sequence >= this.#sequence && waitMs > 0) await this.#wait(waitMs, signal);
    this.#authenticate(identity);
    if (cursor?.epoch === this.epoch && cursor.sequence > this.#sequence) return { cursor, full: false, complete: false, changed: [], removed: [], caBundlePem: undefined };
    const now: SyncCursor = { epoch: this.epoch, sequence: this.#sequence, mark: `${this.epoch} ${this.#sequence}` };
    if (cursor?.epoch !== this.epoch) {
      this.fullStates += 1;
      return { cursor: now, full: true, complete: this.isComplete, changed: [...this.#imports.values()].map((backend) => this.#resourceOf(backend)), removed: [], caBundlePem: this.caBundlePem, ...pathsResource(this.#paths) };
    }
    const names = new Set(this.#changes.filter((change) => change.sequence > cursor.sequence).map((change) => change.name));
    const changed = [...names].flatMap((name) => this.#imports.get(name) ?? []).map((backend) => this.#resourceOf(backend));
    const removed = [...names].filter((name) => name !== PATHS && !this.#imports.has(name)).map((name) => `backend/${name}`);
    return { cursor: now, full: false, complete: false, changed, removed, caBundlePem: this.caBundlePem, ...(names.has(PATHS) ? pathsResource(this.#paths) : {}) };
  }

  clockOffsetMs(): number | undefined {
    return this.offsetMs;
  }

  #resourceOf(backend: ImportedBackend): HubResource {
    const firstSeen = this.firstSeen.get(backend.name);
    return { name: `backend/${backend.name}`, version: digest(JSON.stringify([backend, String(firstSeen)])), backend, ...(firstSeen === undefined ? {} : { firstSeen }) };
  }

  #admit(): void {
    if (this.#away) throw new FleetError('HUB_UNREACHABLE', 'transient', 'The hub cannot be reached.');
  }

  #authenticate(identity: SpokeIdentity): ClusterId {
    this.#admit();
    const cluster = this.members.get(keyIdOf(identity.privateKeyPem));
    if (cluster === undefined || !this.#knows(identity)) throw new FleetError('HUB_UNKNOWN_MEMBER', 'user', 'This hub does not know the key; enrol with a new join token.');
    return cluster;
  }

  #knows({ privateKeyPem }: SpokeIdentity): boolean {
    const keyId = keyIdOf(privateKeyPem);
    return this.members.has(keyId) && this.clock.nowMs() <= (this.#endsAtMs.get(keyId) ?? Infinity);
  }

  #bind(keyId: string, cluster: ClusterId): void {
    const endsAtMs = this.clock.nowMs() + OVERLAP_MS;
    for (const [other, owner] of this.members) if (owner === cluster) this.#endsAtMs.set(other, Math.min(this.#endsAtMs.get(other) ?? endsAtMs, endsAtMs));
    this.members.set(keyId, cluster);
    this.#endsAtMs.delete(keyId);
  }

  #changed(name: string): void {
    this.#sequence += 1n;
    this.#changes.push({ sequence: this.#sequence, name });
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    this.#waiting.add(wake);
    await this.clock.sleep(ms, AbortSignal.any([woken.signal, signal]));
    this.#waiting.delete(wake);
  }
}

/** How long an older key stays valid beside a new one. */
const OVERLAP_MS = 600_000;

function refill<K, V>(target: Map<K, V>, source: ReadonlyMap<K, V>): void {
  target.clear();
  for (const [key, value] of source) target.set(key, value);
}

// Among changes, which name backends otherwise.
const PATHS = 'paths';

const pathsResource = (paths: MemberPaths | undefined): Pick<HubSync, 'paths'> => (paths === undefined ? {} : { paths: { version: digest(JSON.stringify(paths)), paths } });

const keyIdOf = (privateKeyPem: string): string =>
  createHash('sha256').update(createPublicKey(privateKeyPem).export({ type: 'spki', format: 'der' })).digest('hex').slice(0, 16);
