import type { Registry } from 'prom-client';

import { ADDRESS_FINALIZER, ADDRESS_MANAGER, type AddressPlan, type IpAddress } from '#domain/addresses';
import { clusterId, type ClusterId } from '#domain/fleet';
import { planStatuses } from '#domain/gateway-api';
import type { NodeAgents, RoutingPlan } from '#domain/routing-plan';
import { renderXdsSnapshot, type RenderedPlan } from '#domain/xds-snapshot';
import type { Logger, ReadinessCheck } from '#platform';
import type { Clock, HubLink, Kube, Random, SyncCursor } from '#ports';

import { AddressKeeper } from './apply/address-keeper.js';
import { LeaveMarker } from './apply/leave-marker.js';
import { StatusWriter } from './apply/status-writer.js';
import { CoalescingLoop } from './coalescing-loop.js';
import type { ControllerOptions } from './controller-options.js';
import { HubSession } from './hub/hub-session.js';
import type { HubStatus } from './hub/hub-status.js';
import { ImportKeeper } from './hub/import-keeper.js';
import { Offer } from './hub/offer.js';
import type { Reportable } from './hub/report-ledger.js';
import { LastGoodStore } from './last-good/last-good-store.js';
import { LeaderLease, type Leadership } from './leader-lease.js';
import { createControllerMetrics, type ControllerMetrics } from './metrics.js';
import { ApiTrouble } from './observe/api-trouble.js';
import { World } from './observe/world.js';
import { ServiceKeeper } from './own/service-keeper.js';
import { nodeAgents } from './plan/agent-nodes.js';
import { EvidenceTracker } from './plan/evidence-tracker.js';
import { memoLast } from './plan/memo-last.js';
import { Planner, type ControllerPlan } from './plan/planner.js';
import type { PlanServer } from './xds/plan-server.js';

/** Everything that a controller needs from outside. */
export interface ControllerPorts {
  readonly kube: Kube;
  readonly link: HubLink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly server: PlanServer;
}

/** The cluster id before the hub has given one; nobody outside the cluster ever sees it. */
const UNJOINED_CLUSTER_ID = clusterId('local');

const NONE_DOWN: ReadonlySet<ClusterId> = new Set();

const NO_ROUTING = { frontends: [], backends: [], gatewayPorts: [] } as const;

/**
 * The controller role: observes one cluster and what the hub tells, plans, and applies. Three level-based loops share the
 * latest plan: one plans and serves, one writes statuses, one keeps addresses; a slow API server never delays an endpoint.
 */
export class Controller {
  readonly #stop = new AbortController();
  readonly #world: World;
  readonly #planner: Planner;
  readonly #tracker: EvidenceTracker;
  readonly #addresses: AddressKeeper;
  readonly #statuses: StatusWriter;
  readonly #leave: LeaveMarker;
  readonly #services: ServiceKeeper;
  readonly #lease: LeaderLease;
  readonly #imports: ImportKeeper;
  readonly #session: HubSession;
  readonly #metrics: ControllerMetrics;
  readonly #loops: { readonly plan: CoalescingLoop; readonly status: CoalescingLoop; readonly address: CoalescingLoop };
  readonly #nodeAgents = memoLast(nodeAgents);
  readonly #offer: Offer;
  #importsLoaded = false;
  #isWaitOver = false;
  #latest: ControllerPlan | undefined;
  #served: RenderedPlan | undefined;
  #applied: SyncCursor | undefined;
  #isAddressWaiting = false;
  #ticking: Promise<unknown> | undefined;

