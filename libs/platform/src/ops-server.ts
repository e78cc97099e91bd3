import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { collectDefaultMetrics, Registry } from 'prom-client';

/** One reason why a process is not ready, or undefined where it is. */
export type ReadinessCheck = () => string | undefined;

/** The running operations door of a process. */
export interface OpsServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** A metrics registry with the process's own default metrics. */
export function createRegistry(app: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ app });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * Serves `/healthz` (the process runs), `/readyz` (200, or 503 with every reason) and `/metrics` (Prometheus text).
 * A scrape does no I/O beyond this process (C81).
 */
export async function startOpsServer(options: {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
}): Promise<OpsServer> {
  const server = createServer((request, response) => {
    void answer(request, response, options.registry, options.readiness);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://${options.host}:${port}`, close: () => closeServer(server) };
}

async function answer(request: IncomingMessage, response: ServerResponse, registry: Registry, readiness: Readonly<Record<string, ReadinessCheck>>): Promise<void> {
  switch (request.url) {
    case '/healthz':
      response.end('ok\n');
      return;
    case '/readyz': {
      const reasons = notReadyReasons(readiness);
      response.statusCode = reasons.length === 0 ? 200 : 503;
      response.end(reasons.length === 0 ? 'ok\n' : `${reasons.join('\n')}\n`);
      return;
    }
    case '/metrics':
      response.setHeader('content-type', registry.contentType);
      response.end(await registry.metrics());
      return;
    default:
      response.statusCode = 404;
      response.end('try /healthz, /readyz or /metrics\n');
  }
}

/** Every failing readiness check as `name: reason`. */
export function notReadyReasons(readiness: Readonly<Record<string, ReadinessCheck>>): string[] {
  return Object.entries(readiness).flatMap(([name, check]) => {
    const reason = check();
    return reason === undefined ? [] : [`${name}: ${reason}`];
  });
}

async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
