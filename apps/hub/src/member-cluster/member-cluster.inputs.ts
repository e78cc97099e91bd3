import { Field, InputType, Int } from '@nestjs/graphql';

/** One label. */
@InputType({ description: 'One label.' })
export abstract class LabelInput {
  @Field(() => String) abstract readonly key: string;
  @Field(() => String) abstract readonly value: string;
}

/** Where a cluster runs. */
@InputType({ description: 'Where a cluster runs.' })
export abstract class LocationInput {
  @Field(() => String) abstract readonly region: string;
  @Field(() => String, { defaultValue: '' }) abstract readonly zone: string;
}

/** A cluster to register. */
@InputType({ description: 'A cluster to register.' })
export abstract class RegisterClusterInput {
  @Field(() => String, { description: 'One RFC 1123 label of at most 63 characters, unique in the fleet.' }) abstract readonly name: string;
  @Field(() => String, { nullable: true, description: 'YAML or JSON with inline credentials only. Absent where only the spoke will call the hub.' }) abstract readonly kubeconfig?: string | null;
  @Field(() => String, { nullable: true, description: 'Which context of the kubeconfig; default is its current one.' }) abstract readonly context?: string | null;
  @Field(() => [LabelInput], { defaultValue: [] }) abstract readonly labels: readonly LabelInput[];
  @Field(() => LocationInput, { nullable: true }) abstract readonly location?: LocationInput | null;
  @Field(() => String, { defaultValue: 'default', description: 'Clusters of one network reach each other’s pods directly.' }) abstract readonly network: string;
}

/** What is absent stays as it is. */
@InputType({ description: 'What is absent stays as it is.' })
export abstract class UpdateClusterInput {
  @Field(() => String) abstract readonly name: string;
  @Field(() => [LabelInput], { nullable: true, description: 'Replaces all labels.' }) abstract readonly labels?: readonly LabelInput[] | null;
  @Field(() => LocationInput, { nullable: true }) abstract readonly location?: LocationInput | null;
  @Field(() => String, { nullable: true }) abstract readonly network?: string | null;
  @Field(() => String, { nullable: true, description: 'A new kubeconfig for the same cluster.' }) abstract readonly kubeconfig?: string | null;
  @Field(() => String, { nullable: true }) abstract readonly context?: string | null;
}

/** A cluster that is to leave. */
@InputType({ description: 'A cluster that is to leave.' })
export abstract class RemoveClusterInput {
  @Field(() => String) abstract readonly name: string;
  @Field(() => Boolean, { defaultValue: false, description: 'Leave without the cluster’s help; what is left in it is for its owner to remove.' }) abstract readonly force: boolean;
}

/** For whom a join token is, and how long. */
@InputType({ description: 'For whom a join token is, and how long.' })
export abstract class CreateJoinTokenInput {
  @Field(() => String, { description: 'Name of a registered cluster.' }) abstract readonly name: string;
  @Field(() => Boolean, { defaultValue: false, description: 'Lets another cluster take over the name.' }) abstract readonly replace: boolean;
  @Field(() => Int, { defaultValue: 3_600, description: 'Seconds for which it may be used, at most a day.' }) abstract readonly ttlSeconds: number;
}
