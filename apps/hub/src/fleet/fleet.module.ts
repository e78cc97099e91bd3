import { Module } from '@nestjs/common';

import { FleetResolver } from './fleet.resolver.js';
import { FleetService } from './fleet.service.js';

/** The fleet as a whole. */
@Module({ providers: [FleetResolver, FleetService], exports: [FleetService] })
export class FleetModule {}
