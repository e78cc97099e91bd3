import { Inject } from '@nestjs/common';
import { Context, Int, Mutation, Query, Resolver } from '@nestjs/graphql';

import type { CallContext } from '../auth/role.guard.js';
import { Arg } from '../graphql/arg.decorator.js';
import { PAGE_SIZE_DEFAULT, type Page } from '../graphql/page.js';
import { DeletePolicyInput, SetSamenessPolicyInput } from './policy.inputs.js';
import { SamenessPolicyConnection, SamenessPolicyModel, SamenessPolicyPayload } from './policy.model.js';
import { PolicyService } from './policy.service.js';

/** GraphQL of policies. */
@Resolver(() => SamenessPolicyModel)
export class PolicyResolver {
  constructor(@Inject(PolicyService) private readonly service: PolicyService) {}

  @Query(() => SamenessPolicyConnection, { description: 'Sameness policies, sorted by name.' })
  async policies(@Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number, @Arg('after', () => String, { nullable: true }) after?: string | null): Promise<Page<SamenessPolicyModel>> {
    return this.service.list({ first, after: after ?? undefined });
  }

  @Query(() => SamenessPolicyModel, { nullable: true })
  async policy(@Arg('name', () => String) name: string): Promise<SamenessPolicyModel | undefined> {
    return this.service.find(name);
  }

  @Mutation(() => SamenessPolicyPayload, { description: 'Creates or replaces a sameness policy.' })
  async setSamenessPolicy(@Arg('input', () => SetSamenessPolicyInput) input: SetSamenessPolicyInput, @Context() { principal }: CallContext): Promise<SamenessPolicyPayload> {
    const { value, userErrors } = await this.service.set(input, principal.name);
    return { policy: value, userErrors };
  }

  @Mutation(() => SamenessPolicyPayload, { description: 'Deletes a policy and answers with what it was.' })
  async deletePolicy(@Arg('input', () => DeletePolicyInput) { name }: DeletePolicyInput, @Context() { principal }: CallContext): Promise<SamenessPolicyPayload> {
    const { value, userErrors } = await this.service.remove(name, principal.name);
    return { policy: value, userErrors };
  }
}
