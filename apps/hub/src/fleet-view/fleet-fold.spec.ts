import { describe, expect, it } from '@jest/globals';

import { importedBackendVersion, memberPathsVersion } from '#contracts/spoke-api';
import { backendName, type BackendName, clusterId, type ClusterId, type FleetView, type MemberBackend, memberBackendDigest, type MemberReach, reachDigest, type ReachReport, reportDigest, type SamenessPolicy } from '#domain/fleet';
import { planBackend, planPaths } from '#domain/sameness';
import { aPolicy, aReach, clustersNamed, FakeClock, FakeFleetStore, FakeRandom, readyEndpoints } from '#testing';

import { FleetFold } from './fleet-fold.js';

const CLUSTERS = ['a', 'b', 'c', 'd'].map(clusterId);
const NAMES = ['ai/model', 'ai/embed', 'ml-1/train', 'ml-2/eval'].map((name) => name as BackendName);
const NAMESPACES = ['ai', 'ml-*', 'ml-1', '*'];

/** A store under random but lawful use. */
class RandomFleet {
  readonly store = new FakeFleetStore(new FakeClock());
  readonly #random: FakeRandom;
  readonly #parts = new Map<ClusterId, Map<BackendName, MemberBackend>>();
  constructor(seed: number) {
    this.#random = new FakeRandom(seed);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random.next() * from.length)]!;
  }

  async step(): Promise<void> {
    const id = this.#pick(CLUSTERS);
    const steps = [() => this.#join(id), () => this.#report(id), () => this.#report(id), () => this.#judge(id), () => this.#policy(), () => this.#freeze(), () => this.#move(id), () => this.#reach(id), () => this.#remove(id)];
    await this.#pick(steps)();
  }

  async #join(id: ClusterId): Promise<void> {
    if ((await this.store.membership.find(id)) !== undefined) return;
    await this.store.membership.register({ id, labels: {}, region: 'r', zone: 'z', network: 'flat', credential: undefined }, 'test');
    this.#parts.delete(id);
  }

