import { Inject, Injectable } from '@nestjs/common';

import type { FleetView, Freshness } from '#domain/fleet';

import { FleetViewSource } from '../core/fleet-view-source.js';
import { HUB_SETTINGS, type HubSettings } from '../core/hub-settings.js';
import type { Fleet } from './fleet.model.js';

/** Shows the fleet as a whole. */
@Injectable()
export class FleetService {
  constructor(
    @Inject(FleetViewSource) private readonly views: FleetViewSource,
    @Inject(HUB_SETTINGS) private readonly settings: HubSettings,
  ) {}

  show(): Fleet {
    const { epoch, sequence, view } = this.views.current();
    return {
      position: { epoch, sequence: sequence.toString() },
      clusterCount: view.members.size,
      freshCount: countOf(view, 'fresh'),
      staleCount: countOf(view, 'stale'),
      joiningCount: countOf(view, 'joining'),
      backendCount: view.parts.size,
      policyCount: view.policies.length,
      freeze: view.freeze === undefined ? undefined : { reason: view.freeze.reason, since: new Date(view.freeze.sinceMs) },
      publicUrl: this.settings.publicUrl,
    };
  }
}

const countOf = (view: FleetView, want: Freshness): number => [...view.members.values()].filter(({ freshness }) => freshness === want).length;
