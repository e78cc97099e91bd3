import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { FleetError } from '#domain/fleet';

import { DiscoveryRequestSchema, DiscoveryResponseSchema } from './generated/spillway/xds/v1/xds_pb.js';

/** What a client says on a state-of-the-world stream: all names that it wants, and ACK or NACK of an earlier response. */
export interface SotwRequest {
  readonly typeUrl: string;
  /** Who asks; may be sent on the first request of a stream only. Empty where it was not sent. */
  readonly nodeId: string;
  /** All names that it wants from now on, not a difference. */
  readonly names: readonly string[];
  /** Empty where the request answers no response. */
  readonly responseNonce: string;
  /** Why the response was rejected; undefined in an ACK. */
  readonly errorMessage: string | undefined;
}

/** What a server says on a state-of-the-world stream. */
export interface SotwResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  /** Serialized `Any` messages. */
  readonly resources: readonly Uint8Array[];
}

/** Decodes a request. Throws FleetError XDS_MESSAGE_INVALID. */
export function decodeSotwRequest(bytes: Uint8Array): SotwRequest {
  try {
    const message = fromBinary(DiscoveryRequestSchema, bytes, { readUnknownFields: false });
    return { typeUrl: message.typeUrl, nodeId: message.node?.id ?? '', names: message.resourceNames, responseNonce: message.responseNonce, errorMessage: message.errorDetail?.message };
  } catch (error) {
    throw new FleetError('XDS_MESSAGE_INVALID', 'bug', 'the bytes are no DiscoveryRequest', { cause: error });
  }
}

/** Encodes a response around contents that are encoded already. */
export function encodeSotwResponse({ typeUrl, nonce, version, resources }: SotwResponse): Uint8Array {
  return toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { typeUrl, nonce, versionInfo: version, resources: [...resources] }));
}
