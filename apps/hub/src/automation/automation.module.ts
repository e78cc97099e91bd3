import { Module } from '@nestjs/common';

import { FleetModule } from '../fleet/fleet.module.js';
import { AutomationResolver } from './automation.resolver.js';
import { AutomationService } from './automation.service.js';

/** Freezing and resuming automation, and declaring a restore. */
@Module({ imports: [FleetModule], providers: [AutomationResolver, AutomationService] })
export class AutomationModule {}
