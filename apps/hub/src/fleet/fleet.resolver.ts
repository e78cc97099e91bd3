import { Inject } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';

import { Fleet } from './fleet.model.js';
import { FleetService } from './fleet.service.js';

/** GraphQL of the fleet as a whole. */
@Resolver(() => Fleet)
export class FleetResolver {
  constructor(@Inject(FleetService) private readonly service: FleetService) {}

  @Query(() => Fleet)
  fleet(): Fleet {
    return this.service.show();
  }
}
