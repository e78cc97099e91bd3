/** What a client puts up with from a server; each has a default. */
export interface XdsClientLimits {
  /** Longest time from the call to the first answer. A server that has nothing to serve yet is silent: another may not be. */
  readonly answerMs: number;
  /** One response. Ours are of 3 MiB and one resource at most. */
  readonly responseBytesMax: number;
  /** Responses that were taken in and make no whole set yet. */
  readonly gatheredBytesMax: number;
  /** Clusters in force and gathered. */
  readonly clustersMax: number;
  /** Responses in a row that cannot be taken in, each of which is refused with the reason. */
  readonly refusalsMax: number;
  /** Responses that were taken in and are still being applied. */
  readonly unansweredMax: number;
  /** What the server has not read of our requests. */
  readonly unreadBytesMax: number;
}

/** Defaults of {@link XdsClientLimits}. */
export const XDS_CLIENT_LIMITS: XdsClientLimits = {
  answerMs: 30_000,
  responseBytesMax: 32 * 1024 * 1024,
  gatheredBytesMax: 128 * 1024 * 1024,
  clustersMax: 100_000,
  refusalsMax: 16,
  unansweredMax: 1_000,
  unreadBytesMax: 16 * 1024 * 1024,
};
