import { KUBE_KINDS } from '#contracts/kube-objects';
import { parseKubeconfig } from '#contracts/kubeconfig';
import { clusterId, FleetError, isFleetError } from '#domain/fleet';
import { apiReachableCondition, condition, type MemberConnection } from '#domain/membership';
import type { ClusterRecord, KeyOutcome } from '#ports';

import { LEFT_TO_DO, leaveMember } from './leave-member.js';
import { MemberLease } from './member-lease.js';
import { MemberNotes } from './member-notes.js';
import { installMember, isInstallDue, probeMember, type Visit } from './visit-member.js';
import type { WorkerParts } from './worker-parts.js';

/** How soon to look again while something is under way in the member. */
const SOON_MS = 2_000;

const NOTHING_TO_DO: KeyOutcome = { nextRunInMs: undefined };

/**
 * Makes one member cluster what its record says it should be, from state alone: installed and looked after, or gone. Whatever
 * fails is noted in the record's conditions and thrown for the queue to set the next try; what is known of the member stays.
 */
export class MemberReconciler {
  readonly #parts: WorkerParts;
  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  async reconcile(key: string): Promise<KeyOutcome> {
    const { store, settings } = this.#parts;
    const record = await store.membership.find(clusterId(key));
    if (record === undefined) return NOTHING_TO_DO;
    const lease = await MemberLease.take(store.leases, key, settings.holder);
    if (lease === undefined) return { nextRunInMs: SOON_MS };
    try {
      // Read again under the lease: what was read before it may be another worker's past.
      const current = await store.membership.find(clusterId(key));
      return current === undefined ? NOTHING_TO_DO : await this.#lookAfter(current, lease);
    } finally {
      await lease.release().catch(() => undefined);
    }
  }

  async #lookAfter(record: ClusterRecord, lease: MemberLease): Promise<KeyOutcome> {
    const notes = new MemberNotes(record, lease, this.#parts);
    if (record.removal?.force === true) return this.#forget(record, lease);
    if (!record.hasKubeconfig) return this.#lookWithoutApi(record, notes);
    return this.#visit(record, notes, (visit) => (record.removal === undefined ? this.#keep(visit) : this.#remove(visit, lease)));
  }

  async #visit(record: ClusterRecord, notes: MemberNotes, act: (visit: Visit) => Promise<KeyOutcome>): Promise<KeyOutcome> {
    let opened: ReturnType<WorkerParts['openKube']> | undefined;
    try {
      opened = this.#parts.openKube(await this.#connection(record));
      return await act({ record, kube: opened.kube, notes });
    } catch (error) {
      if (isFleetError(error) && (error.code.startsWith('KUBE_') || error.code.startsWith('KUBECONFIG_'))) await notes.write({ conditions: [apiReachableCondition(error)] });
      throw error;
    } finally {
      opened?.close();
    }
  }

  async #connection(record: ClusterRecord): Promise<MemberConnection> {
    const { store, settings } = this.#parts;
    const text = await store.membership.openKubeconfig(record.cluster.id);
    const parsed = parseKubeconfig(text ?? '', { allowLocalServers: settings.allowLocalClusters });
    if (parsed.ok) return parsed.connection;
    const [first] = parsed.problems;
    // The rules may be stricter than when it was registered.
    throw new FleetError('KUBECONFIG_REFUSED', 'user', `The stored kubeconfig is not accepted (${first?.code ?? ''}): ${first?.message ?? ''}`);
  }

  async #keep(visit: Visit): Promise<KeyOutcome> {
    const { clock, settings } = this.#parts;
    const isDue = isInstallDue(visit.record, clock.nowMs(), settings.installIntervalMs);
    const running = isDue ? await installMember(visit, this.#parts) : await probeMember(visit, this.#parts);
    return { nextRunInMs: running.status === 'True' ? settings.probeIntervalMs : Math.min(SOON_MS, settings.probeIntervalMs) };
  }

  async #remove(visit: Visit, lease: MemberLease): Promise<KeyOutcome> {
    const { store, clock, settings, logger } = this.#parts;
    const { cluster, removal } = visit.record;
    const requestId = String(removal?.requestedAtMs ?? 0);
    // Installing binds the UID first: behind another UID, or before any was bound, nothing is this member's to take out.
    const isOurs = (await visit.kube.find(KUBE_KINDS.namespace, { name: 'kube-system' }))?.metadata.uid === cluster.uid;
    const stage = isOurs ? await leaveMember(visit.kube, { requestId, nowMs: clock.nowMs(), waitMs: settings.leaveWaitMs }) : ({ kind: 'gone' } as const);
    if (stage.kind === 'waiting') {
      await visit.notes.write({ conditions: [apiReachableCondition(undefined), condition('Leaving', 'True', stage.reason, stage.message)] });
      return { nextRunInMs: Math.min(SOON_MS, settings.probeIntervalMs) };
    }
    await store.membership.remove(cluster.id, { by: removal?.by ?? 'worker', fence: await lease.fence() });
    logger.info({ clusterId: cluster.id }, 'member left');
    return NOTHING_TO_DO;
  }

  async #forget(record: ClusterRecord, lease: MemberLease): Promise<KeyOutcome> {
    const { store, logger } = this.#parts;
    const { id } = record.cluster;
    const by = record.removal?.by ?? 'worker';
    await store.membership.remove(id, { by, fence: await lease.fence() });
    await store.audit.record({ by, action: 'clusterForgotten', target: `cluster/${id}`, before: null, after: { leftToDo: LEFT_TO_DO } });
    logger.warn({ clusterId: id, leftToDo: LEFT_TO_DO }, 'member was removed by force');
    return NOTHING_TO_DO;
  }

  // A member that only its spoke connects: there is no API to look at, and none to clean up with.
  async #lookWithoutApi(record: ClusterRecord, notes: MemberNotes): Promise<KeyOutcome> {
    const message = 'The hub has no kubeconfig of this cluster. Uninstall the spoke there (helm uninstall), then remove it here with force.';
    if (record.removal === undefined) {
      await notes.write({ conditions: [] });
      return { nextRunInMs: this.#parts.settings.probeIntervalMs };
    }
    await notes.write({ conditions: [condition('Leaving', 'False', 'NoKubeconfig', message)] });
    throw new FleetError('REMOVAL_NEEDS_FORCE', 'user', message);
  }
}
