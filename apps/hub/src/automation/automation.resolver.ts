import { Inject } from '@nestjs/common';
import { Context, Mutation, Resolver } from '@nestjs/graphql';

import type { CallContext } from '../auth/role.guard.js';
import { FleetPayload } from '../fleet/fleet.model.js';
import { Arg } from '../graphql/arg.decorator.js';
import { FreezeAutomationInput } from './automation.inputs.js';
import { AutomationService } from './automation.service.js';

/** GraphQL of what is said of the whole fleet. */
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

  @Mutation(() => FleetPayload, { description: 'Says that the database was put back from a backup: a new epoch begins, every member is asked for everything anew, and nothing of the backup reaches a spoke that knows better until they have answered or are judged stale.' })
  async declareRestore(@Context() { principal }: CallContext): Promise<FleetPayload> {
    const { value, userErrors } = await this.service.declareRestore(principal.name);
    return { fleet: value, userErrors };
  }
}