  constructor(
    private readonly ports: ControllerPorts,
    private readonly options: ControllerOptions,
  ) {
    const { kube, link, clock, random, logger, server } = ports;
    const { namespace } = options;
    const trouble = new ApiTrouble(clock, logger);
    this.#world = new World({
      kube, clock, random,
      onChange: () => this.#loops.plan.poke(),
      onUnreadable: (problem) => {
        this.#metrics.unreadableObjects.inc({ kind: problem.path.split(' ')[0] ?? '' });
        logger.warn({ path: problem.path, reason: problem.message }, 'an object is left out');
      },
      onWatchFailed: (kind, err) => {
        this.#metrics.watchFailures.inc({ kind: kind.kind });
        trouble.failed(kind.kind, err);
      },
      onConnection: () => {
        if (this.#world.lostSinceMs === undefined) trouble.recovered();
      },
    });
    this.#offer = new Offer({ logger, onUnfit: (count) => this.#metrics.unfitParts.set(count) });
    this.#planner = new Planner(options.clusterDomain);
    this.#tracker = new EvidenceTracker(server.acknowledgements, clock);
    this.#addresses = new AddressKeeper(kube, clock, logger);
    this.#statuses = new StatusWriter(kube, logger, this.#world.servedKind);
    this.#leave = new LeaveMarker(kube, clock, namespace, () => this.#pokeAll());
    this.#services = new ServiceKeeper({ kube, clock, logger, mayWrite: () => this.#mayWrite() }, { namespace, names: ['spillway-spoke-controller', 'spillway-spoke-dns'] });
    this.#lease = new LeaderLease({ kube, clock, onChange: (leadership) => this.#leadershipChanged(leadership), onError: (err) => trouble.failed('Lease', err) }, { namespace, name: options.leaseName, holder: options.podName, durationMs: options.leaseDurationMs, renewMs: options.leaseRenewMs });
    this.#imports = new ImportKeeper({ store: new LastGoodStore(kube, namespace), clock, random, logger, mayWrite: () => this.#mayWrite(), onChange: () => this.#loops.plan.poke(), saveIntervalMs: options.lastGoodIntervalMs, verifyIntervalMs: options.lastGoodVerifyMs, graceMs: options.epochGraceMs });
    this.#session = new HubSession({ kube, link, clock, random, logger, imports: this.#imports, current: () => this.#reportable(), voice: () => VOICES[this.#lease.leadership()], onIdentity: () => this.#loops.plan.poke(), options: { ...options, joinSecretName: 'spillway-join', identitySecretName: 'spillway-identity' } });
    this.#metrics = createControllerMetrics(ports.registry, { world: this.#world, hub: () => this.#session.status(), importBackends: () => this.#imports.imports.backends.length, importChangedMs: () => this.#imports.changedMs, isLeading: () => this.#lease.leadership() === 'leading' });
    const loop = (debounceMs: number, run: () => Promise<void> | void, what: string): CoalescingLoop =>
      new CoalescingLoop({ clock, random, debounceMs, run, onError: (err) => logger.warn({ err }, what) });
    this.#loops = {
      plan: loop(options.planDebounceMs, () => this.#plan(), 'planning failed'),
      status: loop(options.statusDebounceMs, () => this.#writeStatuses(), 'could not write every status yet'),
      address: loop(0, () => this.#keepAddresses(), 'could not keep every address yet'),
    };
  }

  /** Begins to observe; returns at once. */
  start(): void {
    this.#lease.start();
    this.#world.start();
    this.#leave.start();
    this.#services.start();
    this.#session.start();
    this.ports.server.acknowledgements.onChange(() => {
      this.#loops.status.poke();
      if (this.#isAddressWaiting) this.#loops.address.poke();
    });
    this.#ticking = Promise.all([this.#tick(), this.#endWait()]);
    void this.#imports.load().then(() => {
      this.#importsLoaded = true;
      this.#loops.plan.poke();
    });
  }

