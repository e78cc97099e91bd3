import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Bounds of DNS over TCP. */
export interface TcpLimits {
  /** Connections at once; more are closed as they come. */
  readonly connectionsMax: number;
  /** A connection on which nothing happens for so long is closed. */
  readonly idleMs: number;
}

/** A listening TCP socket. */
export interface TcpListener {
  readonly port: number;
  connectionCount(): number;
  close(): Promise<void>;
}

const LENGTH_BYTES = 2;
/** Longer questions exist only to hurt. */
const QUERY_BYTES_MAX = 4_096;

/** Answers length-prefixed messages (RFC 7766), in the order in which they come. */
export async function listenTcp(host: string, port: number, limits: TcpLimits, respond: (message: Buffer) => Buffer | undefined): Promise<TcpListener> {
  const connections = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    if (connections.size >= limits.connectionsMax) {
      socket.destroy();
      return;
    }
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    serve(socket, limits.idleMs, respond);
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => connections.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections) socket.destroy();
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

function serve(socket: Socket, idleMs: number, respond: (message: Buffer) => Buffer | undefined): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.setTimeout(idleMs, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('drain', () => socket.resume());
  socket.on('data', (chunk: Buffer) => {
    const { rest, messages } = splitMessages(pending.length === 0 ? chunk : Buffer.concat([pending, chunk]));
    pending = rest;
    for (const message of messages) {
      const response = respond(message);
      // A message that is no query ends the conversation: what follows it cannot be trusted either.
      if (response === undefined) {
        socket.destroy();
        return;
      }
      // A client that asks without reading is not read from until it has read.
      if (!socket.write(framed(response))) socket.pause();
    }
    if (pending.length >= LENGTH_BYTES && pending.readUInt16BE(0) > QUERY_BYTES_MAX) socket.destroy();
  });
}

function splitMessages(bytes: Buffer): { readonly rest: Buffer; readonly messages: readonly Buffer[] } {
  const messages: Buffer[] = [];
  let at = 0;
  while (at + LENGTH_BYTES <= bytes.length) {
    const end = at + LENGTH_BYTES + bytes.readUInt16BE(at);
    if (end > bytes.length) break;
    messages.push(bytes.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return { rest: bytes.subarray(at), messages };
}

function framed(response: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(response.length, 0);
  return Buffer.concat([length, response]);
}
