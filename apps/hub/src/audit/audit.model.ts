import { Field, GraphQLISODateTime, ObjectType } from '@nestjs/graphql';

import { JsonValue } from '../graphql/scalars.js';

/** One change by a person. */
@ObjectType('AuditEntry', { description: 'One change by a person.' })
export abstract class AuditEntryModel {
  @Field(() => String) abstract readonly id: string;
  @Field(() => GraphQLISODateTime) abstract readonly at: Date;
  @Field(() => String) abstract readonly by: string;
  @Field(() => String, { description: 'Verb, such as `registerCluster`.' }) abstract readonly action: string;
  @Field(() => String, { description: 'What it was done to, such as `cluster/east-1`.' }) abstract readonly target: string;
  @Field(() => JsonValue, { nullable: true }) abstract readonly before: unknown;
  @Field(() => JsonValue, { nullable: true }) abstract readonly after: unknown;
}

/** One page of the audit log, newest first. */
@ObjectType({ description: 'One page of the audit log, newest first.' })
export abstract class AuditLogPage {
  @Field(() => [AuditEntryModel]) abstract readonly nodes: readonly AuditEntryModel[];
  @Field(() => String, { nullable: true, description: 'Give it as `after` for the next page; absent on the last one.' }) abstract readonly endCursor: string | undefined;
}
