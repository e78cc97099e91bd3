export { BullJobQueue, type QueueBackend } from './bull-job-queue.adapter.js';
