import type { Freshness } from '#domain/fleet';
import type { ClusterCondition, ClusterInventory, ClusterRecord, SpokeStatus } from '#ports';

import type { Cluster, Condition, Inventory, Spoke } from './member-cluster.model.js';

/** How long what the worker saw over a member's API counts as fresh. */
const API_OBSERVATION_FRESH_MS = 300_000;

/** A stored cluster as GraphQL shows it. */
export function toCluster(record: ClusterRecord, nowMs: number): Cluster {
  const { cluster } = record;
  return {
    name: cluster.id,
    uid: textOrNone(cluster.uid),
    labels: Object.keys(cluster.labels).sort().map((key) => ({ key, value: cluster.labels[key] ?? '' })),
    location: cluster.locality,
    network: cluster.network,
    freshness: record.freshness,
    observedAt: dateOrNone(record.spoke?.lastReportAtMs),
    firstListComplete: record.firstListComplete,
    registeredAt: new Date(record.registeredAtMs),
    enrolledAt: dateOrNone(record.enrolledAtMs),
    serverUrl: textOrNone(record.serverUrl),
    hasKubeconfig: record.hasKubeconfig,
    kubernetesVersion: textOrNone(record.versions.kubernetes),
    conditions: record.conditions.map((condition) => toCondition(condition, nowMs)),
    inventory: record.inventory === undefined ? undefined : toInventory(record.inventory, nowMs),
    spoke: record.spoke === undefined ? undefined : toSpoke(record.spoke, record.freshness),
    removal: record.removal === undefined ? undefined : { requestedAt: new Date(record.removal.requestedAtMs), force: record.removal.force, by: record.removal.by },
  };
}

const textOrNone = (text: string): string | undefined => (text === '' ? undefined : text);
const dateOrNone = (atMs: number | undefined): Date | undefined => (atMs === undefined ? undefined : new Date(atMs));

// What the spoke reports and what the worker sees over the API are two signals; each has its own freshness.
const apiFreshness = (observedAtMs: number, nowMs: number): Freshness => (nowMs - observedAtMs <= API_OBSERVATION_FRESH_MS ? 'fresh' : 'stale');

function toCondition({ type, status, reason, message, lastTransitionAtMs, observedAtMs }: ClusterCondition, nowMs: number): Condition {
  return { type, status, reason, message, lastTransitionAt: new Date(lastTransitionAtMs), observedAt: new Date(observedAtMs), freshness: apiFreshness(observedAtMs, nowMs) };
}

function toInventory({ observedAtMs, nodeCount, readyNodeCount, accelerators, facts }: ClusterInventory, nowMs: number): Inventory {
  return {
    nodeCount,
    readyNodeCount,
    accelerators,
    facts: Object.keys(facts).sort().map((name) => ({ name, value: facts[name] })),
    observedAt: new Date(observedAtMs),
    freshness: apiFreshness(observedAtMs, nowMs),
  };
}

function toSpoke({ version, lastReportAtMs, clockSkewMs, applied }: SpokeStatus, freshness: Freshness): Spoke {
  return {
    version,
    clockSkewMs,
    applied: applied === undefined ? undefined : { epoch: applied.epoch, sequence: applied.sequence.toString() },
    observedAt: new Date(lastReportAtMs),
    freshness,
  };
}
