import { Field, GraphQLISODateTime, Int, ObjectType } from '@nestjs/graphql';

import type { Problem } from '#domain/fleet';

import { UserError } from '../graphql/user-error.model.js';
import { LogPosition } from '../member-cluster/member-cluster.model.js';

/** Automation is stopped: shares stay as they were; endpoints that are gone still go. */
@ObjectType('Freeze', { description: 'Automation is stopped: shares stay as they were; endpoints that are gone still go.' })
export abstract class FreezeModel {
  @Field(() => String) abstract readonly reason: string;
  @Field(() => GraphQLISODateTime) abstract readonly since: Date;
}

/** The whole fleet, as this hub holds it in memory. */
@ObjectType({ description: 'The whole fleet, as this hub holds it in memory.' })
export abstract class Fleet {
  @Field(() => LogPosition, { description: 'Where in its history this view stands.' }) abstract readonly position: LogPosition;
  @Field(() => Int) abstract readonly clusterCount: number;
  @Field(() => Int, { description: 'Clusters whose spoke reports.' }) abstract readonly freshCount: number;
  @Field(() => Int, { description: 'Clusters whose spoke has been silent for too long.' }) abstract readonly staleCount: number;
  @Field(() => Int, { description: 'Clusters whose spoke has not reported yet.' }) abstract readonly joiningCount: number;
  @Field(() => Int) abstract readonly backendCount: number;
  @Field(() => Int) abstract readonly policyCount: number;
  @Field(() => FreezeModel, { nullable: true, description: 'Set while automation is frozen.' }) abstract readonly freeze: FreezeModel | undefined;
  @Field(() => String, { description: 'Where spokes reach this hub.' }) abstract readonly publicUrl: string;
}

/** What mutations of automation answer. */
@ObjectType({ description: 'What mutations of automation answer.' })
export abstract class FleetPayload {
  @Field(() => Fleet, { nullable: true }) abstract readonly fleet: Fleet | undefined;
  @Field(() => [UserError]) abstract readonly userErrors: readonly Problem[];
}
