import { clusterId, type Freshness, type MemberReach, type MemberState } from '#domain/fleet';
import type { ClusterCondition, ClusterInventory, ClusterRecord, SpokeStatus } from '#ports';

import type { Prisma } from './generated/client.js';

/** What is read of a cluster: everything but the sealed kubeconfig. */
export const CLUSTER_READ = { omit: { kubeconfig: true }, include: { heartbeat: true } } as const;

/** A cluster as {@link CLUSTER_READ} reads it. */
export type ClusterRow = Prisma.ClusterGetPayload<{ omit: { kubeconfig: true }; include: { heartbeat: true } }>;

/** A row as the record that shells see. */
export function toClusterRecord(row: ClusterRow): ClusterRecord {
  return {
    ...memberStateOf(row),
    registeredAtMs: row.registeredAt.getTime(),
    enrolledAtMs: row.enrolledAt?.getTime(),
    serverUrl: row.serverUrl,
    // A credential always has a server address.
    hasKubeconfig: row.serverUrl !== '',
    versions: { kubernetes: row.kubernetesVersion, spoke: row.heartbeat?.spokeVersion ?? row.spokeVersion },
    conditions: row.conditions as unknown as readonly ClusterCondition[],
    inventory: (row.inventory ?? undefined) as ClusterInventory | undefined,
    removal: row.removalRequestedAt === null ? undefined : { requestedAtMs: row.removalRequestedAt.getTime(), force: row.removalForce, by: row.removalBy },
    spoke: toSpokeStatus(row.heartbeat),
  };
}

/** The columns of a cluster that plans see. */
export type MemberColumns = Pick<ClusterRow, 'id' | 'uid' | 'labels' | 'region' | 'zone' | 'network' | 'freshness' | 'firstListComplete' | 'reach'>;

/** The part of a row that plans see. */
export function memberStateOf(row: MemberColumns): MemberState {
  const { id, uid, labels, region, zone, network, freshness, firstListComplete, reach } = row;
  const cluster = { id: clusterId(id), uid, labels: labels as Record<string, string>, locality: { region, zone }, network };
  return { cluster, freshness: freshness as Freshness, firstListComplete, reach: (reach ?? undefined) as MemberReach | undefined };
}

function toSpokeStatus(row: ClusterRow['heartbeat']): SpokeStatus | undefined {
  if (row === null) return undefined;
  const { appliedEpoch, appliedSequence } = row;
  return {
    version: row.spokeVersion,
    lastReportAtMs: row.lastReportAt.getTime(),
    clockSkewMs: Number(row.clockSkewMs),
    applied: appliedEpoch === null || appliedSequence === null ? undefined : { epoch: appliedEpoch, sequence: appliedSequence },
  };
}

/** What the audit log keeps of a cluster. */
export function auditViewOf(row: ClusterRow): Record<string, unknown> {
  const { labels, region, zone, network, serverUrl } = row;
  return { labels, region, zone, network, serverUrl, hasKubeconfig: serverUrl !== '' };
}
