import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock } from '#ports';

/** What an operator does about a refusal; whatever else fails comes back by itself. */
const ADVICE: Readonly<Record<string, string>> = {
  KUBE_FORBIDDEN: 'the API server refuses what the controller needs; what it saw last stays in force. Put the ClusterRole and the Role spillway-spoke-controller and their bindings back',
  KUBE_UNAUTHORIZED: 'the API server does not accept this pod\'s token; what the controller saw last stays in force. If the ServiceAccount was made anew, delete this pod',
};
const OTHERWISE = 'the API server fails the controller, which tries again; what it saw last stays in force';

/** An API server that has just started refuses everything until it has read its rules. */
const REFUSAL_PATIENCE_MS = 10_000;

interface Trouble {
  readonly sinceMs: number;
  readonly kinds: Set<string>;
  isTold: boolean;
}

/** Says once what is wrong between controller and API server, however many watches suffer from it, and once that it is over. */
export class ApiTrouble {
  readonly #troubles = new Map<string, Trouble>();

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** A request about a kind failed. */
  failed(kind: string, error: unknown): void {
    const known = isFleetError(error) ? error : undefined;
    const code = known?.code ?? 'UNEXPECTED';
    const trouble = this.#troubles.get(code) ?? { sinceMs: this.clock.monotonicMs(), kinds: new Set(), isTold: false };
    this.#troubles.set(code, trouble);
    trouble.kinds.add(kind);
    const patienceMs = known?.kind === 'user' ? REFUSAL_PATIENCE_MS : 0;
    if (trouble.isTold || this.clock.monotonicMs() - trouble.sinceMs < patienceMs) {
      this.logger.debug({ code, kind, err: error }, 'a request to the API server failed');
      return;
    }
    trouble.isTold = true;
    this.logger.warn({ code, kinds: [...trouble.kinds].sort(), err: error }, ADVICE[code] ?? OTHERWISE);
  }

  /** Every watch is connected. */
  recovered(): void {
    const wasTold = [...this.#troubles.values()].some(({ isTold }) => isTold);
    this.#troubles.clear();
    if (wasTold) this.logger.info('the API server answers every watch again');
  }
}
