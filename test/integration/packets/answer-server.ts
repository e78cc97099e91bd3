// Runs inside a network namespace: answers on every address and port given as `address:port`, with who answered and who
// called. Says `ready` when all of them listen.
import { createServer } from 'node:net';

let waiting = process.argv.length - 2;
for (const target of process.argv.slice(2)) {
  const [host = '', port = ''] = target.split(':');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(JSON.stringify({ by: target, from: socket.remoteAddress }));
  });
  server.listen({ host, port: Number(port), backlog: 4096 }, () => {
    waiting -= 1;
    if (waiting === 0) process.stdout.write('ready\n');
  });
}

// Whoever started this has ended, however it ended.
process.stdin.resume().on('close', () => process.exit(0));
