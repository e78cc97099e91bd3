import { create, fromBinary, toBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf';

import { FleetError } from '#domain/fleet';

import { DeltaDiscoveryRequestSchema, DeltaDiscoveryResponseSchema } from './generated/spillway/xds/v1/xds_pb.js';

/** What a client says on a delta stream: subscriptions, and ACK or NACK of an earlier response. */
export interface DeltaRequest {
  readonly typeUrl: string;
  /** Who asks; may be sent on the first request of a stream only. Empty where it was not sent. */
  readonly nodeId: string;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  readonly initialResourceVersions: Readonly<Record<string, string>>;
  /** Empty where the request answers no response. */
  readonly responseNonce: string;
  /** Why the response was rejected; undefined in an ACK. */
  readonly errorMessage: string | undefined;
}

/** What a server says on a delta stream. */
export interface DeltaResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly systemVersion: string;
  /** Serialized `Resource` messages. */
  readonly resources: readonly Uint8Array[];
  readonly removed: readonly string[];
}

const GRPC_INVALID_ARGUMENT = 3;

/** Encodes a request. `clientVersion` goes into the node's user agent. */
export function encodeDeltaRequest(request: DeltaRequest, clientVersion: string): Uint8Array {
  return toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, {
      typeUrl: request.typeUrl,
      resourceNamesSubscribe: [...request.subscribe],
      resourceNamesUnsubscribe: [...request.unsubscribe],
      initialResourceVersions: { ...request.initialResourceVersions },
      responseNonce: request.responseNonce,
      ...(request.nodeId === '' ? {} : { node: { id: request.nodeId, cluster: 'spillway', userAgentName: 'spillway', userAgentVersion: clientVersion } }),
      ...(request.errorMessage === undefined ? {} : { errorDetail: { code: GRPC_INVALID_ARGUMENT, message: request.errorMessage } }),
    }),
  );
}

/** Decodes a request. Throws FleetError XDS_MESSAGE_INVALID. */
export function decodeDeltaRequest(bytes: Uint8Array): DeltaRequest {
  const message = decodeMessage(DeltaDiscoveryRequestSchema, bytes);
  return {
    typeUrl: message.typeUrl,
    nodeId: message.node?.id ?? '',
    subscribe: message.resourceNamesSubscribe,
    unsubscribe: message.resourceNamesUnsubscribe,
    initialResourceVersions: message.initialResourceVersions,
    responseNonce: message.responseNonce,
    errorMessage: message.errorDetail?.message,
  };
}

/** Encodes a response around resources that are encoded already. */
export function encodeDeltaResponse(response: DeltaResponse): Uint8Array {
  return toBinary(
    DeltaDiscoveryResponseSchema,
    create(DeltaDiscoveryResponseSchema, {
      typeUrl: response.typeUrl,
      nonce: response.nonce,
      systemVersionInfo: response.systemVersion,
      resources: [...response.resources],
      removedResources: [...response.removed],
    }),
  );
}

/** Decodes a response, not its resources. Throws FleetError XDS_MESSAGE_INVALID. */
export function decodeDeltaResponse(bytes: Uint8Array): DeltaResponse {
  const message = decodeMessage(DeltaDiscoveryResponseSchema, bytes);
  return { typeUrl: message.typeUrl, nonce: message.nonce, systemVersion: message.systemVersionInfo, resources: message.resources, removed: message.removedResources };
}

function decodeMessage<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch (error) {
    throw new FleetError('XDS_MESSAGE_INVALID', 'bug', `the peer sent bytes that are no ${schema.name}`, { cause: error });
  }
}
