import { createServer, type AddressInfo, type Server } from 'node:net';

import { TcpConversation } from './tcp-conversation.js';
import { TcpDoor, type TcpEnding, type TcpLimits } from './tcp-door.js';

/** A listening TCP socket. */
export interface TcpListener {
  readonly port: number;
  connectionCount(): number;
  /** Connections that were not let in, or that ended for somebody else's sake, by the reason. */
  readonly endings: Readonly<Record<TcpEnding, number>>;
  close(): Promise<void>;
}

/** Answers length-prefixed messages (RFC 7766), in the order in which they come. */
export async function listenTcp(host: string, port: number, limits: TcpLimits, respond: (message: Buffer) => Buffer | undefined): Promise<TcpListener> {
  const door = new TcpDoor(limits);
  const server = createServer({ noDelay: true }, (socket) => {
    if (!door.letIn(socket)) return;
    const conversation = new TcpConversation(socket, respond, () => door.asked(socket));
    conversation.start();
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => door.count,
    endings: door.endings,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        door.closeAll();
      }),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => undefined);
}
