import { Inject } from '@nestjs/common';
import { Context, Int, Mutation, Query, Resolver } from '@nestjs/graphql';

import type { Freshness } from '#domain/fleet';

import type { CallContext } from '../auth/role.guard.js';
import { Arg } from '../graphql/arg.decorator.js';
import { PAGE_SIZE_DEFAULT, type Page } from '../graphql/page.js';
import { answerMutation } from '../graphql/user-error.model.js';
import { JoinTokenService } from './join-token.service.js';
import { CreateJoinTokenInput, RegisterClusterInput, RemoveClusterInput, UpdateClusterInput } from './member-cluster.inputs.js';
import { Cluster, ClusterConnection, ClusterPayload, FRESHNESS, JoinTokenPayload } from './member-cluster.model.js';
import { MemberClusterService } from './member-cluster.service.js';

/** GraphQL of member clusters. */
@Resolver(() => Cluster)
export class MemberClusterResolver {
  constructor(
    @Inject(MemberClusterService) private readonly members: MemberClusterService,
    @Inject(JoinTokenService) private readonly joinTokens: JoinTokenService,
  ) {}

  @Query(() => ClusterConnection, { description: 'Registered clusters, sorted by name.' })
  async clusters(
    @Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number,
    @Arg('after', () => String, { nullable: true }) after?: string | null,
    @Arg('freshness', () => FRESHNESS, { nullable: true }) freshness?: Freshness | null,
  ): Promise<Page<Cluster>> {
    return this.members.list({ freshness: freshness ?? undefined }, { first, after: after ?? undefined });
  }

  @Query(() => Cluster, { nullable: true })
  async cluster(@Arg('name', () => String) name: string): Promise<Cluster | undefined> {
    return this.members.find(name);
  }

  @Mutation(() => ClusterPayload, { description: 'Makes a cluster a member. The connection is tried afterwards; what was found stands in its conditions.' })
  async registerCluster(@Arg('input', () => RegisterClusterInput) input: RegisterClusterInput, @Context() { principal }: CallContext): Promise<ClusterPayload> {
    const { value, userErrors } = await this.members.register(input, principal.name);
    return { cluster: value, userErrors };
  }

  @Mutation(() => ClusterPayload, { description: 'Changes labels, location, network or kubeconfig of a cluster.' })
  async updateCluster(@Arg('input', () => UpdateClusterInput) input: UpdateClusterInput, @Context() { principal }: CallContext): Promise<ClusterPayload> {
    const { value, userErrors } = await this.members.update(input, principal.name);
    return { cluster: value, userErrors };
  }

  @Mutation(() => ClusterPayload, { description: 'Asks for a cluster to leave. It is shown with `removal` until the worker has cleaned up.' })
  async removeCluster(@Arg('input', () => RemoveClusterInput) input: RemoveClusterInput, @Context() { principal }: CallContext): Promise<ClusterPayload> {
    const { value, userErrors } = await this.members.remove(input, principal.name);
    return { cluster: value, userErrors };
  }

  @Mutation(() => JoinTokenPayload, { description: 'Makes a token with which one spoke joins under the name of a registered cluster.' })
  async createJoinToken(@Arg('input', () => CreateJoinTokenInput) input: CreateJoinTokenInput, @Context() { principal }: CallContext): Promise<JoinTokenPayload> {
    const { value, userErrors } = await answerMutation(this.joinTokens.problems(input), () => this.joinTokens.create(input, principal.name));
    return { joinToken: value, userErrors };
  }
}
