/** What resolvers and services must know of the hub's configuration. */
export interface HubSettings {
  /** Address of the machine listener as members reach it; join tokens carry it. */
  readonly publicUrl: string;
  /** Whether a cluster's server may be on loopback or link-local addresses: for the embedded default. */
  readonly allowLocalClusters: boolean;
  /** Serves GraphiQL; for development. */
  readonly graphiql: boolean;
}

/** Injection token of {@link HubSettings}. */
export const HUB_SETTINGS = Symbol('HubSettings');
