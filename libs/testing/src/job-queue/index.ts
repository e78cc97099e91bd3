export { FakeJobQueue } from './fake-job-queue.js';
