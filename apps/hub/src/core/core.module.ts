import { Module, type DynamicModule } from '@nestjs/common';

import { Clock, FleetStore } from '#ports';

import { FleetViewSource } from './fleet-view-source.js';
import { HUB_SETTINGS, type HubSettings } from './hub-settings.js';

/** What the hub's GraphQL side is made over. */
export interface HubCore {
  readonly store: FleetStore;
  readonly views: FleetViewSource;
  readonly clock: Clock;
  readonly settings: HubSettings;
}

/** Gives every module the ports, by their own classes as tokens. */
@Module({})
export class CoreModule {
  static over({ store, views, clock, settings }: HubCore): DynamicModule {
    const providers = [
      { provide: FleetStore, useValue: store },
      { provide: FleetViewSource, useValue: views },
      { provide: Clock, useValue: clock },
      { provide: HUB_SETTINGS, useValue: settings },
    ];
    return { module: CoreModule, global: true, providers, exports: providers };
  }
}
