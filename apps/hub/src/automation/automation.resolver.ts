import { Inject } from '@nestjs/common';
import { Context, Mutation, Resolver } from '@nestjs/graphql';

import type { CallContext } from '../auth/role.guard.js';
import { FleetPayload } from '../fleet/fleet.model.js';
import { Arg } from '../graphql/arg.decorator.js';
import { FreezeAutomationInput } from './automation.inputs.js';
import { AutomationService } from './automation.service.js';

/** GraphQL of the brake. */
@Resolver()
export class AutomationResolver {
  constructor(@Inject(AutomationService) private readonly service: AutomationService) {}

  @Mutation(() => FleetPayload, { description: 'Stops share moves. Where automation is frozen already, the first freeze stays.' })
  async freezeAutomation(@Arg('input', () => FreezeAutomationInput) { reason }: FreezeAutomationInput, @Context() { principal }: CallContext): Promise<FleetPayload> {
    const { value, userErrors } = await this.service.freeze(reason, principal.name);
    return { fleet: value, userErrors };
  }

  @Mutation(() => FleetPayload, { description: 'Lets shares move again.' })
  async resumeAutomation(@Context() { principal }: CallContext): Promise<FleetPayload> {
    const { value, userErrors } = await this.service.resume(principal.name);
    return { fleet: value, userErrors };
  }
}
