import type { MemberBackend } from './backend.js';
import { digest } from './digest.js';
import type { BackendName } from './ids.js';

/** The content hash of one member's part of a backend: equal parts have equal digests on the spoke and on the hub. */
export function memberBackendDigest(backend: MemberBackend): string {
  return digest(
    JSON.stringify([
      backend.name,
      backend.trafficClass,
      backend.sessionAffinity,
      backend.ports.map((port) => [port.port, port.protocol]),
      backend.endpoints.map((e) => [e.address, e.targetPorts, Number(e.ready), Number(e.serving), Number(e.terminating), e.zone, e.node]),
      [backend.capacity.unit, backend.capacity.perEndpoint],
    ]),
  );
}

/** The digest of a cluster's whole report, from the digests of its backends: what a heartbeat carries and the hub compares. */
export function reportDigest(digests: ReadonlyMap<BackendName, string>): string {
  return digest([...digests].map(([name, part]) => `${name} ${part}\n`).sort().join(''));
}
