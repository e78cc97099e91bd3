import { createServer, type AddressInfo, type Server } from 'node:net';

/** Ports that nobody listens on now. They are held together while they are chosen, so that all differ. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenAnywhere));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listenAnywhere(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => resolve(server));
  });
}
