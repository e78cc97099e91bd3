import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { Clock, Kube, KubeObject } from '#ports';


/** Which Lease, by whom, and how patiently. */
export interface LeaderLeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** The pod's name: a container that restarts in its pod leads again at once. */
  readonly holder: string;
  readonly durationMs: number;
  readonly renewMs: number;
}

/**
 * `leading` holds the Lease; `unconfirmed` held it and cannot renew it, while nobody else is known to hold it; `standby` is
 * everybody else.
 */
export type Leadership = 'leading' | 'unconfirmed' | 'standby';

/** The longest that a silent holder is waited for. */
const PATIENCE_MS_MAX = 60_000;

/** What a {@link LeaderLease} needs. */
export interface LeaderLeaseParts {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly onChange: (leadership: Leadership) => void;
  readonly onError: (error: unknown) => void;
}

/** Holds a Kubernetes Lease, so that of several replicas one writes. */
export class LeaderLease {
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #renewedMs: number | undefined;
  /** What we last saw of another holder, and when on our own clock: holders' clocks are not compared with ours. */
  #seen: { readonly text: string; readonly atMs: number } | undefined;
  #told: Leadership = 'standby';

  constructor(
    private readonly parts: LeaderLeaseParts,
    private readonly options: LeaderLeaseOptions,
  ) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** Lets go of the Lease, so that the next one need not wait. */
  async stop(): Promise<void> {
    const wasLeading = this.leadership() === 'leading';
    this.#stop.abort();
    await this.#running;
    if (wasLeading) await this.#release().catch(this.parts.onError);
    this.#renewedMs = undefined;
    this.#tell();
  }

  /** Where we stand now, on our own clock. */
  leadership(): Leadership {
    if (this.#renewedMs === undefined) return 'standby';
    return this.parts.clock.monotonicMs() - this.#renewedMs < this.options.durationMs ? 'leading' : 'unconfirmed';
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#tryHold();
      } catch (error) {
        this.parts.onError(error);
      }
      this.#tell();
      await this.parts.clock.sleep(this.options.renewMs, signal);
    }
  }

  #tell(): void {
    const leadership = this.leadership();
    if (leadership === this.#told) return;
    this.#told = leadership;
    this.parts.onChange(leadership);
  }

  async #tryHold(): Promise<void> {
    const askedMs = this.parts.clock.monotonicMs();
    const lease = await this.parts.kube.find(KUBE_KINDS.lease, this.options);
    try {
      if (lease === undefined) await this.parts.kube.create(KUBE_KINDS.lease, this.#leaseObject(undefined));
      else if (this.#mayTake(lease)) await this.parts.kube.replace(KUBE_KINDS.lease, this.#leaseObject(lease));
      else {
        this.#renewedMs = undefined;
        return;
      }
      this.#renewedMs = askedMs;
    } catch (error) {
      // Another replica was first; the next turn sees it.
      if (!isFleetError(error) || !['KUBE_CONFLICT', 'KUBE_ALREADY_EXISTS'].includes(error.code)) throw error;
    }
  }

  #mayTake(lease: KubeObject): boolean {
    const spec = specOf(lease);
    if (spec.holderIdentity === '' || spec.holderIdentity === this.options.holder) return true;
    const text = `${spec.holderIdentity} ${spec.renewTime}`;
    if (this.#seen?.text !== text) this.#seen = { text, atMs: this.parts.clock.monotonicMs() };
    // A Lease that claims to last for ever, whoever wrote it, must not keep the cluster without a leader.
    const patienceMs = spec.durationMs > 0 ? Math.min(spec.durationMs, Math.max(PATIENCE_MS_MAX, this.options.durationMs)) : this.options.durationMs;
    return this.parts.clock.monotonicMs() - this.#seen.atMs >= patienceMs;
  }

  #leaseObject(before: KubeObject | undefined): KubeObject {
    const old = before === undefined ? undefined : specOf(before);
    const now = microTime(this.parts.clock.nowMs());
    const isOurs = old?.holderIdentity === this.options.holder;
    const spec = {
      holderIdentity: this.options.holder,
      leaseDurationSeconds: Math.ceil(this.options.durationMs / 1000),
      acquireTime: isOurs && old.acquireTime !== '' ? old.acquireTime : now,
      renewTime: now,
      leaseTransitions: (old?.transitions ?? 0) + (isOurs || old === undefined ? 0 : 1),
    };
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: before?.metadata ?? { namespace: this.options.namespace, name: this.options.name }, spec };
  }

  async #release(): Promise<void> {
    const lease = await this.parts.kube.find(KUBE_KINDS.lease, this.options);
    if (lease === undefined || specOf(lease).holderIdentity !== this.options.holder) return;
    await this.parts.kube.replace(KUBE_KINDS.lease, { ...lease, spec: { ...(lease['spec'] as object), holderIdentity: '', leaseDurationSeconds: 1 } });
  }
}

interface LeaseSpec {
  readonly holderIdentity: string;
  readonly renewTime: string;
  readonly acquireTime: string;
  readonly transitions: number;
  readonly durationMs: number;
}

function specOf(lease: KubeObject): LeaseSpec {
  const spec = (typeof lease['spec'] === 'object' && lease['spec'] !== null ? lease['spec'] : {}) as Readonly<Record<string, unknown>>;
  const text = (key: string): string => (typeof spec[key] === 'string' ? spec[key] : '');
  const count = (key: string): number => (typeof spec[key] === 'number' ? spec[key] : 0);
  return { holderIdentity: text('holderIdentity'), renewTime: text('renewTime'), acquireTime: text('acquireTime'), transitions: count('leaseTransitions'), durationMs: count('leaseDurationSeconds') * 1000 };
}

/** Kubernetes MicroTime: RFC 3339 with microseconds. */
const microTime = (epochMs: number): string => new Date(epochMs).toISOString().replace('Z', '000Z');
