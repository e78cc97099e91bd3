import type { BackendPort, Endpoint, MemberPart, MemberReach } from '#domain/fleet';

/**
 * A part as consumers of other networks see it: one endpoint for each gateway address, with the gateway port that leads to
 * each of the backend's ports. It answers as long as any endpoint behind it does; how many there are is in `readyAssumed`.
 */
export function gatewayEndpoints({ backend, gatewayPorts }: MemberPart, { gateways }: MemberReach): readonly Endpoint[] {
  const targetPorts = backend.ports.map((port) => gatewayPortOf(gatewayPorts, port));
  const ready = backend.endpoints.some((endpoint) => endpoint.ready && !endpoint.terminating);
  const serving = ready || backend.endpoints.some((endpoint) => endpoint.serving);
  const terminating = !ready && backend.endpoints.some((endpoint) => endpoint.serving && endpoint.terminating);
  return gateways.map((address) => ({ address, targetPorts, ready, serving, terminating, zone: '', node: '' }));
}

/** The gateway port that leads to a backend's port; 0 where none does. */
export const gatewayPortOf = (assigned: MemberPart['gatewayPorts'], want: BackendPort): number =>
  assigned.find(({ port }) => port.port === want.port && port.protocol === want.protocol)?.gatewayPort ?? 0;
