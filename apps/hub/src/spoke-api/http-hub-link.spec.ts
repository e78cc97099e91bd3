import { createHash, randomBytes } from 'node:crypto';

import { Registry } from 'prom-client';

import { HttpHubLink } from '#adapters/hub-link';
import { encodeJoinToken } from '#contracts/spoke-api';
import { clusterId, memberBackendDigest, reportDigest } from '#domain/fleet';
import { planBackend, planFleet } from '#domain/sameness';
import { createLogger, SystemClock } from '#platform';
import { aPart, aPolicy, FakeFleetStore } from '#testing';

import { describeHubLink, type HubUnderTest } from '../../../../libs/testing/src/hub-link.conformance.js';
import { FleetViewFollower } from '../fleet-view/fleet-view-follower.js';
import { type SpokeApi, startSpokeApi } from './start-spoke-api.js';

const EAST = clusterId('east-1');

/** A real hub on loopback over a store in memory; member east-1 offers what the spec says. */
class RealHub implements HubUnderTest {
  readonly #store: FakeFleetStore;
  readonly #follower: FleetViewFollower;
  readonly #api: SpokeApi;
  readonly link: HttpHubLink;
  private constructor(parts: { readonly store: FakeFleetStore; readonly follower: FleetViewFollower; readonly api: SpokeApi; readonly clock: SystemClock }) {
    this.#store = parts.store;
    this.#follower = parts.follower;
    this.#api = parts.api;
    this.link = new HttpHubLink({ clock: parts.clock, version: '0.1.0' });
  }

  static async start(): Promise<RealHub> {
    const clock = new SystemClock();
    const store = new FakeFleetStore(clock);
    const logger = createLogger({ app: 'hub', level: 'silent' });
    const follower = await FleetViewFollower.start({ changeLog: store.changeLog, clock, logger });
    const api = await startSpokeApi({ store, follower, planner: { planFleet, planBackend }, clock, logger, registry: new Registry(), host: '127.0.0.1', port: 0, certificateHosts: [] });
    await store.policies.save(aPolicy(), 'ada');
    const hub = new RealHub({ store, follower, api, clock });
    await hub.#register(EAST);
    return hub;
  }

  async #register(id: ReturnType<typeof clusterId>): Promise<void> {
    await this.#store.membership.register({ id, labels: {}, region: '', zone: '', network: 'flat', credential: undefined }, 'ada');
  }

  async makeToken(name: string): Promise<string> {
    const id = clusterId(name);
    if ((await this.#store.membership.find(id)) === undefined) await this.#register(id);
    const secret = randomBytes(32).toString('base64url');
    await this.#store.enrolment.createJoinToken({ clusterId: id, tokenHash: createHash('sha256').update(secret).digest('hex'), expiresAtMs: Date.now() + 60_000, replace: false }, 'ada');
    return encodeJoinToken({ hubUrl: this.#api.url, caFingerprint: this.#api.caFingerprint, clusterId: id, secret });
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
    await this.#store.reports.accept({ clusterId: EAST, full: true, changed: backends, removed: [], digest, applied: undefined, spokeVersion: '', clockSkewMs: 0 });
    await this.#follower.catchUp();
  }

  async forgetMembers(): Promise<void> {
    for (const { cluster } of await this.#store.membership.list()) await this.#store.membership.remove(cluster.id, { by: 'test', fence: undefined });
  }

  async close(): Promise<void> {
    this.link.close();
    await this.#api.close();
    await this.#follower.close();
  }
}

describeHubLink('HttpHubLink with the spoke API over TLS', {
  open: async () => {
    const hub = await RealHub.start();
    return { hub, link: hub.link };
  },
});
