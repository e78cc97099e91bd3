import { beforeAll } from '@jest/globals';

import { createPostgresStore } from '#adapters/postgres';
import { AesSecretBox } from '#adapters/secret-box';
import type { FleetStore } from '#ports';
import { FakeClock } from '#testing';

import { describeFleetStore } from '#testing/conformance';
import { type PostgresServer, startPostgresServer } from './postgres-server.js';

let server: PostgresServer | undefined;
const opened: FleetStore[] = [];
const urls = new Map<FleetStore, string>();

beforeAll(async () => {
  server = await startPostgresServer();
}, 60_000);

function connect(connectionString: string, clock: FakeClock): FleetStore {
  const store = createPostgresStore({ connectionString, clock, secretBox: new AesSecretBox([Buffer.alloc(32, 7)]), poolSizeMax: 8 });
  opened.push(store);
  urls.set(store, connectionString);
  return store;
}

describeFleetStore('PostgresFleetStore', {
  open: async (clock) => connect(await server!.freshDatabase(), clock),
  openReplica: async (store, clock) => connect(urls.get(store)!, clock),
  makeClock: () => new FakeClock(),
  closeAll: async () => {
    await Promise.all(opened.map((store) => store.close()));
    await server?.stop();
  },
});
