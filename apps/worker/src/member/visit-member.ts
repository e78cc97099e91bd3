import { KUBE_KINDS } from '#contracts/kube-objects';
import { FleetError, isFleetError } from '#domain/fleet';
import { apiReachableCondition, blockingConditions, condition, preflightConditions, type MemberCondition } from '#domain/membership';
import type { ClusterRecord, Kube, KubeObject } from '#ports';

import { buildGatewayClass, buildMemberManifests, neededRights, readCrds } from '../member-manifests/index.js';
import { InventoryBuilder } from './build-inventory.js';
import { installSpoke } from './install-spoke.js';
import type { MemberNotes } from './member-notes.js';
import { observePreflight, type ObservedMember } from './observe-preflight.js';
import { observeSpokeRunning } from './spoke-running.js';
import type { WorkerParts } from './worker-parts.js';

/** A visit: to whom, over which API, and where to note what was seen. */
export interface Visit {
  readonly record: ClusterRecord;
  readonly kube: Kube;
  readonly notes: MemberNotes;
}

/** Whether everything is to be checked and applied, and not just looked at: never done, not done well, partly gone, or long ago. */
export function isInstallDue(record: ClusterRecord, nowMs: number, installIntervalMs: number): boolean {
  const installed = record.conditions.find((entry) => entry.type === 'SpokeInstalled');
  const isPartlyGone = record.conditions.some((entry) => entry.type === 'SpokeRunning' && entry.reason === 'NotInstalled');
  return installed?.status !== 'True' || isPartlyGone || nowMs - installed.observedAtMs >= installIntervalMs;
}

/** Looks whether API server and spoke are there. */
export async function probeMember({ kube, notes }: Visit, parts: WorkerParts): Promise<MemberCondition> {
  const { version } = await kube.serverInfo();
  const running = await observeSpokeRunning(kube, buildMemberManifests(parts.settings.spoke));
  await notes.write({ kubernetesVersion: version, conditions: [apiReachableCondition(undefined), running] });
  return running;
}

/** Checks a member, installs or repairs its spoke, and takes its inventory. Nothing is installed where a check stands against it. */
export async function installMember(visit: Visit, parts: WorkerParts): Promise<MemberCondition> {
  const { kube, notes } = visit;
  const observed = await observePreflight(kube, neededRights([...readCrds(), buildGatewayClass(), ...buildMemberManifests(parts.settings.spoke)]), parts.clock);
  const checks = [apiReachableCondition(undefined), ...preflightConditions(observed.facts)];
  await bindIdentity(visit, observed, checks);
  const blocking = blockingConditions(checks);
  if (blocking.length > 0) {
    const message = `Nothing was installed: ${blocking.map((entry) => entry.message).join(' ')}`;
    await notes.write({ conditions: [condition('SpokeInstalled', 'False', 'PreflightFailed', message)] });
    throw new FleetError('PREFLIGHT_FAILED', 'user', message);
  }
  await install(visit, parts);
  return takeInventory(visit, observed, parts);
}

// First of all whose cluster it is: a kubeconfig of another member, or of a new cluster under an old name, changes nothing there.
async function bindIdentity({ record, notes }: Visit, observed: ObservedMember, checks: readonly MemberCondition[]): Promise<void> {
  const seen = { kubernetesVersion: observed.facts.version, conditions: checks };
  if (observed.uid === undefined) {
    await notes.write(seen);
    return;
  }
  try {
    await notes.write({ ...seen, uid: observed.uid, conditions: [...checks, condition('IdentityConfirmed', 'True', 'Confirmed', `The cluster is ${record.cluster.id}, by the UID of its kube-system namespace.`)] });
  } catch (error) {
    if (!isFleetError(error) || error.kind !== 'user') throw error;
    await notes.write({ ...seen, conditions: [...checks, condition('IdentityConfirmed', 'False', error.code === 'CLUSTER_UID_TAKEN' ? 'UidTaken' : 'UidChanged', error.message)] });
    throw error;
  }
}

async function install({ record, kube, notes }: Visit, parts: WorkerParts): Promise<void> {
  try {
    await installSpoke(kube, record, parts);
  } catch (error) {
    if (isFleetError(error)) await notes.write({ conditions: [condition('SpokeInstalled', 'False', 'ApplyFailed', error.message)] });
    throw error;
  }
}

async function takeInventory({ kube, notes }: Visit, { facts }: ObservedMember, parts: WorkerParts): Promise<MemberCondition> {
  const inventory = new InventoryBuilder();
  await kube.list(KUBE_KINDS.node, { trim: (node) => countAndDrop(node, inventory) });
  const running = await observeSpokeRunning(kube, buildMemberManifests(parts.settings.spoke));
  const installed = condition('SpokeInstalled', 'True', 'Applied', `The spoke is ${parts.settings.spoke.image}.`);
  const serviceCidrs = Array.isArray(facts.serviceCidrs) ? facts.serviceCidrs : [];
  await notes.write({ inventory: inventory.build({ serviceCidrs, kubeProxyMode: facts.kubeProxyMode }, parts.clock.nowMs()), conditions: [installed, running] });
  return running;
}

// A list of thousands of nodes is never in memory at once.
function countAndDrop(node: KubeObject, inventory: InventoryBuilder): KubeObject {
  inventory.add(node);
  return NO_OBJECT;
}

const NO_OBJECT: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: '' } };
