import { Field, Float, GraphQLISODateTime, Int, ObjectType, registerEnumType } from '@nestjs/graphql';

import type { Freshness, Problem } from '#domain/fleet';

import { connectionOf } from '../graphql/connection.model.js';
import { JsonValue } from '../graphql/scalars.js';
import { UserError } from '../graphql/user-error.model.js';

/** Freshness as GraphQL names it. */
export const FRESHNESS = { JOINING: 'joining', FRESH: 'fresh', STALE: 'stale' } as const satisfies Record<string, Freshness>;
registerEnumType(FRESHNESS, {
  name: 'Freshness',
  description: 'How far an observed value can be trusted to be current.',
  valuesMap: { JOINING: { description: 'Nothing was observed yet.' }, FRESH: { description: 'Observed lately.' }, STALE: { description: 'The source has been silent for too long; the value is the last one known.' } },
});

/** Status of a condition as GraphQL names it. */
export const CONDITION_STATUS = { TRUE: 'True', FALSE: 'False', UNKNOWN: 'Unknown' } as const;
registerEnumType(CONDITION_STATUS, { name: 'ConditionStatus' });

/** One label. */
@ObjectType({ description: 'One label.' })
export abstract class Label {
  @Field(() => String) abstract readonly key: string;
  @Field(() => String) abstract readonly value: string;
}

/** Where a cluster runs; empty where nobody said. */
@ObjectType({ description: 'Where a cluster runs; empty where nobody said.' })
export abstract class Location {
  @Field(() => String) abstract readonly region: string;
  @Field(() => String) abstract readonly zone: string;
}

/** A fact about a cluster, with when and by what it was last seen so. */
@ObjectType({ description: 'A fact about a cluster, with when and by what it was last seen so.' })
export abstract class Condition {
  @Field(() => String) abstract readonly type: string;
  @Field(() => CONDITION_STATUS) abstract readonly status: (typeof CONDITION_STATUS)[keyof typeof CONDITION_STATUS];
  @Field(() => String, { description: 'One word or constant code.' }) abstract readonly reason: string;
  @Field(() => String, { description: 'A sentence that says what to do.' }) abstract readonly message: string;
  @Field(() => GraphQLISODateTime) abstract readonly lastTransitionAt: Date;
  @Field(() => GraphQLISODateTime) abstract readonly observedAt: Date;
  @Field(() => FRESHNESS) abstract readonly freshness: Freshness;
}

/** One accelerator product over all nodes of a cluster. */
@ObjectType({ description: 'One accelerator product over all nodes of a cluster.' })
export abstract class Accelerator {
  @Field(() => String) abstract readonly product: string;
  @Field(() => Int) abstract readonly nodeCount: number;
  @Field(() => Int) abstract readonly allocatable: number;
}

/** A further fact, such as the service ranges of a cluster. */
@ObjectType({ description: 'A further fact, such as the service ranges of a cluster.' })
export abstract class Fact {
  @Field(() => String) abstract readonly name: string;
  @Field(() => JsonValue, { nullable: true }) abstract readonly value: unknown;
}

/** What the nodes of a cluster offer. */
@ObjectType({ description: 'What the nodes of a cluster offer.' })
export abstract class Inventory {
  @Field(() => Int) abstract readonly nodeCount: number;
  @Field(() => Int) abstract readonly readyNodeCount: number;
  @Field(() => [Accelerator]) abstract readonly accelerators: readonly Accelerator[];
  @Field(() => [Fact]) abstract readonly facts: readonly Fact[];
  @Field(() => GraphQLISODateTime) abstract readonly observedAt: Date;
  @Field(() => FRESHNESS) abstract readonly freshness: Freshness;
}

/** A place in the history of the fleet. */
@ObjectType({ description: 'A place in the history of the fleet.' })
export abstract class LogPosition {
  @Field(() => String) abstract readonly epoch: string;
  @Field(() => String, { description: 'A whole number, as text since it may outgrow Int.' }) abstract readonly sequence: string;
}

