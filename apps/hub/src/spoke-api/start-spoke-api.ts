import type { Registry } from 'prom-client';

import { certificateFingerprint, issueHubServing, loadHubAuthority, SERVING_LIFE_MS } from '#adapters/certificates';
import { PeerDoor, type Logger } from '#platform';
import type { Clock, FleetStore, HubAuthority } from '#ports';

import type { FleetViewFollower } from '../fleet-view/fleet-view-follower.js';
import { authenticateCaller } from './authenticate-caller.js';
import type { EnrolServiceParts } from './enrol-service.js';
import { type ListenerLimits, MachineListener } from './machine-listener.js';
import type { FleetPlanner } from './plan-sync.js';
import { ReplayCache } from './replay-cache.js';
import { createSpokeApiMetrics } from './spoke-api-metrics.js';
import { type Admission, createSpokeHandlers } from './spoke-router.js';
import { SyncService } from './sync-service.js';

/** Limits of the spoke API that a hub may set. */
export interface SpokeApiSettings extends ListenerLimits {
  /** Sync calls that may wait at once, in all and of one cluster. */
  readonly longPollsMax: number;
  readonly longPollsPerClusterMax: number;
  /** Connections at once, in all, of one source address, and of one source address before a call was admitted. */
  readonly connectionsMax: number;
  readonly connectionsPerSourceMax: number;
  readonly strangersPerSourceMax: number;
  /** Token ids remembered against replay. */
  readonly replayEntriesMax: number;
  /** Interval at which spokes are asked to report when nothing changes. */
  readonly heartbeatIntervalMs: number;
  /** How long a spoke's older key stays valid beside a new one. */
  readonly keyOverlapMs: number;
  /** How long running calls may take once the hub stops. */
  readonly stopGraceMs: number;
}

/** The settings of a hub that sets none. */
const DEFAULT_SPOKE_API_SETTINGS: SpokeApiSettings = {
  bodyTimeoutMs: 15_000,
  headerBytesMax: 16 * 1024,
  headersTimeoutMs: 10_000,
  idleTimeoutMs: 5 * 60_000,
  streamsPerConnectionMax: 100,
  connectionsMax: 10_000,
  connectionsPerSourceMax: 2_500,
  strangersPerSourceMax: 128,
  longPollsMax: 5_000,
  longPollsPerClusterMax: 8,
  replayEntriesMax: 500_000,
  heartbeatIntervalMs: 5_000,
  keyOverlapMs: 10 * 60_000,
  stopGraceMs: 3_000,
};

/** What the spoke API is made of. */
export interface SpokeApiOptions {
  readonly store: FleetStore;
  readonly follower: FleetViewFollower;
  readonly planner: FleetPlanner;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly host: string;
  /** 0 lets the kernel choose. */
  readonly port: number;
  /** Names and addresses that the serving certificate is for; localhost is always among them. */
  readonly certificateHosts: readonly string[];
  readonly settings?: Partial<SpokeApiSettings>;
}

/** The running machine listener. */
export interface SpokeApi {
  readonly port: number;
  /** By loopback; members use the configured public URL. */
  readonly url: string;
  /** PEM of the hub's authority. */
  readonly caBundlePem: string;
  /** SHA-256 of the authority's DER, hex: what join tokens pin. */
  readonly caFingerprint: string;
  close(): Promise<void>;
}

/** Starts the machine listener: Enrol, Report, Sync and RotateKey over TLS. */
export async function startSpokeApi(options: SpokeApiOptions): Promise<SpokeApi> {
  const settings: SpokeApiSettings = { ...DEFAULT_SPOKE_API_SETTINGS, ...options.settings };
  const { store, follower, planner, clock, logger } = options;
  const authority = await loadHubAuthority(store.hubState, clock);
  const caFingerprint = certificateFingerprint(authority.certificatePem);
  const caBundlePem = authority.certificatePem;
  const stop = new AbortController();
  const replays = new ReplayCache(settings.replayEntriesMax);
  const sync = new SyncService({ follower, changeLog: store.changeLog, planner, clock, logger, caBundlePem, longPollsMax: settings.longPollsMax, longPollsPerClusterMax: settings.longPollsPerClusterMax });
  const enrolment: EnrolServiceParts = { enrolment: store.enrolment, audience: audienceOf(caFingerprint), caBundlePem, caFingerprint, keyOverlapMs: settings.keyOverlapMs };
  const handlers = createSpokeHandlers({ enrolment, reports: { reports: store.reports, clock, heartbeatIntervalMs: settings.heartbeatIntervalMs }, sync, logger, shutdownSignal: stop.signal });
  const admit = async (path: string, authorization: string | undefined, body: Uint8Array): Promise<Admission> =>
    path.endsWith('/Enrol') ? { kind: 'anonymous' } : { kind: 'caller', key: await authenticateCaller(authorization, body, { enrolment: store.enrolment, clock, audience: enrolment.audience, replays }) };
  const metrics = createSpokeApiMetrics(options.registry, { longPolls: () => sync.waitingCount, lostHistory: () => sync.lostHistoryCount, replayEntries: () => replays.size, viewSequence: () => follower.fold.sequence });
  const certificates = { authority, hosts: [...new Set([...options.certificateHosts, 'localhost', '127.0.0.1'])] };
  const certificate = await issueHubServing(authority, certificates.hosts, clock.nowMs());
  const door = new PeerDoor({ ...settings, strangerMs: settings.headersTimeoutMs + settings.bodyTimeoutMs });
  door.register(options.registry, 'spillway_hub_machine');
  const listener = new MachineListener({ handlers, admit, certificate, clock, logger, metrics, limits: settings, door });
  const port = await listener.listen(options.host, options.port);
  const renewal = renewForEver(listener, certificates, { clock, logger, signal: stop.signal });
  logger.info({ port, caFingerprint }, 'serving the spoke API');
  const close = async (): Promise<void> => {
    const closed = listener.close(settings.stopGraceMs);
    stop.abort();
    await closed;
    await renewal;
  };
  return { port, url: `https://127.0.0.1:${port}`, caBundlePem, caFingerprint, close };
}

/** The audience of spokes' tokens: a hub that shares this authority, and no other. */
const audienceOf = (caFingerprint: string): string => `spillway-hub-${caFingerprint.slice(0, 32)}`;

const RENEWAL_RETRY_MS = 60_000;

async function renewForEver(listener: MachineListener, { authority, hosts }: { readonly authority: HubAuthority; readonly hosts: readonly string[] }, run: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal }): Promise<void> {
  let waitMs = (SERVING_LIFE_MS * 2) / 3;
  for (;;) {
    await sleepLong(run.clock, waitMs, run.signal);
    if (run.signal.aborted) return;
    try {
      listener.replaceCertificate(await issueHubServing(authority, hosts, run.clock.nowMs()));
      waitMs = (SERVING_LIFE_MS * 2) / 3;
    } catch (error) {
      run.logger.error({ err: error }, 'could not renew the serving certificate');
      waitMs = RENEWAL_RETRY_MS;
    }
  }
}

// Timers hold at most 2^31 - 1 ms, less than a certificate's life.
const TIMER_MS_MAX = 24 * 60 * 60 * 1_000;

async function sleepLong(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  for (let leftMs = ms; leftMs > 0 && !signal.aborted; leftMs -= TIMER_MS_MAX) await clock.sleep(Math.min(leftMs, TIMER_MS_MAX), signal);
}
