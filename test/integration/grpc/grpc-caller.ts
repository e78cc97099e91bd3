// A gRPC client as an application has it: asks the xDS server of its bootstrap, and calls what `xds:///NAME` means. Reads
// `{"name": …, "count": …}` lines and answers each with who served how many calls, failures by their status.
import { createInterface } from 'node:readline';

import { Client, credentials, status } from '@grpc/grpc-js';
import { register } from '@grpc/grpc-js-xds';

register();

const asIs = (bytes: Buffer): Buffer => bytes;
const clients = new Map<string, Client>();
const DEADLINE_MS = 20_000;

function call(name: string): Promise<string> {
  const client = clients.get(name) ?? new Client(`xds:///${name}`, credentials.createInsecure());
  clients.set(name, client);
  return new Promise((resolve) => {
    client.makeUnaryRequest('/test.Echo/Who', asIs, asIs, Buffer.alloc(0), { deadline: Date.now() + DEADLINE_MS }, (error, answer) => resolve(error === null ? String(answer) : `failed ${status[error.code]}`));
  });
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { name, count } = JSON.parse(line) as { readonly name: string; readonly count: number };
  const counts: Record<string, number> = {};
  for (let made = 0; made < count; made += 1) {
    const by = await call(name);
    counts[by] = (counts[by] ?? 0) + 1;
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`);
}
for (const client of clients.values()) client.close();
process.exit(0);
