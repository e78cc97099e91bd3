export { migrate } from './migrate.js';
export { createPostgresStore } from './postgres-fleet-store.js';
