import { isFleetError } from '#domain/fleet';
import type { StatusKind, StatusWrite } from '#domain/gateway-api';
import type { Logger } from '#platform';
import type { Kube, KubeKind } from '#ports';

/** Writes that are under way at once. */
const STATUS_WRITES_PARALLEL = 4;

/** How a round of writes went. */
export interface StatusRound {
  readonly written: number;
  readonly conflicts: number;
  /** The first failure that a later try may heal. */
  readonly transient: Error | undefined;
}

/**
 * Writes statuses against exactly the version they were planned from. A conflict is no failure: the newer version is on its
 * way by the watch, and a new plan with it. Nothing is written twice against one version.
 */
export class StatusWriter {
  /** Version that was last written against, by kind and uid. */
  readonly #settled = new Map<string, string>();

  constructor(
    private readonly kube: Kube,
    private readonly logger: Logger,
    /** Each kind in the version that this cluster serves. */
    private readonly servedKind: (kind: StatusKind) => KubeKind,
  ) {}

  /** Writes what differs; `mayWrite` is asked before each write. */
  async write(writes: readonly StatusWrite[], mayWrite: () => boolean): Promise<StatusRound> {
    const queue = writes.filter((write) => this.#settled.get(keyOf(write)) !== write.resourceVersion);
    this.#forgetOthers(writes);
    const round = { written: 0, conflicts: 0, transient: undefined as Error | undefined };
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined && mayWrite(); next = queue.shift()) await this.#writeOne(next, round);
    };
    await Promise.all(Array.from({ length: STATUS_WRITES_PARALLEL }, work));
    return round;
  }

  async #writeOne(write: StatusWrite, round: { written: number; conflicts: number; transient: Error | undefined }): Promise<void> {
    const kind = this.servedKind(write.kind);
    const metadata = { name: write.name, uid: write.uid, resourceVersion: write.resourceVersion, ...(kind.namespaced ? { namespace: write.namespace } : {}) };
    try {
      await this.kube.replaceStatus(kind, { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, metadata, status: write.status });
      this.#settled.set(keyOf(write), write.resourceVersion);
      round.written += 1;
    } catch (error) {
      this.#failed(write, error, round);
    }
  }

  #failed(write: StatusWrite, error: unknown, round: { conflicts: number; transient: Error | undefined }): void {
    const { kind, namespace, name } = write;
    if (!isFleetError(error) || error.kind !== 'user') {
      round.transient ??= error instanceof Error ? error : new Error(String(error));
      this.logger.debug({ kind, namespace, name, err: error }, 'could not write a status yet');
      return;
    }
    // Nothing but another version of the object can change this answer.
    this.#settled.set(keyOf(write), write.resourceVersion);
    if (error.code === 'KUBE_CONFLICT' || error.code === 'KUBE_NOT_FOUND') round.conflicts += 1;
    else this.logger.error({ kind, namespace, name, code: error.code, err: error }, 'the API server refused a status');
  }

  // What is not planned any more is right, or gone.
  #forgetOthers(writes: readonly StatusWrite[]): void {
    const planned = new Set(writes.map(keyOf));
    for (const key of this.#settled.keys()) if (!planned.has(key)) this.#settled.delete(key);
  }
}

const keyOf = (write: StatusWrite): string => `${write.kind} ${write.uid}`;
