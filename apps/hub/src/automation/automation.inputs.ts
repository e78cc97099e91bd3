import { Field, InputType } from '@nestjs/graphql';

/** Why automation is to stop. */
@InputType({ description: 'Why automation is to stop.' })
export abstract class FreezeAutomationInput {
  @Field(() => String, { description: 'Why, for those who find the fleet frozen.' }) abstract readonly reason: string;
}
