/** A condition as the hub shows it. */
export interface ConditionView {
  readonly type: string;
  readonly status: 'TRUE' | 'FALSE' | 'UNKNOWN';
  readonly reason: string;
  readonly message: string;
  readonly observedAt: string;
  readonly freshness: string;
}

/** A cluster as listing commands ask for it. */
export interface ClusterView {
  readonly name: string;
  readonly freshness: 'JOINING' | 'FRESH' | 'STALE';
  readonly observedAt: string | null;
  readonly location: { readonly region: string; readonly zone: string };
  readonly network: string;
  readonly labels: readonly { readonly key: string; readonly value: string }[];
  readonly kubernetesVersion: string | null;
  readonly hasKubeconfig: boolean;
  readonly enrolledAt: string | null;
  readonly firstListComplete: boolean;
  readonly conditions: readonly ConditionView[];
  readonly inventory: { readonly nodeCount: number; readonly readyNodeCount: number; readonly accelerators: readonly { readonly product: string; readonly allocatable: number }[]; readonly observedAt: string } | null;
  readonly spoke: { readonly version: string; readonly clockSkewMs: number; readonly observedAt: string } | null;
  readonly removal: { readonly requestedAt: string; readonly force: boolean } | null;
}

const CLUSTER_FIELDS = `
  name freshness observedAt location { region zone } network labels { key value } kubernetesVersion hasKubeconfig enrolledAt firstListComplete
  conditions { type status reason message observedAt freshness }
  inventory { nodeCount readyNodeCount accelerators { product allocatable } observedAt }
  spoke { version clockSkewMs observedAt }
  removal { requestedAt force }`;

/** All clusters, a page at a time. */
export const CLUSTERS_QUERY = `query Clusters($after: String) {
  clusters(first: 100, after: $after) { nodes { ${CLUSTER_FIELDS} } pageInfo { hasNextPage endCursor } }
}`;

/** One cluster by name. */
export const CLUSTER_QUERY = `query Cluster($name: String!) { cluster(name: $name) { ${CLUSTER_FIELDS} } }`;

/** Fields of a {@link FleetSummary}. */
export const FLEET_FIELDS = 'position { epoch sequence } clusterCount freshCount staleCount joiningCount backendCount policyCount freeze { reason since } publicUrl';

/** The whole fleet in numbers. */
export const FLEET_QUERY = `query Fleet { fleet { ${FLEET_FIELDS} } }`;

/** The fleet in numbers, as the hub shows it. */
export interface FleetSummary {
  readonly position: { readonly epoch: string; readonly sequence: string };
  readonly clusterCount: number;
  readonly freshCount: number;
  readonly staleCount: number;
  readonly joiningCount: number;
  readonly backendCount: number;
  readonly policyCount: number;
  readonly freeze: { readonly reason: string; readonly since: string } | null;
  readonly publicUrl: string;
}

/** Fields that every mutation's payload has. */
export const USER_ERRORS = 'userErrors { path code message }';
