import { FakeClock } from '../fake-clock.js';
import { FakeJobQueue } from './index.js';
import { jobQueueConformance } from './job-queue.conformance.js';

jobQueueConformance('FakeJobQueue', async () => {
  const clock = new FakeClock();
  const byName = new Map<string, FakeJobQueue>();
  return {
    open: (name) => {
      const first = byName.get(name);
      const queue = new FakeJobQueue({ clock, ...(first === undefined ? {} : { sharing: first }) });
      byName.set(name, first ?? queue);
      return queue;
    },
    pass: (ms) => clock.advance(ms),
    close: async () => undefined,
  };
});
