export { migrate } from './migrate.js';
export { createPostgresStore, type PostgresStoreOptions } from './postgres-fleet-store.js';
