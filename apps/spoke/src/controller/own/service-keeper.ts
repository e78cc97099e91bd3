import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, Kube, KubeObject, KubeWatch } from '#ports';

/** What a {@link ServiceKeeper} needs. */
export interface ServiceKeeperParts {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mayWrite: () => boolean;
}

/** Whoever deletes a Service with the rest of an installation ends this process, too, before the time is over. */
const WAIT_MS = 3_000;
const RETRY_MS = 5_000;

/**
 * Puts Services of ours back that somebody deletes, with the ClusterIP that they had: agents know the controller, and
 * cluster DNS knows the DNS servers, by nothing else.
 */
export class ServiceKeeper {
  readonly #stop = new AbortController();
  readonly #seen = new Map<string, KubeObject>();
  readonly #gone = new Map<string, KubeObject>();
  #watch: KubeWatch | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly parts: ServiceKeeperParts,
    private readonly own: { readonly namespace: string; readonly names: readonly string[] },
  ) {}

  start(): void {
    const { namespace, names } = this.own;
    this.#watch = this.parts.kube.watch(KUBE_KINDS.service, { namespace }, {
      upsert: (object) => {
        if (!names.includes(object.metadata.name)) return;
        this.#gone.delete(object.metadata.name);
        // One that is on its way out is put back as it was.
        if (object.metadata.deletionTimestamp === undefined) this.#seen.set(object.metadata.name, object);
      },
      remove: ({ metadata: { name } }) => {
        const last = this.#seen.get(name);
        if (last === undefined) return;
        this.#gone.set(name, last);
        this.#running ??= this.#putBack().finally(() => (this.#running = undefined));
      },
      synced: () => undefined,
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#watch?.stop();
    await this.#running;
  }

  async #putBack(): Promise<void> {
    const { clock, logger, mayWrite } = this.parts;
    const { signal } = this.#stop;
    await clock.sleep(WAIT_MS, signal);
    while (!signal.aborted && this.#gone.size > 0) {
      for (const service of this.#gone.values()) {
        if (mayWrite()) await this.#create(service).catch((err: unknown) => logger.warn({ err, service: service.metadata.name }, 'could not put a Service of the spoke back yet'));
      }
      if (this.#gone.size > 0) await clock.sleep(RETRY_MS, signal);
    }
  }

  async #create({ metadata: { namespace, name, labels, annotations }, ...rest }: KubeObject): Promise<void> {
    const { kube, logger } = this.parts;
    const object = { apiVersion: rest.apiVersion, kind: rest.kind, metadata: { namespace, name, labels, annotations }, spec: rest['spec'] };
    try {
      await kube.create(KUBE_KINDS.service, object);
      logger.warn({ code: 'SERVICE_PUT_BACK', service: name }, 'a Service of the spoke was deleted; it was put back with its address');
    } catch (error) {
      if (!isFleetError(error) || !['KUBE_INVALID', 'KUBE_ALREADY_EXISTS'].includes(error.code)) throw error;
      if (error.code === 'KUBE_INVALID') await this.#createElsewhere(object);
    }
    this.#gone.delete(name);
  }

  // Its address belongs to another by now.
  async #createElsewhere(object: KubeObject): Promise<void> {
    const fields = Object.entries(object['spec'] as Readonly<Record<string, unknown>>).filter(([key]) => key !== 'clusterIP' && key !== 'clusterIPs');
    await this.parts.kube.create(KUBE_KINDS.service, { ...object, spec: Object.fromEntries(fields) });
    this.parts.logger.error({ code: 'SERVICE_MOVED', service: object.metadata.name }, 'a Service of the spoke was deleted and its address is taken; it was put back with another. Restart the node agents and DNS servers, and correct the stub zone in cluster DNS');
  }
}
