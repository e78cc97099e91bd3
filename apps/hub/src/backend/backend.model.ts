import { Field, Float, GraphQLISODateTime, Int, ObjectType, registerEnumType } from '@nestjs/graphql';

import type { ClusterId, Freshness, Path, Protocol, SessionAffinity, TrafficClass, WorkUnit } from '#domain/fleet';

import { connectionOf } from '../graphql/connection.model.js';
import { FRESHNESS, Location } from '../member-cluster/member-cluster.model.js';

/** Traffic classes as GraphQL names them. */
const TRAFFIC_CLASS = { ENDPOINTS: 'endpoints', INFERENCE_POOL: 'inference-pool', EXTERNAL: 'external' } as const satisfies Record<string, TrafficClass>;
registerEnumType(TRAFFIC_CLASS, { name: 'TrafficClass' });

/** Work units as GraphQL names them. */
const WORK_UNIT = { REQUESTS: 'Requests', CONCURRENT: 'Concurrent', TOKENS: 'Tokens' } as const satisfies Record<string, WorkUnit>;
registerEnumType(WORK_UNIT, { name: 'WorkUnit', description: 'Per second for requests and tokens, at once for concurrent.' });

/** Session affinities as GraphQL names them. */
const SESSION_AFFINITY = { NONE: 'None', CLIENT_IP: 'ClientIP', CLUSTER: 'Cluster' } as const satisfies Record<string, SessionAffinity>;
registerEnumType(SESSION_AFFINITY, { name: 'SessionAffinity' });

/** Protocols as GraphQL names them. */
const PROTOCOL = { TCP: 'TCP', UDP: 'UDP' } as const satisfies Record<string, Protocol>;
registerEnumType(PROTOCOL, { name: 'Protocol' });

/** Paths as GraphQL names them. */
const PATH = { DIRECT: 'direct', GATEWAY: 'gateway' } as const satisfies Record<string, Path>;
registerEnumType(PATH, { name: 'Path', description: 'How a consumer reaches a provider: pod addresses as they are, or the gateway of the provider.' });

/** One address that answers for a backend. */
@ObjectType('Endpoint', { description: 'One address that answers for a backend.' })
abstract class EndpointModel {
  @Field(() => String) abstract readonly address: string;
  @Field(() => [Int], { description: 'One for each port of the member’s part, in their order; 0 where the endpoint lacks it.' }) abstract readonly targetPorts: readonly number[];
  @Field(() => Boolean) abstract readonly ready: boolean;
  @Field(() => Boolean) abstract readonly serving: boolean;
  @Field(() => Boolean) abstract readonly terminating: boolean;
  @Field(() => String) abstract readonly zone: string;
  @Field(() => String) abstract readonly node: string;
}

/** What one ready endpoint takes. */
@ObjectType('Capacity', { description: 'What one ready endpoint takes.' })
export abstract class CapacityModel {
  @Field(() => WORK_UNIT) abstract readonly unit: WorkUnit;
  @Field(() => Float) abstract readonly perEndpoint: number;
}

/** A port that routes name. */
@ObjectType('BackendPort', { description: 'A port that routes name.' })
export abstract class BackendPortModel {
  @Field(() => Int) abstract readonly port: number;
  @Field(() => PROTOCOL) abstract readonly protocol: Protocol;
}

/** One cluster’s part of a backend, as its spoke reports it. */
@ObjectType({ description: 'One cluster’s part of a backend, as its spoke reports it.' })
export abstract class BackendMember {
  @Field(() => String) abstract readonly cluster: ClusterId;
  @Field(() => TRAFFIC_CLASS) abstract readonly trafficClass: TrafficClass;
  @Field(() => SESSION_AFFINITY) abstract readonly sessionAffinity: SessionAffinity;
  @Field(() => [BackendPortModel]) abstract readonly ports: readonly BackendPortModel[];
  @Field(() => CapacityModel) abstract readonly capacity: CapacityModel;
  @Field(() => Int) abstract readonly endpointCount: number;
  @Field(() => Int) abstract readonly readyCount: number;
  @Field(() => Float, { description: 'Ready endpoints times what one takes: what shares follow.' }) abstract readonly readyCapacity: number;
  @Field(() => String, { description: 'Place of this definition in the order in which the hub first saw definitions; the lowest wins a conflict.' }) abstract readonly firstSeenSequence: string;
  @Field(() => Boolean, { description: 'Whether a policy lets the cluster export this namespace.' }) abstract readonly mayExport: boolean;
  @Field(() => Boolean, { description: 'Whether a policy lets the cluster import this namespace.' }) abstract readonly mayImport: boolean;
  @Field(() => [String], { description: 'Why it may not, in sentences.' }) abstract readonly refusals: readonly string[];
  @Field(() => GraphQLISODateTime, { nullable: true, description: 'When its spoke last said so.' }) abstract readonly observedAt: Date | undefined;
  @Field(() => FRESHNESS) abstract readonly freshness: Freshness;
}

