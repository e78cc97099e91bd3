export { FakeJobQueue } from './fake-job-queue.js';
export { jobQueueConformance, type JobQueueUnderTest } from './job-queue.conformance.js';
