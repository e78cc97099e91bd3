/** What may differ between installations of the spoke. */
export interface SpokeSettings {
  /** Such as `ghcr.io/spillway-dev/spoke:0.1.0`. */
  readonly image: string;
  readonly dnsReplicas: number;
  readonly clusterDomain: string;
  readonly logLevel: string;
}