  async #report(id: ClusterId): Promise<void> {
    const row = await this.store.membership.find(id);
    if (row === undefined) return;
    const parts = new Map(this.#parts.get(id));
    const name = this.#pick(NAMES);
    if (parts.has(name) && this.#random.next() < 0.4) parts.delete(name);
    else parts.set(name, this.#backend(name));
    const backends = [...parts.values()];
    const digest = reportDigest(new Map(backends.map((backend) => [backend.name, memberBackendDigest(backend)])));
    await this.store.reports.accept({ clusterId: id, full: true, changed: backends, removed: [], digest, applied: undefined, spokeVersion: '', clockSkewMs: 0, ...(row.reach === undefined ? {} : { reach: reachReport(row.reach) }) });
    this.#parts.set(id, parts);
  }

  async #reach(id: ClusterId): Promise<void> {
    if ((await this.store.membership.find(id)) === undefined) return;
    const reach = aReach({ gateways: this.#pick([[], [`198.51.100.${id.charCodeAt(0)}`]]), egress: [this.#pick(['192.0.2.1', '192.0.2.2'])] });
    const digest = reportDigest(new Map([...(this.#parts.get(id) ?? [])].map(([name, backend]) => [name, memberBackendDigest(backend)])));
    await this.store.reports.accept({ clusterId: id, full: false, changed: [], removed: [], digest, applied: undefined, spokeVersion: '', clockSkewMs: 0, reach: reachReport(reach) });
  }

  #backend(name: BackendName): MemberBackend {
    const endpoints = readyEndpoints(1 + Math.floor(this.#random.next() * 3));
    return { name, trafficClass: 'endpoints', sessionAffinity: this.#pick(['None', 'ClientIP']), ports: [{ port: 80, protocol: 'TCP' }], endpoints, capacity: { unit: 'Requests', perEndpoint: 1 } };
  }

  async #judge(id: ClusterId): Promise<void> {
    const row = await this.store.membership.find(id);
    await this.store.reports.judge([{ clusterId: id, freshness: 'stale', lastReportAtMs: row?.spoke?.lastReportAtMs }], undefined);
  }

  async #policy(): Promise<void> {
    const name = this.#pick(['p1', 'p2']);
    if (this.#random.next() < 0.3 && (await this.store.policies.find(name)) !== undefined) return this.store.policies.remove(name, 'test');
    const over: Partial<SamenessPolicy> = { name, namespaces: [this.#pick(NAMESPACES)], mayImport: this.#random.next() < 0.5 ? { all: true, names: [], matchLabels: {} } : clustersNamed(this.#pick(CLUSTERS)) };
    return this.store.policies.save(aPolicy(over), 'test');
  }

  async #freeze(): Promise<void> {
    if (this.#random.next() < 0.5) return this.store.policies.resume('test');
    await this.store.policies.freeze({ reason: 'r', capacities: new Map([[this.#pick(NAMES), new Map([[this.#pick(CLUSTERS), 1]])]]) }, 'test');
  }

  async #move(id: ClusterId): Promise<void> {
    if ((await this.store.membership.find(id)) === undefined) return;
    await this.store.membership.update(id, { network: this.#pick(['flat', 'far']), zone: this.#pick(['z1', 'z2']) }, 'test');
  }

  async #remove(id: ClusterId): Promise<void> {
    if (this.#random.next() < 0.5) return;
    this.#parts.delete(id);
    await this.store.membership.remove(id, { by: 'test', fence: undefined });
  }
}

const reachReport = (reach: MemberReach): ReachReport => ({ digest: reachDigest(reach), changed: reach, gatewayPorts: [] });

const plain = (view: FleetView): unknown => ({ members: new Map(view.members), parts: new Map(view.parts), policies: view.policies, freeze: view.freeze });

/** Version of every backend as every cluster sees it. */
const versionsOf = (view: FleetView): ReadonlyMap<ClusterId, ReadonlyMap<BackendName, string | undefined>> =>
  new Map(
    CLUSTERS.map((id) => [
      id,
      new Map(
        NAMES.map((name) => {
          const planned = planBackend(view, id, name);
          return [name, planned === undefined ? undefined : importedBackendVersion(planned)];
        }),
      ),
    ]),
  );

/** Version of the paths of every cluster. */
const pathsOf = (view: FleetView): ReadonlyMap<ClusterId, string> => new Map(CLUSTERS.map((id) => [id, memberPathsVersion(planPaths(view, id))]));

/** Backends that differ and are not among what a fold says was touched. */
function missedBy(fold: FleetFold, since: bigint, id: ClusterId, different: readonly BackendName[]): readonly BackendName[] {
  const touched = fold.touchedSince(since, id);
  return touched === 'all' ? [] : different.filter((name) => touched?.has(name) !== true);
}

const SEEDS = Array.from({ length: 30 }, (_, index) => ({ seed: 1_000 + index * 7_919 }));

describe('FleetFold', () => {
  it.each(SEEDS)('folding batches gives the view that a fresh load gives (seed $seed)', async ({ seed }) => {
    const fleet = new RandomFleet(seed);
    const fold = new FleetFold(await fleet.store.changeLog.loadView());
    for (let step = 0; step < 120; step += 1) {
      await fleet.step();
      // Sometimes several changes come in one batch.
      if (step % 3 === 1) continue;
      fold.apply((await fleet.store.changeLog.changesSince(fold.epoch, fold.sequence))!);
      const fresh = await fleet.store.changeLog.loadView();
      expect(plain(fold.view)).toEqual(plain(fresh.view));
      expect(fold.sequence).toBe(fresh.sequence);
    }
  });

  it.each(SEEDS)('what a consumer sees differently is among what was touched, also for a replica that just started (seed $seed)', async ({ seed }) => {
    const fleet = new RandomFleet(seed);
    const followed = new FleetFold(await fleet.store.changeLog.loadView());
    const history: { sequence: bigint; versions: ReturnType<typeof versionsOf>; paths: ReturnType<typeof pathsOf> }[] = [];
    for (let step = 0; step < 80; step += 1) {
      await fleet.step();
      followed.apply((await fleet.store.changeLog.changesSince(followed.epoch, followed.sequence))!);
      history.push({ sequence: followed.sequence, versions: versionsOf(followed.view), paths: pathsOf(followed.view) });
    }
    const started = new FleetFold(await fleet.store.changeLog.loadView());
    const now = versionsOf(started.view);
    const pathsNow = pathsOf(started.view);
    for (const { sequence, versions, paths } of history) {
      for (const id of CLUSTERS) {
        const different = NAMES.filter((name) => versions.get(id)?.get(name) !== now.get(id)?.get(name));
        if (paths.get(id) !== pathsNow.get(id)) expect([followed.havePathsMoved(sequence), started.havePathsMoved(sequence)]).toEqual([true, true]);
        expect([...missedBy(followed, sequence, id, different), ...missedBy(started, sequence, id, different)]).toEqual([]);
      }
    }
  });

  it('one endpoint change touches one backend, and an old cursor cannot be served once the log is cut', async () => {
    const store = new FakeFleetStore();
    const report = async (backends: readonly MemberBackend[]): Promise<void> => {
      const digest = reportDigest(new Map(backends.map((backend) => [backend.name, memberBackendDigest(backend)])));
      await store.reports.accept({ clusterId: clusterId('a'), full: true, changed: backends, removed: [], digest, applied: undefined, spokeVersion: '', clockSkewMs: 0 });
    };
    const backend = (name: string, count: number): MemberBackend => ({ name: backendName('ai', name), trafficClass: 'endpoints', sessionAffinity: 'None', ports: [], endpoints: readyEndpoints(count, { targetPorts: [] }), capacity: { unit: 'Requests', perEndpoint: 1 } });
    await store.membership.register({ id: clusterId('a'), labels: {}, region: '', zone: '', network: '', credential: undefined }, 'test');
    await report([backend('x', 1), backend('y', 1)]);
    const fold = new FleetFold(await store.changeLog.loadView());
    const before = fold.sequence;
    await report([backend('x', 2), backend('y', 1)]);
    fold.apply((await store.changeLog.changesSince(fold.epoch, fold.sequence))!);
    expect(fold.touchedSince(before, clusterId('b'))).toEqual(new Set([backendName('ai', 'x')]));
    expect(fold.touchedSince(fold.sequence, clusterId('b'))).toEqual(new Set());
    expect(fold.havePathsMoved(before)).toBe(false);
    await store.changeLog.prune(1);
    const started = new FleetFold(await store.changeLog.loadView());
    expect(started.touchedSince(before - 1n, clusterId('b'))).toBeUndefined();
    expect(started.touchedSince(before, clusterId('b'))).toEqual(new Set([backendName('ai', 'x')]));
  });
});