/** Parts of one backend disagree; the first definition stays in force. */
@ObjectType({ description: 'Parts of one backend disagree; the first definition stays in force.' })
export abstract class Conflict {
  @Field(() => String) abstract readonly field: string;
  @Field(() => String) abstract readonly winner: ClusterId;
  @Field(() => [String]) abstract readonly losers: readonly ClusterId[];
  @Field(() => String) abstract readonly message: string;
}

/** A provider’s part of a port’s traffic. */
@ObjectType({ description: 'A provider’s part of a port’s traffic.' })
export abstract class Share {
  @Field(() => String) abstract readonly cluster: ClusterId;
  @Field(() => Int, { description: 'In ten-thousandths.' }) abstract readonly shareBp: number;
}

/** How one port is split; the shares sum to 10,000, or there are none. */
@ObjectType({ description: 'How one port is split; the shares sum to 10,000, or there are none.' })
export abstract class PortShares {
  @Field(() => Int) abstract readonly port: number;
  @Field(() => PROTOCOL) abstract readonly protocol: Protocol;
  @Field(() => [Share]) abstract readonly shares: readonly Share[];
}

/** A cluster that may answer a consumer. */
@ObjectType({ description: 'A cluster that may answer a consumer.' })
export abstract class Provider {
  @Field(() => String) abstract readonly cluster: ClusterId;
  @Field(() => Location) abstract readonly location: Location;
  @Field(() => PATH) abstract readonly path: Path;
  @Field(() => Int, { description: 'Ready endpoints that the shares assume.' }) abstract readonly readyCount: number;
  @Field(() => GraphQLISODateTime, { nullable: true }) abstract readonly observedAt: Date | undefined;
  @Field(() => FRESHNESS) abstract readonly freshness: Freshness;
}

/** What one consumer cluster sees of a backend. */
@ObjectType({ description: 'What one consumer cluster sees of a backend.' })
export abstract class BackendImport {
  @Field(() => String) abstract readonly consumer: ClusterId;
  @Field(() => TRAFFIC_CLASS) abstract readonly trafficClass: TrafficClass;
  @Field(() => SESSION_AFFINITY) abstract readonly sessionAffinity: SessionAffinity;
  @Field(() => Int, { description: 'Clusters that define the backend, as far as the consumer may know.' }) abstract readonly memberCount: number;
  @Field(() => Int, { description: 'Those of them with a ready endpoint.' }) abstract readonly servingCount: number;
  @Field(() => [Provider]) abstract readonly providers: readonly Provider[];
  @Field(() => [PortShares]) abstract readonly ports: readonly PortShares[];
  @Field(() => [Conflict]) abstract readonly conflicts: readonly Conflict[];
  @Field(() => [String], { description: 'What is kept from it and why, in sentences.' }) abstract readonly refusals: readonly string[];
  @Field(() => GraphQLISODateTime, { nullable: true, description: 'The oldest report among its providers.' }) abstract readonly observedAt: Date | undefined;
  @Field(() => FRESHNESS, { description: 'The stalest of its providers.' }) abstract readonly freshness: Freshness;
}

/** Everything of one namespace and name in the fleet. Which parts mean the same is for policies to say. */
@ObjectType({ description: 'Everything of one namespace and name in the fleet. Which parts mean the same is for policies to say.' })
export abstract class Backend {
  @Field(() => String) abstract readonly namespace: string;
  @Field(() => String) abstract readonly name: string;
  @Field(() => Int, { description: 'Clusters that define it.' }) abstract readonly memberCount: number;
  @Field(() => Int, { description: 'Those of them that are not stale and have a ready endpoint.' }) abstract readonly servingCount: number;
  @Field(() => GraphQLISODateTime, { nullable: true, description: 'The oldest report among its clusters.' }) abstract readonly observedAt: Date | undefined;
  @Field(() => FRESHNESS, { description: 'The stalest of its clusters.' }) abstract readonly freshness: Freshness;
}

/** A page of backends. */
export const BackendConnection = connectionOf(Backend, 'Backend');
/** A page of a backend's members. */
export const BackendMemberConnection = connectionOf(BackendMember, 'BackendMember');
/** A page of a backend's imports. */
export const BackendImportConnection = connectionOf(BackendImport, 'BackendImport');
/** A page of endpoints. */
export const EndpointConnection = connectionOf(EndpointModel, 'Endpoint');
