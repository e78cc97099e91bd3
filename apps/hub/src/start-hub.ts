import type { AddressInfo } from 'node:net';

import { planBackend, planFleet, planPaths } from '#domain/sameness';
import { createLogger, createRegistry, SystemClock, type Logger, type RunningProcess, type Secret } from '#platform';
import type { Clock } from '#ports';

import { openAccessTokens } from './auth/access-tokens.js';
import { FleetViewFollower } from './fleet-view/fleet-view-follower.js';
import { pruneChangeLog } from './fleet-view/prune-change-log.js';
import type { HubConfig } from './hub-config.js';
import { openStore } from './open-store.js';
import { createPeopleApp } from './people-app.js';
import { startSpokeApi } from './spoke-api/start-spoke-api.js';

/** A running hub. */
export interface RunningHub extends RunningProcess {
  readonly urls: {
    /** GraphQL, health and metrics, as this machine reaches them. */
    readonly people: string;
    /** The spoke API, as members reach it. */
    readonly machines: string;
  };
}

/** What a caller of {@link startHub} may want to know. */
export interface HubListeners {
  /** Called at once with the admin token that this start made: show it, it is kept nowhere. Default prints it. */
  readonly onFirstAdminToken?: (token: Secret) => void;
}

/** Starts a hub: store, view, spoke API, people listener, in this order; stop() ends them in reverse. Never waits for a member. */
export async function startHub(config: HubConfig, { onFirstAdminToken = printAdminToken }: HubListeners = {}): Promise<RunningHub> {
  const clock = new SystemClock();
  const logger = createLogger({ app: 'hub', level: config.logLevel });
  const started: (() => Promise<void>)[] = [];
  try {
    return await startParts({ config, clock, logger, started, onFirstAdminToken });
  } catch (error) {
    await stopInReverse(started);
    throw error;
  }
}

interface HubParts extends Required<HubListeners> {
  readonly config: HubConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What to stop; grows as parts start. */
  readonly started: (() => Promise<void>)[];
}

async function startParts({ config, clock, logger, started, onFirstAdminToken }: HubParts): Promise<RunningHub> {
  const registry = createRegistry('hub');
  const store = await openStore(config, clock, logger);
  started.push(() => store.close());
  const { tokens, firstAdminToken } = await openAccessTokens(store.hubState, { admin: config.adminToken, viewer: config.viewerToken });
  // Before anything else can fail: nobody could learn it later.
  if (firstAdminToken !== undefined) onFirstAdminToken(firstAdminToken);
  const views = await FleetViewFollower.start({ changeLog: store.changeLog, clock, logger });
  started.push(() => views.close());
  const pruning = pruneChangeLog({ changeLog: store.changeLog, clock, logger });
  started.push(() => pruning.stop());
  const { host: machineHost, port: machinePort } = config.machines;
  const spokeApi = await startSpokeApi({ store, follower: views, planner: { planFleet, planBackend, planPaths }, clock, logger, registry, host: machineHost, port: machinePort, certificateHosts: [hostOf(config.publicUrl)], settings: { connectionsPerSourceMax: config.machineConnectionsPerSourceMax } });
  started.push(() => spokeApi.close());
  const settings = { publicUrl: config.publicUrl, allowLocalClusters: config.allowLocalClusters, graphiql: config.graphiql };
  const people = await createPeopleApp({ core: { store, views, clock, settings }, tokens, logger, registry, readiness: { view: () => views.trouble() } });
  started.push(() => people.close());
  await people.listen(config.people.port, config.people.host);
  const { port } = people.getHttpServer().address() as AddressInfo;
  const urls = { people: `http://${reachableHost(config.people.host)}:${port}`, machines: config.publicUrl };
  logger.info({ urls }, 'hub started');
  return { urls, stop: () => stopInReverse(started) };
}

async function stopInReverse(started: (() => Promise<void>)[]): Promise<void> {
  for (let stop = started.pop(); stop !== undefined; stop = started.pop()) await stop();
}

function printAdminToken(token: Secret): void {
  process.stderr.write(`\nAdmin token of this fleet, shown this once (SPILLWAY_TOKEN for the CLI):\n\n  ${token.reveal()}\n\n`);
}

// A URL writes an IPv6 address in brackets, a certificate does not.
const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');

function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
