import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';

/** Responses that may wait for the kernel; more are dropped, as the network would. */
const SEND_QUEUE_BYTES_MAX = 4 * 1024 * 1024;

const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

/** A bound UDP socket. */
export interface UdpListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers datagrams; `respond` gives the answer at once, or nothing. */
export async function listenUdp(host: string, port: number, respond: (message: Buffer) => Buffer | undefined): Promise<UdpListener> {
  const family = host.includes(':') ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    // Answers go to the address that the question came from: there is no name to look up.
    lookup: (address, _options, callback) => callback(null, address, family),
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, host, () => {
      socket.off('error', reject);
      resolve();
    });
  });
  enlargeReceiveBuffer(socket);
  // An ICMP error of one client's network is nobody else's trouble.
  socket.on('error', () => undefined);
  socket.on('message', (message: Buffer, from: RemoteInfo) => answerDatagram(socket, respond, message, from));
  return { port: socket.address().port, close: () => new Promise((resolve) => socket.close(() => resolve())) };
}

/** Answers one datagram, whoever it says that it is from. */
export function answerDatagram(socket: Socket, respond: (message: Buffer) => Buffer | undefined, message: Buffer, from: Pick<RemoteInfo, 'address' | 'port'>): void {
  // Nobody can be answered on port 0: such datagrams are forged, and sending to it throws.
  if (from.port === 0) return;
  const response = respond(message);
  if (response === undefined || socket.getSendQueueSize() > SEND_QUEUE_BYTES_MAX) return;
  socket.send(response, from.port, from.address, ignore);
}

const ignore = (): void => undefined;

// The kernel may grant less; a burst is then dropped sooner, which DNS clients expect.
function enlargeReceiveBuffer(socket: Socket): void {
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
  } catch {
    return;
  }
}
