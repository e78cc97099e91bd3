import type { Registry } from 'prom-client';

import { startXdsServer, type AckStatus, type XdsAuthentication, type XdsCaller, type XdsServer, type XdsStreamInfo } from '#adapters/xds-grpc';
import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { XdsSnapshot } from '#domain/xds-snapshot';
import type { Logger } from '#platform';
import type { Clock, Kube, Random } from '#ports';

import { Backoff } from '../backoff.js';
import type { PlanAcknowledgements, PlanServer } from './plan-server.js';
import type { TokenReviewer } from './token-reviewer.js';
import { ensureXdsTls, type XdsTls } from './xds-tls.js';

/** The ServiceAccount of node agents, which may read the whole plan. */
export const NODE_ACCOUNT = 'spillway-spoke-node';
/** The ServiceAccount of DNS servers, which may too. */
export const DNS_ACCOUNT = 'spillway-spoke-dns';

/** What an {@link XdsListener} needs. */
export interface XdsListenerParts {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly reviewer: TokenReviewer;
  readonly options: XdsListenerOptions;
}

/** Where an {@link XdsListener} listens, and under which names. */
export interface XdsListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly namespace: string;
  readonly serviceName: string;
  readonly tlsSecretName: string;
  readonly caConfigMapName: string;
  /** How often names and the life of the certificate are looked at. */
  readonly checkMs: number;
}

/** Serves snapshots over TLS to callers that the API server vouches for, and listens anew when its certificate is replaced. */
export class XdsListener implements PlanServer {
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(nodeId: string) => void>();
  #running: Promise<void> | undefined;
  #server: XdsServer | undefined;
  #snapshot: XdsSnapshot | undefined;
  #trouble = 'the listener has not started yet';

  constructor(private readonly parts: XdsListenerParts) {}

  readonly acknowledgements: PlanAcknowledgements = {
    streams: (): readonly XdsStreamInfo[] => this.#server?.acknowledgements.streams() ?? [],
    status: (nodeId, typeUrl, name): AckStatus => this.#server?.acknowledgements.status(nodeId, typeUrl, name) ?? { kind: 'unknown' },
    onChange: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  /** Begins to listen as soon as there is a certificate; returns at once. */
  start(): void {
    this.#running ??= this.#run();
  }

  setSnapshot(snapshot: XdsSnapshot): void {
    this.#snapshot = snapshot;
    this.#server?.setSnapshot(snapshot);
  }

  /** The port that is listened on; undefined before it is. */
  get port(): number | undefined {
    return this.#server?.port;
  }

  /** Why nobody can connect, or undefined. */
  notReady(): string | undefined {
    return this.#server === undefined ? this.#trouble : undefined;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#server?.close();
    this.#server = undefined;
  }

  async #run(): Promise<void> {
    const { clock, random, logger, options } = this.parts;
    const backoff = new Backoff(random);
    let current: XdsTls | undefined;
    while (!this.#stop.signal.aborted) {
      let waitMs = options.checkMs;
      try {
        const tls = await this.#ensureTls(current);
        if (tls.certificatePem !== current?.certificatePem) await this.#listen(tls);
        current = tls;
        backoff.reset();
      } catch (err) {
        this.#trouble = err instanceof Error ? err.message : String(err);
        logger.warn({ err }, 'could not make sure of the xds listener');
        waitMs = backoff.nextMs();
      }
      await clock.sleep(waitMs, this.#stop.signal);
    }
  }

  async #ensureTls(known: XdsTls | undefined): Promise<XdsTls> {
    const { kube, clock, logger, options } = this.parts;
    const { namespace, serviceName } = options;
    const names = [serviceName, `${serviceName}.${namespace}`, `${serviceName}.${namespace}.svc`, ...(await this.#clusterIps())];
    const onFlaw = (flaw: string): void => logger.warn({ code: 'XDS_TLS_BROKEN', secret: options.tlsSecretName, flaw, isPutBack: known !== undefined }, 'the key material of the xds listener is not whole; it is put back or made anew');
    return ensureXdsTls(kube, clock, { namespace, secretName: options.tlsSecretName, caConfigMapName: options.caConfigMapName, names, known, onFlaw });
  }

  // Clients dial the ClusterIP that the kubelet put into their environment: no cluster DNS is needed to reach us.
  async #clusterIps(): Promise<readonly string[]> {
    const { namespace, serviceName: name } = this.parts.options;
    const spec = (await this.parts.kube.find(KUBE_KINDS.service, { namespace, name }))?.['spec'] as { readonly clusterIP?: unknown; readonly clusterIPs?: unknown } | undefined;
    const ips: readonly unknown[] = Array.isArray(spec?.clusterIPs) ? spec.clusterIPs : [spec?.clusterIP];
    return ips.filter((ip): ip is string => typeof ip === 'string' && ip !== '' && ip !== 'None');
  }

  async #listen(tls: XdsTls): Promise<void> {
    const { clock, logger, registry, options } = this.parts;
    const before = this.#server;
    this.#server = undefined;
    await before?.close();
    for (const { name } of await registry.getMetricsAsJSON()) if (name.startsWith('spillway_xds_')) registry.removeSingleMetric(name);
    const server = await startXdsServer({
      host: options.host,
      port: before?.port ?? options.port,
      tls: { certPem: tls.certificatePem, keyPem: tls.privateKeyPem },
      authenticate: (caller) => this.#authenticate(caller),
      clock,
      logger,
      registry,
    });
    this.#server = server;
    server.acknowledgements.onChange((nodeId) => {
      for (const listener of this.#listeners) listener(nodeId);
    });
    if (this.#snapshot !== undefined) server.setSnapshot(this.#snapshot);
    logger.info({ port: server.port, renewAt: new Date(tls.renewAtMs).toISOString() }, 'xds listener is open');
  }

  async #authenticate({ authorization, peer }: XdsCaller): Promise<XdsAuthentication> {
    const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return { ok: false, message: 'Send a ServiceAccount token of the audience spillway-xds as Authorization: Bearer.' };
    try {
      const { serviceAccount, nodeName, podName } = await this.parts.reviewer.review(token, peer.slice(0, peer.lastIndexOf(':')));
      // A node agent speaks for the node that its pod is bound to, and nobody else does: its word makes Gateways Programmed.
      const nodeId = serviceAccount === NODE_ACCOUNT ? nodeName : podName;
      if (nodeId === undefined) return { ok: false, message: `This token of ${serviceAccount} is bound to no pod, so it speaks for nobody; send the one that the kubelet projects into the pod.` };
      return { ok: true, identity: serviceAccount, nodeId };
    } catch (error) {
      if (isFleetError(error) && error.kind === 'user') return { ok: false, message: error.message };
      throw error;
    }
  }
}
