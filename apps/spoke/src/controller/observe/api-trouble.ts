import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';

/** What an operator does about a refusal; whatever else fails comes back by itself. */
const ADVICE: Readonly<Record<string, string>> = {
  KUBE_FORBIDDEN: 'the API server refuses what the controller needs; what it saw last stays in force. Put the ClusterRole and the Role spillway-spoke-controller and their bindings back',
  KUBE_UNAUTHORIZED: 'the API server does not accept this pod\'s token; what the controller saw last stays in force. If the ServiceAccount was made anew, delete this pod',
};
const OTHERWISE = 'the API server fails the controller, which tries again; what it saw last stays in force';

/** Says once what is wrong between controller and API server, however many watches suffer from it, and once that it is over. */
export class ApiTrouble {
  readonly #told = new Set<string>();

  constructor(private readonly logger: Logger) {}

  /** A request about a kind failed. */
  failed(kind: string, error: unknown): void {
    const known = isFleetError(error) ? error : undefined;
    const code = known?.code ?? 'UNEXPECTED';
    // An absent server fails everything alike; a refusal is about one kind.
    const key = known?.kind === 'transient' ? code : `${code} ${kind}`;
    if (this.#told.has(key)) {
      this.logger.debug({ kind, err: error }, 'a request to the API server failed again');
      return;
    }
    this.#told.add(key);
    this.logger.warn({ code, kind, err: error }, ADVICE[code] ?? OTHERWISE);
  }

  /** Every watch is connected. */
  recovered(): void {
    if (this.#told.size === 0) return;
    this.#told.clear();
    this.logger.info('the API server answers every watch again');
  }
}
