export { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';
export * from './keep-postgres.js';
