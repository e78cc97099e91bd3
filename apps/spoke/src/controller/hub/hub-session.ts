import { isFleetError, type FleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, HubLink, HubSync, Kube, Random, SpokeIdentity } from '#ports';

import { Backoff } from '../backoff.js';
import { Wake } from '../wake.js';
import { runEnroller } from './enroller.js';
import { CLOCK_SKEW_WARN_MS, type HubPhase, type HubStatus } from './hub-status.js';
import { IdentityWriter, parseIdentity, type StoredIdentity } from './identity-keeper.js';
import type { ImportKeeper } from './import-keeper.js';
import { needsFull } from './import-state.js';
import { KeyRotator } from './key-rotator.js';
import type { Reportable } from './report-ledger.js';
import { runReportLoop, type ReportVoice } from './report-loop.js';
import { runSyncLoop } from './sync-loop.js';
import { WatchedSecret } from './watched-secret.js';

/** What a {@link HubSession} needs. */
export interface HubSessionParts {
  readonly kube: Kube;
  readonly link: HubLink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly imports: ImportKeeper;
  readonly current: () => Reportable | undefined;
  readonly voice: () => ReportVoice;
  /** The identity became known, or another. */
  readonly onIdentity: () => void;
  readonly options: HubSessionOptions;
}

/** Names and intervals of a {@link HubSession}. */
export interface HubSessionOptions {
  readonly namespace: string;
  readonly joinSecretName: string;
  readonly identitySecretName: string;
  readonly reportIntervalMs: number;
  readonly syncWaitMs: number;
  readonly incompleteRetryMs: number;
  readonly keyAgeMaxMs: number;
}

type Call = 'report' | 'sync';

/** Joins the hub and stays with it: enrols on a join token, reports, syncs, and goes on for ever when the hub is away. */
export class HubSession {
  readonly #stop = new AbortController();
  readonly #wakes = { enrol: new Wake(), report: new Wake(), sync: new Wake(), link: new Wake() };
  readonly #join: WatchedSecret;
  readonly #identitySecret: WatchedSecret;
  readonly #identities: IdentityWriter;
  readonly #rotator: KeyRotator;
  readonly #tasks: Promise<void>[] = [];
  readonly #failures = new Map<Call, FleetError>();
  readonly #lastMs = new Map<Call, number>();
  #identity: StoredIdentity | undefined;
  #enrolTrouble: FleetError | undefined;
  #isPuttingBack = false;

  constructor(private readonly parts: HubSessionParts) {
    const { kube, options } = parts;
    this.#join = new WatchedSecret(kube, { namespace: options.namespace, name: options.joinSecretName }, () => this.#wakes.enrol.ring());
    this.#identitySecret = new WatchedSecret(kube, { namespace: options.namespace, name: options.identitySecretName }, () => this.#readIdentity());
    this.#identities = new IdentityWriter(kube, this.#identitySecret.ref, () => this.#identity);
    this.#rotator = new KeyRotator({ ...parts, identities: this.#identities, phase: () => this.#phase(), mayWrite: () => this.#mayWrite(), keyAgeMaxMs: options.keyAgeMaxMs });
  }

