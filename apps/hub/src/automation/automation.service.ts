import { Inject, Injectable } from '@nestjs/common';

import type { Problem } from '#domain/fleet';
import { readyCapacities } from '#domain/sameness';
import { FleetStore } from '#ports';

import { FleetViewSource } from '../core/fleet-view-source.js';
import type { Fleet } from '../fleet/fleet.model.js';
import { FleetService } from '../fleet/fleet.service.js';
import { answerMutation, type MutationAnswer } from '../graphql/user-error.model.js';

/** The longest reason of a freeze. */
const FREEZE_REASON_LENGTH_MAX = 500;

/** What an operator says of the whole fleet: share moves stop, or go on; the database was put back from a backup. */
@Injectable()
export class AutomationService {
  constructor(
    @Inject(FleetStore) private readonly store: FleetStore,
    @Inject(FleetViewSource) private readonly views: FleetViewSource,
    @Inject(FleetService) private readonly fleet: FleetService,
  ) {}

  async freeze(reason: string, by: string): Promise<MutationAnswer<Fleet>> {
    return answerMutation(reasonProblems(reason), async () => {
      // The split to hold is that of everything known up to now.
      await this.views.catchUp();
      await this.store.policies.freeze({ reason: reason.trim(), capacities: readyCapacities(this.views.current().view) }, by);
      await this.views.catchUp();
      return this.fleet.show();
    });
  }

  async resume(by: string): Promise<MutationAnswer<Fleet>> {
    return answerMutation([], async () => {
      await this.store.policies.resume(by);
      await this.views.catchUp();
      return this.fleet.show();
    });
  }

  async declareRestore(by: string): Promise<MutationAnswer<Fleet>> {
    return answerMutation([], async () => {
      await this.store.hubState.declareRestore(by);
      await this.views.catchUp();
      return this.fleet.show();
    });
  }
}

function reasonProblems(reason: string): readonly Problem[] {
  if (reason.trim() === '') return [{ path: 'reason', code: 'FREEZE_REASON_EMPTY', message: 'Say why automation is frozen; whoever finds it so will ask.' }];
  if (reason.length > FREEZE_REASON_LENGTH_MAX) return [{ path: 'reason', code: 'FREEZE_REASON_TOO_LONG', message: `Use at most ${FREEZE_REASON_LENGTH_MAX} characters.` }];
  return [];
}
