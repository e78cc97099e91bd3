import type { XdsTypeUrl } from '#contracts/envoy';

/** What a node said of the present content of one resource. */
export type AckStatus =
  /** The node has no stream, or its stream does not ask for the resource. */
  | { readonly kind: 'unknown' }
  /** Not sent yet, or sent and not answered. */
  | { readonly kind: 'pending'; readonly version: string }
  /** The node has applied this version. */
  | { readonly kind: 'acked'; readonly version: string }
  /** The node could not apply this version, and said why. */
  | { readonly kind: 'nacked'; readonly version: string; readonly message: string };

/** An open stream of an authenticated client. */
export interface XdsStreamInfo {
  readonly nodeId: string;
  readonly identity: string;
  readonly peer: string;
  readonly openedAtMs: number;
}

/** What clients have acknowledged. Nothing of it outlives the node's stream: a node that is away says nothing. */
export interface XdsAcknowledgements {
  /** Streams that told who they are, oldest first. */
  streams(): readonly XdsStreamInfo[];
  /** What the node's newest stream said of the present content of a resource; of its absence where it does not exist. */
  status(nodeId: string, typeUrl: XdsTypeUrl, resourceName: string): AckStatus;
  /** Calls back with the node's id whenever anything above may have changed for it. Returns the unsubscribe function. */
  onChange(listener: (nodeId: string) => void): () => void;
}
