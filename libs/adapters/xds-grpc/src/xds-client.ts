import { readFile } from 'node:fs/promises';

import type { XdsTypeUrl } from '#contracts/envoy';
import type { XdsCluster, XdsSnapshot } from '#domain/xds-snapshot';
import type { Logger } from '#platform';
import type { Clock, Random } from '#ports';

import { ClientApplier } from './client-applier.js';
import { XDS_CLIENT_LIMITS, type XdsClientLimits } from './client-limits.js';
import { runClientSession } from './client-session.js';

/** How long to wait before the next try, from the first failure on; each delay is jittered by half. */
export interface XdsBackoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

const DEFAULT_BACKOFF: XdsBackoff = { firstMs: 200, maxMs: 5_000 };

/** How to start a client. */
export interface XdsClientOptions {
  /** `host:port` of the server. */
  readonly target: string;
  /** The server's CA as PEM, read anew for each connection, and the name in its certificate. Undefined speaks plaintext. */
  readonly tls: { readonly readCaPem: () => Promise<string>; readonly serverName: string } | undefined;
  /** Read anew for each connection; sent as `authorization: Bearer`. Undefined sends none. */
  readonly readToken: (() => Promise<string>) | undefined;
  readonly nodeId: string;
  /** CDS alone, or CDS and the EDS that it names. */
  readonly typeUrls: readonly XdsTypeUrl[];
  /** Whether a cluster's load assignment is asked for too, where EDS is; undefined asks for every one. */
  readonly wantsLoadAssignment?: (cluster: XdsCluster) => boolean;
  /**
   * Told whether what was applied last is all that the server says: true once that is so, false when it can no longer be
   * known. It is false at first.
   */
  readonly onCurrent?: (isCurrent: boolean) => void;
  /**
   * Gets every consistent set: all clusters and every load assignment that is asked for. Calls never
   * overlap; states that arrive meanwhile are merged. Fulfilment acknowledges, rejection refuses with the error's message
   * and tries the newest set again after a delay.
   */
  readonly onUpdate: (snapshot: XdsSnapshot) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly backoff?: XdsBackoff;
  readonly limits?: Partial<XdsClientLimits>;
  /** The program's version, for the server's logs. */
  readonly version?: string;
}

/** What a client is up to. */
export interface XdsClientStatus {
  /** Whether a server has answered on the present stream. */
  readonly isConnected: boolean;
  /** Whether a set was ever applied. Stays true when the server is lost: the last set stays in force. */
  readonly hasSynced: boolean;
  /** Why the last set could not be applied; undefined where it was. */
  readonly lastRejection: string | undefined;
  /** Since when there is no connection, in epoch ms; undefined while there is one. */
  readonly disconnectedSinceMs: number | undefined;
  /** Connections that came to nothing or ended, whoever ended them. */
  readonly lostCount: number;
}

/** A running xDS client. */
export interface XdsClient {
  status(): XdsClientStatus;
  /** Ends the stream and waits for a running `onUpdate`. */
  close(): Promise<void>;
}

/** Starts a client that follows a server for ever: it reconnects with capped backoff and resumes with what it has. */
export function startXdsClient(options: XdsClientOptions): XdsClient {
  const stopped = new AbortController();
  const delays = options.backoff ?? DEFAULT_BACKOFF;
  const delayMs = (failures: number): number => Math.min(delays.maxMs, delays.firstMs * 2 ** Math.min(failures, 16)) * (0.5 + options.random.next() / 2);
  const applier = new ClientApplier({ onUpdate: options.onUpdate, clock: options.clock, signal: stopped.signal, delayMs });
  const connection: Connection = { isConnected: false, disconnectedSinceMs: options.clock.nowMs(), lostCount: 0 };
  const limits = { ...XDS_CLIENT_LIMITS, ...options.limits };
  const running = follow({ options, applier, connection, limits, stopped: stopped.signal, delayMs, steadyMs: delays.maxMs });
  return {
    status: () => ({ isConnected: connection.isConnected, disconnectedSinceMs: connection.disconnectedSinceMs, lostCount: connection.lostCount, hasSynced: applier.hasApplied, lastRejection: applier.lastRejection }),
    close: async () => {
      stopped.abort();
      await running;
      await applier.settled();
    },
  };
}

/** A `readToken` or `readCaPem` that reads a file each time: kubelets rotate both. */
export const readTextFile = (file: string): (() => Promise<string>) => async () => (await readFile(file, 'utf8')).trim();

interface Connection {
  isConnected: boolean;
  disconnectedSinceMs: number | undefined;
  lostCount: number;
}

interface Following {
  readonly options: XdsClientOptions;
  readonly applier: ClientApplier;
  readonly connection: Connection;
  readonly limits: XdsClientLimits;
  readonly stopped: AbortSignal;
  readonly delayMs: (failures: number) => number;
  /** A connection that held for so long was no failure. */
  readonly steadyMs: number;
}

async function follow({ options, applier, connection, limits, stopped, delayMs, steadyMs }: Following): Promise<void> {
  for (let failures = 0; !stopped.aborted; failures += 1) {
    let connectedAtMs: number | undefined;
    const onConnected = (): void => {
      connectedAtMs = options.clock.monotonicMs();
      connection.isConnected = true;
      connection.disconnectedSinceMs = undefined;
      options.logger.info({ target: options.target }, 'following the xds server');
    };
    const reason = await runClientSession({ ...options, applier, limits, stopped, onConnected });
    // Whoever answers and hangs up at once, again and again, is asked ever more rarely too.
    if (connectedAtMs !== undefined && options.clock.monotonicMs() - connectedAtMs >= steadyMs) failures = 0;
    connection.isConnected = false;
    options.onCurrent?.(false);
    connection.disconnectedSinceMs ??= options.clock.nowMs();
    if (stopped.aborted) return;
    connection.lostCount += 1;
    options.logger.warn({ target: options.target, reason, failures }, 'lost the xds server; what it last said stays in force');
    await options.clock.sleep(delayMs(failures), stopped);
  }
}
