import { Field, ObjectType } from '@nestjs/graphql';

import type { Problem } from '#domain/fleet';

import { connectionOf } from '../graphql/connection.model.js';
import { UserError } from '../graphql/user-error.model.js';
import { Label } from '../member-cluster/member-cluster.model.js';

/** Selects clusters: all, or those of these names, or those with all of these labels. */
@ObjectType({ description: 'Selects clusters: all, or those of these names, or those with all of these labels.' })
export abstract class ClusterSelection {
  @Field(() => Boolean) abstract readonly all: boolean;
  @Field(() => [String]) abstract readonly names: readonly string[];
  @Field(() => [Label]) abstract readonly matchLabels: readonly Label[];
}

/** In which clusters namespaces of these names mean the same. Nothing is the same until a policy says so. */
@ObjectType('SamenessPolicy', { description: 'In which clusters namespaces of these names mean the same. Nothing is the same until a policy says so.' })
export abstract class SamenessPolicyModel {
  @Field(() => String) abstract readonly name: string;
  @Field(() => [String], { description: 'Names, or prefixes that end in `*`.' }) abstract readonly namespaces: readonly string[];
  @Field(() => ClusterSelection) abstract readonly mayExport: ClusterSelection;
  @Field(() => ClusterSelection) abstract readonly mayImport: ClusterSelection;
  @Field(() => String) abstract readonly owner: string;
}

/** One page of policies. */
export const SamenessPolicyConnection = connectionOf(SamenessPolicyModel, 'SamenessPolicy');

/** What mutations of a policy answer. */
@ObjectType({ description: 'What mutations of a policy answer.' })
export abstract class SamenessPolicyPayload {
  @Field(() => SamenessPolicyModel, { nullable: true }) abstract readonly policy: SamenessPolicyModel | undefined;
  @Field(() => [UserError]) abstract readonly userErrors: readonly Problem[];
}