  /** Ends in order: what is under way is finished, what is not saved is saved, the Lease is let go. Kernel tables stay. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#world.stop();
    this.#leave.stop();
    await Promise.all([this.#services.stop(), this.#session.stop(), ...Object.values(this.#loops).map((loop) => loop.stop()), this.#ticking]);
    await this.#imports.stop();
    await this.#lease.stop();
  }

  /** Why this replica should get no clients yet. */
  readonly readiness: Readonly<Record<string, ReadinessCheck>> = {
    'first lists': () => (this.#world.complete ? undefined : `waiting for the first list of ${this.#world.listing.join(', ')}`),
    'last good state': () => (this.#importsLoaded ? undefined : 'waiting for the API server to say what was saved'),
    'first word': () => (this.#mustWaitForHub() ? 'waiting for the hub, since nothing that it said is saved here' : undefined),
    identity: () => (this.#session.identityKnown ? undefined : 'waiting for the API server to say who this cluster is'),
    lease: () => (this.#lease.leadership() === 'standby' ? 'another replica holds the lease; this one stands by' : undefined),
  };

  /** Where the link to the hub stands. */
  hubStatus(): HubStatus {
    return this.#session.status();
  }

  /** The latest plan; undefined before the first. */
  latestPlan(): ControllerPlan | undefined {
    return this.#latest;
  }

  /** Kinds that this cluster does not serve. */
  missingKinds(): readonly string[] {
    return this.#world.missing;
  }

  #mayWrite(): boolean {
    return this.#lease.leadership() === 'leading' && !this.#leave.isDone;
  }

  #pokeAll(): void {
    for (const loop of Object.values(this.#loops)) loop.poke();
    this.#session.reportSoon();
  }

  #leadershipChanged(leadership: Leadership): void {
    this.ports.logger.info({ leadership }, 'leadership changed');
    this.#imports.saveSoon();
    this.#pokeAll();
  }

  // C74, C75: nothing is planned, served or reported before everything has been heard once.
  #isComplete(): boolean {
    return this.#world.complete && this.#importsLoaded && this.#session.identityKnown && this.#leave.isKnown && !this.#mustWaitForHub();
  }

  // Nodes still lead to other clusters as a process before this one told them. With the saved state lost, a plan of our own
  // endpoints alone would take those away; a hub that is there answers in a moment.
  #mustWaitForHub(): boolean {
    return !this.#isWaitOver && !this.#leave.isAsked && this.#session.expectsHub && !this.#imports.hasSpoken;
  }

  async #endWait(): Promise<void> {
    await this.ports.clock.sleep(this.options.firstWordWaitMs, this.#stop.signal);
    if (this.#mustWaitForHub()) this.ports.logger.warn({ code: 'LAST_GOOD_LOST', waitedMs: this.options.firstWordWaitMs }, 'the hub does not answer, and nothing that it said is saved here; until it does, only this cluster\'s own endpoints are served');
    this.#isWaitOver = true;
    this.#loops.plan.poke();
  }

  // Without the identity it is still known to whom the last good state was told.
  #clusterId(): ClusterId {
    return this.#session.identity?.clusterId ?? this.#imports.state.consumer ?? UNJOINED_CLUSTER_ID;
  }

  #plan(): void {
    if (!this.#isComplete()) return;
    const end = this.#metrics.planDuration.startTimer();
    const imports = this.#imports.hasSpoken ? this.#imports.imports : undefined;
    const { cursor } = this.#imports.state;
    if (this.#latest === undefined) this.#warnOfMissingKinds();
    const plan = this.#planner.plan({ world: this.#world, clusterId: this.#clusterId(), imports, intake: this.#imports.paths?.intake, unreachable: NONE_DOWN, ipAddresses: this.#ipAddresses() });
    const routing = this.#leave.isAsked ? NO_ROUTING : plan.routing;
    if (routing !== this.#served?.plan) this.#serve(routing);
    // An endpoint that comes or goes changes no address.
    if (plan.assignments !== this.#latest?.assignments || this.#leave.isAsked) this.#loops.address.poke();
    this.#latest = plan;
    this.#applied = cursor;
    end();
    this.#session.reportSoon();
    this.#loops.status.poke();
  }

  #warnOfMissingKinds(): void {
    const kinds = this.#world.missing;
    if (kinds.length > 0) this.ports.logger.warn({ kinds }, 'the cluster does not serve these kinds yet; install the Gateway API CRDs and Spillway\'s own');
  }

  #serve(plan: RoutingPlan): void {
    const snapshot = renderXdsSnapshot(plan, this.#served);
    this.#served = { plan, snapshot };
    this.ports.server.setSnapshot(snapshot);
    this.#tracker.published(snapshot);
    this.#metrics.snapshots.inc();
  }

  #reportable(): Reportable | undefined {
    if (this.#latest === undefined) return undefined;
    return {
      backends: this.#leave.isAsked ? [] : this.#offer.backends(this.#latest.localParts),
      reach: this.#offer.reach(this.#world.nodes.values(), this.#agents()),
      gatewayPorts: this.#imports.paths?.intake.openings ?? [],
      applied: this.#applied,
    };
  }

  #ipAddresses(): readonly IpAddress[] {
    return this.#addresses.known(this.#world.ipAddresses.values());
  }

  #agents(): NodeAgents {
    return this.#nodeAgents(this.#world.pods.values(), this.#world.nodes.values(), this.options.namespace);
  }

  #nodes(): ReadonlySet<string> {
    return this.#agents().nodes;
  }

  async #writeStatuses(): Promise<void> {
    if (this.#latest === undefined || !this.#mayWrite()) return;
    const { decisions, assignments, localParts, imports } = this.#latest;
    const evidence = this.#tracker.evidence(this.#nodes());
    const isLeaving = this.#leave.isAsked;
    const writes = planStatuses(decisions, {
      assignments: isLeaving ? new Map() : assignments,
      gatewayEvidence: evidence.gateways,
      compositeEvidence: evidence.composites,
      localParts,
      imports,
      keepsRoutability: this.#world.keepsRoutability,
      nowMs: this.ports.clock.nowMs(),
    });
    const round = await this.#statuses.write(writes, () => this.#mayWrite());
    this.#metrics.statusesWritten.inc(round.written);
    this.#metrics.statusConflicts.inc(round.conflicts);
    if (round.transient !== undefined) throw round.transient;
  }

  async #keepAddresses(): Promise<void> {
    const plan = this.#mayWrite() ? this.#addressPlan() : undefined;
    if (plan === undefined) return;
    const raced = await this.#addresses.apply(plan, () => this.#mayWrite());
    if (raced) {
      this.#metrics.addressRaces.inc();
      this.#loops.address.poke();
    }
    if (plan.create.length > 0) this.#loops.plan.poke();
    if (this.#leave.isAsked && this.#isClean()) await this.#leave.sayDone();
  }

  #addressPlan(): AddressPlan | undefined {
    const { ipAddresses: watched, gateways } = this.#world;
    // A kind that is not served is no proof that we hold no address.
    if (this.#latest === undefined || watched.state !== 'complete' || gateways.state !== 'complete') return undefined;
    const ipAddresses = this.#ipAddresses();
    const stillProgrammed = this.#tracker.stillProgrammed(ownAddresses(ipAddresses), this.#nodes());
    const circumstances = { alsoTaken: this.#addresses.taken(), stillProgrammed, random: () => this.ports.random.next() };
    const plan = this.#planner.addressPlan({ world: this.#world, imports: this.#latest.imports, ipAddresses }, circumstances, this.#leave.isAsked ? 'release' : 'keep');
    const held = new Set([...plan.assignments.values()].flatMap((assignment) => assignment.held));
    // What was taken a moment ago may be free again, and nobody tells once that memory is over.
    this.#isAddressWaiting = this.#addresses.taken().size > 0 || [...stillProgrammed].some((address) => !held.has(address));
    for (const problem of plan.problems) this.ports.logger.error({ path: problem.path, code: problem.code, reason: problem.message }, 'an address is in danger');
    return plan;
  }

  #isClean(): boolean {
    const holdsFinalizer = this.#world.gateways.values().some((gateway) => gateway.meta.finalizers.includes(ADDRESS_FINALIZER)) || this.#world.serviceCidrs.values().some((cidr) => cidr.hasFinalizer);
    return !holdsFinalizer && ownAddresses(this.#ipAddresses()).length === 0;
  }

  // Some verdicts change by time alone: a node that stays silent, an address that a dead node holds back.
  async #tick(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.ports.clock.sleep(this.options.evidenceTickMs, signal);
      if (signal.aborted || this.#latest === undefined) continue;
      if (this.#tracker.evidence(this.#nodes()).isOpen) this.#loops.status.poke();
      if (this.#isAddressWaiting) this.#loops.address.poke();
    }
  }
}

const VOICES = { leading: 'write', unconfirmed: 'heartbeat', standby: 'silent' } as const;

function ownAddresses(addresses: readonly IpAddress[]): readonly { readonly address: string; readonly gateway: { readonly namespace: string; readonly name: string } }[] {
  return addresses.filter((one) => one.managedBy === ADDRESS_MANAGER).map((one) => ({ address: one.name, gateway: { namespace: one.parent?.namespace ?? '', name: one.parent?.name ?? '' } }));
}
