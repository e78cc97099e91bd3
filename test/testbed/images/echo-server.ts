import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/**
 * A back end that says who it is: every path answers JSON with cluster, namespace, pod, node and address. `/readyz` answers
 * 200 or 503; `PUT` and `DELETE /ready` set which. `?delayMs=` holds an answer back. It ends at once on SIGTERM, after the
 * answers under way.
 */
const port = Number(process.env.PORT ?? '8080');
const identity = {
  cluster: process.env.TESTBED_CLUSTER ?? '',
  node: process.env.TESTBED_NODE ?? '',
  namespace: process.env.TESTBED_POD_NAMESPACE ?? '',
  pod: process.env.HOSTNAME ?? '',
};
let ready = process.env.READY !== 'false';

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://echo');
  const delayMs = Number(url.searchParams.get('delayMs') ?? '0');
  if (delayMs > 0) setTimeout(() => answer(request, response, url), delayMs);
  else answer(request, response, url);
});

function answer(request: IncomingMessage, response: ServerResponse, url: URL): void {
  if (url.pathname === '/ready' && request.method === 'PUT') ready = true;
  if (url.pathname === '/ready' && request.method === 'DELETE') ready = false;
  response.statusCode = url.pathname === '/readyz' && !ready ? 503 : 200;
  response.setHeader('content-type', 'application/json');
  const { localAddress, localPort, remoteAddress } = request.socket;
  response.end(`${JSON.stringify({ ...identity, ready, address: `${localAddress}:${localPort}`, caller: remoteAddress, path: url.pathname })}\n`);
}

server.listen(port, '0.0.0.0');
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