  start(): void {
    const { signal } = this.#stop;
    this.#join.start();
    this.#identitySecret.start();
    this.#tasks.push(
      runEnroller({ ...this.parts, backoff: new Backoff(this.parts.random), wake: this.#wakes.enrol, joinSecret: this.#join, identitySecret: this.#identitySecret, identities: this.#identities, known: () => this.#identity, mayWrite: () => this.#mayWrite(), between: () => this.#rotator.turn(this.#identity), onTrouble: (error) => (this.#enrolTrouble = error) }, signal),
      this.#runLink(signal),
    );
  }

  /** There may be something new to report, or a new right to write. */
  reportSoon(): void {
    this.#wakes.report.ring();
    this.#wakes.enrol.ring();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#join.stop();
    this.#identitySecret.stop();
    // A call that a silent hub leaves hanging must not hold up the end of the process.
    const ended = new AbortController();
    await Promise.race([Promise.all(this.#tasks), this.parts.clock.sleep(STOP_WAIT_MS, ended.signal)]);
    ended.abort();
  }

  /** Whether it is known what identity this cluster has, if any. */
  get identityKnown(): boolean {
    return this.#identitySecret.synced && this.#join.synced;
  }

  /** Whether a hub is there to be heard: this cluster is bound to one, or has a token to join one. */
  get expectsHub(): boolean {
    return this.identity !== undefined || this.#join.object !== undefined;
  }

  /** The identity that calls are made under. */
  get identity(): SpokeIdentity | undefined {
    return this.#identity?.bound;
  }

  status(): HubStatus {
    const failure = this.#enrolTrouble ?? this.#failures.get('report') ?? this.#failures.get('sync');
    return { phase: this.#phase(), message: failure?.message ?? '', lastReportMs: this.#lastMs.get('report'), lastSyncMs: this.#lastMs.get('sync'), clockOffsetMs: this.parts.link.clockOffsetMs(), keySinceMs: this.#identity?.keySinceMs };
  }

  #mayWrite(): boolean {
    return this.parts.voice() === 'write';
  }

  #phase(): HubPhase {
    if (this.identity === undefined) {
      if (this.#join.object === undefined) return 'no-join-token';
      return this.#enrolTrouble?.kind === 'user' ? 'refused' : 'enrolling';
    }
    const failure = this.#failures.get('report') ?? this.#failures.get('sync');
    if (failure === undefined) return this.#lastMs.size > 0 ? 'linked' : 'away';
    if (failure.code === 'HUB_UNKNOWN_MEMBER') return 'unknown-member';
    return failure.kind === 'transient' ? 'away' : 'refused';
  }

  #readIdentity(): void {
    const { object, synced } = this.#identitySecret;
    if (!synced) return;
    const before = this.#identity?.bound;
    const stored = object === undefined ? undefined : parseIdentity(object);
    if (stored === undefined && object !== undefined) this.parts.logger.warn({ code: 'IDENTITY_BROKEN', secret: object.metadata.name, isPutBack: before !== undefined }, 'the identity Secret does not hold what was saved in it; this process puts back what it knows, or else the cluster needs a new join token');
    if (stored === undefined && this.#identity?.bound !== undefined) {
      this.#putBack(this.#identity);
      return;
    }
    this.#identity = stored;
    this.#wakes.enrol.ring();
    this.parts.onIdentity();
    if (linkKey(before) !== linkKey(this.#identity?.bound)) this.#wakes.link.ring();
  }

  // Whoever deleted or emptied the Secret took nothing from the hub: the key still opens it, and its token would not again.
  #putBack(identity: StoredIdentity): void {
    const { logger, clock, random } = this.parts;
    if (this.#isPuttingBack) return;
    this.#isPuttingBack = true;
    const { signal } = this.#stop;
    const backoff = new Backoff(random);
    const isLost = (): boolean => this.#identitySecret.object === undefined || parseIdentity(this.#identitySecret.object) === undefined;
    const run = async (): Promise<void> => {
      while (!signal.aborted && isLost()) {
        try {
          if (this.#mayWrite()) {
            await this.#identities.update((now) => now ?? identity);
            logger.warn({ code: 'IDENTITY_PUT_BACK', secret: this.#identitySecret.ref.name }, 'the identity Secret was gone or broken; it was put back');
            return;
          }
        } catch (err) {
          logger.warn({ err, secret: this.#identitySecret.ref.name }, 'could not put the identity Secret back; this process goes on under the identity that it knows');
        }
        await clock.sleep(backoff.nextMs(), signal);
      }
    };
    void run().finally(() => (this.#isPuttingBack = false));
  }

  // One link for each binding: another cluster id, key or hub starts both loops again, a new CA bundle does not.
  async #runLink(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const current = this.identity;
      const link = new AbortController();
      this.#failures.clear();
      const loops = current === undefined ? [] : [this.#report(current, AbortSignal.any([signal, link.signal])), this.#sync(current, AbortSignal.any([signal, link.signal]))];
      while (!signal.aborted && linkKey(this.identity) === linkKey(current)) await this.#wakes.link.sleep(this.parts.clock, IDLE_MS, signal);
      link.abort();
      await Promise.all(loops);
    }
  }

  #report(first: SpokeIdentity, signal: AbortSignal): Promise<void> {
    const { link, clock, random, current, voice, imports, options } = this.parts;
    return runReportLoop({
      link, clock, current, voice,
      backoff: new Backoff(random),
      wake: this.#wakes.report,
      firstSeen: () => new Map([...imports.state.firstSeen].map(([name, { place }]) => [name, place])),
      identity: () => this.identity ?? first,
      intervalMs: options.reportIntervalMs,
      onSuccess: () => this.#succeeded('report'),
      onFailure: (error) => this.#failed('report', error),
    }, signal);
  }

  #sync(first: SpokeIdentity, signal: AbortSignal): Promise<void> {
    const { link, clock, random, imports, options } = this.parts;
    return runSyncLoop({
      link, clock,
      backoff: new Backoff(random),
      wake: this.#wakes.sync,
      identity: () => this.identity ?? first,
      waitMs: options.syncWaitMs,
      incompleteRetryMs: options.incompleteRetryMs,
      cursor: () => imports.state.cursor,
      needsFull: () => needsFull(imports.state),
      onAnswer: (answer) => this.#synced(answer, this.identity ?? first),
      onFailure: (error) => this.#failed('sync', error),
    }, signal);
  }

  #synced(answer: HubSync, { clusterId }: SpokeIdentity): void {
    this.#succeeded('sync');
    this.parts.imports.apply(answer, clusterId);
    const identity = this.#identity;
    if (answer.caBundlePem === undefined || identity?.bound === undefined || answer.caBundlePem === identity.bound.caBundlePem) return;
    const renewed = { ...identity, bound: { ...identity.bound, caBundlePem: answer.caBundlePem } };
    this.#identity = renewed;
    if (!this.#mayWrite()) return;
    const { caBundlePem } = answer;
    this.#identities.update((now) => (now?.bound?.hubUrl === renewed.bound.hubUrl ? { ...now, bound: { ...now.bound, caBundlePem } } : now)).catch((err: unknown) => this.parts.logger.warn({ err }, 'could not save the hub\'s new CA bundle'));
  }

  #succeeded(call: Call): void {
    const wasAway = this.#failures.delete(call);
    this.#lastMs.set(call, this.parts.clock.nowMs());
    if (wasAway) this.parts.logger.info({ call }, 'hub answers again');
    // One call that gets through ends the other's wait.
    if (this.#failures.size > 0) this.#wakes[call === 'report' ? 'sync' : 'report'].ring();
    const offsetMs = this.parts.link.clockOffsetMs() ?? 0;
    if (wasAway && Math.abs(offsetMs) >= CLOCK_SKEW_WARN_MS) this.parts.logger.warn({ offsetMs }, 'this cluster\'s clock differs from the hub\'s; set it by NTP');
  }

  #failed(call: Call, error: unknown): void {
    const known = isFleetError(error) ? error : undefined;
    const before = this.#failures.get(call);
    if (known !== undefined) this.#failures.set(call, known);
    if (known === undefined || before?.code !== known.code) this.parts.logger.warn({ err: error, call }, 'hub call failed; the last good state stays');
  }
}

// A bell ends the wait; this only bounds it.
const IDLE_MS = 60_000;
const STOP_WAIT_MS = 2_000;

const linkKey = (identity: SpokeIdentity | undefined): string => (identity === undefined ? '' : [identity.clusterId, identity.keyId, identity.audience, identity.hubUrl].join(' '));
