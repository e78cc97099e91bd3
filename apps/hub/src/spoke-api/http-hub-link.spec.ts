import { createHash, randomBytes } from 'node:crypto';

import { Registry } from 'prom-client';

import { HttpHubLink } from '#adapters/hub-link';
import { encodeJoinToken } from '#contracts/spoke-api';
import { clusterId, memberBackendDigest, reportDigest } from '#domain/fleet';
import { planBackend, planFleet, planPaths } from '#domain/sameness';
import { createLogger, SystemClock } from '#platform';
import { aPart, aPolicy, FakeFleetStore } from '#testing';

import { describeHubLink, type HubUnderTest } from '../../../../libs/testing/src/hub-link.conformance.js';
import { FleetViewFollower } from '../fleet-view/fleet-view-follower.js';
import { type SpokeApi, startSpokeApi } from './start-spoke-api.js';

const EAST = clusterId('east-1');
const clock = new SystemClock();

/** What one hub process is made of. */
interface Running {
  readonly store: FakeFleetStore;
  readonly follower: FleetViewFollower;
  readonly api: SpokeApi;
}

/** A real hub on loopback over a store in memory; member east-1 offers what the spec says. */
class RealHub implements HubUnderTest {
  #running: Running;
  readonly link = new HttpHubLink({ clock, version: '0.1.0' });
  private constructor(running: Running) {
    this.#running = running;
  }

  static async start(): Promise<RealHub> {
    return new RealHub(await startOverNothing(0));
  }

  async startAnew(): Promise<void> {
    const { port } = this.#running.api;
    await this.#stop();
    this.#running = await startOverNothing(port);
  }

  async makeToken(name: string): Promise<string> {
    const id = clusterId(name);
    if ((await this.#running.store.membership.find(id)) === undefined) await register(this.#running.store, id);
    const secret = randomBytes(32).toString('base64url');
    await this.#running.store.enrolment.createJoinToken({ clusterId: id, tokenHash: createHash('sha256').update(secret).digest('hex'), expiresAtMs: Date.now() + 60_000, replace: false }, 'ada');
    return encodeJoinToken({ hubUrl: this.#running.api.url, caFingerprint: this.#running.api.caFingerprint, clusterId: id, secret });
  }

  async offer(endpoints: number): Promise<void> {
    const { backend } = aPart(EAST, 1, endpoints);
    await this.#report([backend]);
  }

  async withdraw(): Promise<void> {
    await this.#report([]);
  }

  async #report(backends: ReturnType<typeof aPart>['backend'][]): Promise<void> {
    const digest = reportDigest(new Map(backends.map((part) => [part.name, memberBackendDigest(part)])));
    await this.#running.store.reports.accept({ clusterId: EAST, full: true, changed: backends, removed: [], digest, applied: undefined, spokeVersion: '', clockSkewMs: 0 });
    await this.#running.follower.catchUp();
  }

  async forgetMembers(): Promise<void> {
    for (const { cluster } of await this.#running.store.membership.list()) await this.#running.store.membership.remove(cluster.id, { by: 'test', fence: undefined });
  }

  async #stop(): Promise<void> {
    await this.#running.api.close();
    await this.#running.follower.close();
  }

  async close(): Promise<void> {
    this.link.close();
    await this.#stop();
  }
}

async function startOverNothing(port: number): Promise<Running> {
  const store = new FakeFleetStore(clock);
  const logger = createLogger({ app: 'hub', level: 'silent' });
  const follower = await FleetViewFollower.start({ changeLog: store.changeLog, clock, logger });
  const api = await startSpokeApi({ store, follower, planner: { planFleet, planBackend, planPaths }, clock, logger, registry: new Registry(), host: '127.0.0.1', port, certificateHosts: [] });
  await store.policies.save(aPolicy(), 'ada');
  await register(store, EAST);
  return { store, follower, api };
}

async function register(store: FakeFleetStore, id: ReturnType<typeof clusterId>): Promise<void> {
  await store.membership.register({ id, labels: {}, region: '', zone: '', network: 'flat', credential: undefined }, 'ada');
}

describeHubLink('HttpHubLink with the spoke API over TLS', {
  open: async () => {
    const hub = await RealHub.start();
    return { hub, link: hub.link };
  },
});
