export { BullJobQueue, type BullJobQueueOptions, type QueueBackend } from './bull-job-queue.adapter.js';
