import type { BackendName, ClusterId, Freeze } from '#domain/fleet';
import { readyCapacities } from '#domain/sameness';
import type { ChangeLog } from '#ports';

/** Whether automation is frozen, followed along the change log so that asking every second costs next to nothing. */
export class AutomationView {
  readonly #changeLog: ChangeLog;
  #known: { readonly epoch: string; readonly sequence: bigint; readonly freeze: Freeze | undefined } | undefined;
  constructor(changeLog: ChangeLog) {
    this.#changeLog = changeLog;
  }

  async currentFreeze(): Promise<Freeze | undefined> {
    const known = this.#known;
    const batch = known === undefined ? undefined : await this.#changeLog.changesSince(known.epoch, known.sequence);
    if (known === undefined || batch === undefined) {
      const { epoch, sequence, view } = await this.#changeLog.loadView();
      this.#known = { epoch, sequence, freeze: view.freeze };
      return view.freeze;
    }
    const change = batch.changes.filter((entry) => entry.kind === 'freeze').at(-1);
    this.#known = { epoch: batch.epoch, sequence: batch.sequence, freeze: change === undefined ? known.freeze : change.freeze };
    return this.#known.freeze;
  }

  /** Capacities by which shares are split at this moment. */
  async capacities(): Promise<ReadonlyMap<BackendName, ReadonlyMap<ClusterId, number>>> {
    return readyCapacities((await this.#changeLog.loadView()).view);
  }
}
