import { Field, InputType } from '@nestjs/graphql';

import { LabelInput } from '../member-cluster/member-cluster.inputs.js';

/** All clusters, or those of these names, or those with all of these labels. */
@InputType({ description: 'All clusters, or those of these names, or those with all of these labels.' })
export abstract class ClusterSelectionInput {
  @Field(() => Boolean, { defaultValue: false }) abstract readonly all: boolean;
  @Field(() => [String], { defaultValue: [] }) abstract readonly names: readonly string[];
  @Field(() => [LabelInput], { defaultValue: [] }) abstract readonly matchLabels: readonly LabelInput[];
}

/** A whole sameness policy. */
@InputType({ description: 'A whole sameness policy.' })
export abstract class SetSamenessPolicyInput {
  @Field(() => String, { description: 'Creates the policy of this name, or replaces it.' }) abstract readonly name: string;
  @Field(() => [String], { description: 'Names, or prefixes that end in `*`.' }) abstract readonly namespaces: readonly string[];
  @Field(() => ClusterSelectionInput) abstract readonly mayExport: ClusterSelectionInput;
  @Field(() => ClusterSelectionInput) abstract readonly mayImport: ClusterSelectionInput;
  @Field(() => String, { defaultValue: '' }) abstract readonly owner: string;
}

/** A policy that is to go. */
@InputType({ description: 'A policy that is to go.' })
export abstract class DeletePolicyInput {
  @Field(() => String) abstract readonly name: string;
}
