import { createServer, type AddressInfo } from 'node:net';

import { ServerCredentials, type Server } from '@grpc/grpc-js';

import { FleetError } from '#domain/fleet';
import { PeerDoor, type PeerDoorLimits } from '#platform';

/** Where a gRPC server listens, and with which certificate. */
export interface GuardedListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certPem: string; readonly keyPem: string } | undefined;
  readonly limits: PeerDoorLimits;
}

/** A port whose connections pass a door before gRPC sees them. */
export interface GuardedListener {
  readonly port: number;
  readonly door: PeerDoor;
  /** Takes no new connection. */
  stopListening(): void;
  /** Ends what is left, and resolves when nothing is. */
  close(): Promise<void>;
}

/** Listens for a gRPC server, which by itself would take connections without end. Throws FleetError XDS_LISTEN_FAILED. */
export async function listenGuarded(server: Server, { host, port, tls, limits }: GuardedListenOptions): Promise<GuardedListener> {
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(tls.certPem), private_key: Buffer.from(tls.keyPem) }]);
  const injector = server.createConnectionInjector(credentials);
  const door = new PeerDoor(limits);
  const listener = createServer({ noDelay: true }, (socket) => {
    if (door.letIn(socket)) injector.injectConnection(socket);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', (error) => reject(new FleetError('XDS_LISTEN_FAILED', 'user', `cannot serve xDS on ${host} port ${port}: ${error.message}`, { cause: error })));
    listener.listen(port, host, resolve);
  });
  listener.on('error', () => undefined);
  let closed: Promise<void> | undefined;
  const stopListening = (): void => {
    closed ??= new Promise((resolve) => listener.close(() => resolve()));
  };
  return {
    port: (listener.address() as AddressInfo).port,
    door,
    stopListening,
    close: async () => {
      stopListening();
      door.closeAll();
      await closed;
    },
  };
}
