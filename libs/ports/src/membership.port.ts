import type { ClusterId, Freshness, MemberCluster, MemberReach } from '#domain/fleet';

import type { Fence } from './leases.port.js';

/** A fact about a member with the time at which it was seen; `type` is an adjective such as `ApiReachable`. */
export interface ClusterCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** One CamelCase word. */
  readonly reason: string;
  /** A sentence that says what to do. */
  readonly message: string;
  /** When `status` last changed. */
  readonly lastTransitionAtMs: number;
  /** When this was last seen to be so. */
  readonly observedAtMs: number;
}

/** One accelerator product over all nodes of a member. */
export interface AcceleratorInventory {
  /** Product label such as `NVIDIA-H100-80GB-HBM3`. */
  readonly product: string;
  readonly nodeCount: number;
  /** Allocatable devices over all nodes. */
  readonly allocatable: number;
}

/** What a member's nodes offer. */
export interface ClusterInventory {
  readonly observedAtMs: number;
  readonly nodeCount: number;
  readonly readyNodeCount: number;
  readonly accelerators: readonly AcceleratorInventory[];
  /** Further facts by name, such as `serviceCidrs`; values are plain JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Versions seen in a member; empty where unknown. */
export interface ClusterVersions {
  readonly kubernetes: string;
  readonly spoke: string;
}

/** What a member's spoke last said of itself. */
export interface SpokeStatus {
  readonly version: string;
  readonly lastReportAtMs: number;
  /** Milliseconds by which the spoke's clock is ahead of the hub's. */
  readonly clockSkewMs: number;
  /** What its data plane was last built from; undefined before the first Sync. */
  readonly applied: { readonly epoch: string; readonly sequence: bigint } | undefined;
}

/** A person asked for this member to leave; the worker cleans up and then removes the row. */
export interface RemovalRequest {
  readonly requestedAtMs: number;
  readonly force: boolean;
  readonly by: string;
}

/** A registered cluster with everything that is known of it; no secret is in it. */
export interface ClusterRecord {
  readonly cluster: MemberCluster;
  readonly registeredAtMs: number;
  readonly enrolledAtMs: number | undefined;
  readonly freshness: Freshness;
  readonly firstListComplete: boolean;
  /** How others reach it; undefined until its spoke has said so. */
  readonly reach: MemberReach | undefined;
  /** API server address of the kubeconfig; empty without one. */
  readonly serverUrl: string;
  readonly hasKubeconfig: boolean;
  readonly versions: ClusterVersions;
  /** Sorted by type. */
  readonly conditions: readonly ClusterCondition[];
  readonly inventory: ClusterInventory | undefined;
  readonly removal: RemovalRequest | undefined;
  readonly spoke: SpokeStatus | undefined;
}

/** An inline kubeconfig that passed its rules, and the server address in it. */
export interface ClusterCredential {
  readonly kubeconfig: string;
  readonly serverUrl: string;
}

/** A cluster to register. Names and labels were validated before. */
export interface ClusterRegistration {
  readonly id: ClusterId;
  readonly labels: Readonly<Record<string, string>>;
  readonly region: string;
  readonly zone: string;
  readonly network: string;
  /** Absent where only the spoke will call the hub. */
  readonly credential: ClusterCredential | undefined;
}

/** Fields to change; an absent one stays. */
export interface ClusterUpdate {
  readonly labels?: Readonly<Record<string, string>>;
  readonly region?: string;
  readonly zone?: string;
  readonly network?: string;
  readonly credential?: ClusterCredential;
}

/** What the worker saw; an absent field stays as it was. Conditions replace those of the same type, others stay. */
export interface ClusterObservation {
  /** UID of the kube-system namespace. Throws CLUSTER_UID_TAKEN (another member has it) or CLUSTER_UID_CHANGED (this name is bound to another). */
  readonly uid?: string;
  readonly kubernetesVersion?: string;
  readonly inventory?: ClusterInventory;
  readonly conditions?: readonly ClusterCondition[];
}

/**
 * Who is a member. Every change by a person is audited in the same transaction; `by` names that person. A worker's writes
 * carry a fence, checked in the same transaction (throws STORE_FENCED, `transient`).
 * Further codes: CLUSTER_NAME_TAKEN, CLUSTER_NOT_FOUND, CLUSTER_UID_TAKEN, CLUSTER_UID_CHANGED (`user`).
 */
export abstract class MembershipStore {
  /** Registers a cluster as `joining`. Throws CLUSTER_NAME_TAKEN where the id is in use. */
  abstract register(registration: ClusterRegistration, by: string): Promise<ClusterRecord>;
  abstract update(id: ClusterId, update: ClusterUpdate, by: string): Promise<ClusterRecord>;
  abstract find(id: ClusterId): Promise<ClusterRecord | undefined>;
  /** All clusters, sorted by id. */
  abstract list(): Promise<readonly ClusterRecord[]>;
  /** The decrypted kubeconfig, for the one call that needs it; undefined where none is stored. */
  abstract openKubeconfig(id: ClusterId): Promise<string | undefined>;
  /** Writes what the worker saw. */
  abstract recordObservation(id: ClusterId, observation: ClusterObservation, fence: Fence | undefined): Promise<void>;
  /** Marks a cluster for removal; asking again may only turn `force` on. */
  abstract requestRemoval(id: ClusterId, options: { readonly force: boolean; readonly by: string }): Promise<ClusterRecord>;
  /** Deletes a cluster with its keys, tokens and reports, so that the name is free again. No error where it is already gone. */
  abstract remove(id: ClusterId, options: { readonly by: string; readonly fence: Fence | undefined }): Promise<void>;
}
