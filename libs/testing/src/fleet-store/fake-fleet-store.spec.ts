import { FakeClock } from '../fake-clock.js';
import { FakeFleetStore } from './fake-fleet-store.js';
import { describeFleetStore } from './fleet-store.conformance.js';

describeFleetStore('FakeFleetStore', {
  open: async (clock) => new FakeFleetStore(clock),
  openReplica: async (store) => store,
  makeClock: () => new FakeClock(),
  closeAll: async () => undefined,
});