/** What the spoke of a cluster last said of itself. */
@ObjectType({ description: 'What the spoke of a cluster last said of itself.' })
export abstract class Spoke {
  @Field(() => String) abstract readonly version: string;
  @Field(() => Float, { description: 'Milliseconds by which its clock is ahead of the hub.' }) abstract readonly clockSkewMs: number;
  @Field(() => LogPosition, { nullable: true, description: 'What its data plane was last built from.' }) abstract readonly applied: LogPosition | undefined;
  @Field(() => GraphQLISODateTime, { description: 'When it last reported.' }) abstract readonly observedAt: Date;
  @Field(() => FRESHNESS) abstract readonly freshness: Freshness;
}

/** Somebody asked for the cluster to leave; the worker cleans up, then it disappears. */
@ObjectType({ description: 'Somebody asked for the cluster to leave; the worker cleans up, then it disappears.' })
export abstract class Removal {
  @Field(() => GraphQLISODateTime) abstract readonly requestedAt: Date;
  @Field(() => Boolean, { description: 'Whether it leaves without the cluster’s help.' }) abstract readonly force: boolean;
  @Field(() => String) abstract readonly by: string;
}

/** A registered cluster. */
@ObjectType({ description: 'A registered cluster.' })
export abstract class Cluster {
  @Field(() => String, { description: 'Unique in the fleet, fixed while the cluster is a member.' }) abstract readonly name: string;
  @Field(() => String, { nullable: true, description: 'UID of its kube-system namespace, once known.' }) abstract readonly uid: string | undefined;
  @Field(() => [Label]) abstract readonly labels: readonly Label[];
  @Field(() => Location) abstract readonly location: Location;
  @Field(() => String, { description: 'Clusters of one network reach each other’s pods directly.' }) abstract readonly network: string;
  @Field(() => FRESHNESS, { description: 'Whether its spoke reports. Whether its API server answers is the condition ApiReachable.' }) abstract readonly freshness: Freshness;
  @Field(() => GraphQLISODateTime, { nullable: true, description: 'When its spoke last reported.' }) abstract readonly observedAt: Date | undefined;
  @Field(() => Boolean, { description: 'Whether its spoke has told everything at least once.' }) abstract readonly firstListComplete: boolean;
  @Field(() => GraphQLISODateTime) abstract readonly registeredAt: Date;
  @Field(() => GraphQLISODateTime, { nullable: true }) abstract readonly enrolledAt: Date | undefined;
  @Field(() => String, { nullable: true, description: 'API server address, where a kubeconfig was given.' }) abstract readonly serverUrl: string | undefined;
  @Field(() => Boolean) abstract readonly hasKubeconfig: boolean;
  @Field(() => String, { nullable: true, description: 'Version of its API server, as the worker saw it.' }) abstract readonly kubernetesVersion: string | undefined;
  @Field(() => [Condition], { description: 'Sorted by type.' }) abstract readonly conditions: readonly Condition[];
  @Field(() => Inventory, { nullable: true }) abstract readonly inventory: Inventory | undefined;
  @Field(() => Spoke, { nullable: true }) abstract readonly spoke: Spoke | undefined;
  @Field(() => Removal, { nullable: true }) abstract readonly removal: Removal | undefined;
}

/** One page of clusters. */
export const ClusterConnection = connectionOf(Cluster, 'Cluster');

/** What mutations of a cluster answer. */
@ObjectType({ description: 'What mutations of a cluster answer.' })
export abstract class ClusterPayload {
  @Field(() => Cluster, { nullable: true }) abstract readonly cluster: Cluster | undefined;
  @Field(() => [UserError]) abstract readonly userErrors: readonly Problem[];
}

/** Lets one spoke join under one name, once. The token is shown here and never again. */
@ObjectType({ description: 'Lets one spoke join under one name, once. The token is shown here and never again.' })
export abstract class JoinToken {
  @Field(() => String) abstract readonly token: string;
  @Field(() => String) abstract readonly clusterName: string;
  @Field(() => GraphQLISODateTime) abstract readonly expiresAt: Date;
  @Field(() => Boolean, { description: 'Whether another cluster may take over the name with it.' }) abstract readonly replace: boolean;
}

/** What createJoinToken answers. */
@ObjectType({ description: 'What createJoinToken answers.' })
export abstract class JoinTokenPayload {
  @Field(() => JoinToken, { nullable: true }) abstract readonly joinToken: JoinToken | undefined;
  @Field(() => [UserError]) abstract readonly userErrors: readonly Problem[];
}
