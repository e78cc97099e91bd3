import { isIp } from '#domain/addresses';
import { SHARE_TOTAL_BP, type Problem } from '#domain/fleet';

import { frontendKey, gatewayPortKey } from './frontend-key.js';
import type { Frontend, FrontendListener, GatewayPort, PlannedBackend, RoutingPlan } from './routing-plan.js';

/** Everything that is wrong with a plan; empty for every plan that may be served. A plan of ours with problems is a bug of ours. */
export function planProblems({ frontends, backends, gatewayPorts }: RoutingPlan): readonly Problem[] {
  const ids = new Set<string>(backends.map(({ id }) => id));
  return [
    ...repeated(frontends.map(frontendKey), 'frontends', 'PLAN_FRONTEND_REPEATED'),
    ...repeated(frontends.flatMap(claimedAddresses), 'frontends', 'PLAN_ADDRESS_REPEATED'),
    ...frontends.flatMap((frontend) => frontendProblems(frontend, ids)),
    ...repeated(backends.map(({ id }) => id), 'backends', 'PLAN_BACKEND_REPEATED'),
    ...backends.flatMap(backendProblems),
    ...repeated(gatewayPorts.map(gatewayPortKey), 'gatewayPorts', 'PLAN_GATEWAY_PORT_REPEATED'),
    ...gatewayPorts.flatMap((gatewayPort) => gatewayPortProblems(gatewayPort, ids)),
  ];
}

// One address may serve everyone and, apart from that, the callers of single namespaces.
const claimedAddresses = ({ addresses, callers }: Frontend): readonly string[] => addresses.map((address) => (callers === undefined ? address : `${address} for ${callers.namespace}`));

function gatewayPortProblems({ port, protocol, backend, sources }: GatewayPort, ids: ReadonlySet<string>): readonly Problem[] {
  const path = `gatewayPorts[${protocol}/${port}]`;
  return [
    ...(ids.has(backend) ? [] : [problem(path, 'PLAN_BACKEND_UNKNOWN', `backend ${backend} is not in the plan`)]),
    ...(isWhole(port, 1) && port <= 65_535 ? [] : [problem(path, 'PLAN_PORT_INVALID', `${port} is no port`)]),
    ...sources.filter((source) => !isIp(source)).map((source) => problem(path, 'PLAN_ADDRESS_MALFORMED', `"${source}" is no address`)),
  ];
}

function frontendProblems(frontend: Frontend, ids: ReadonlySet<string>): readonly Problem[] {
  const path = `frontends[${frontendKey(frontend)}]`;
  return [
    ...frontend.addresses.filter((address) => !isIp(address)).map((address) => problem(path, 'PLAN_ADDRESS_MALFORMED', `"${address}" is no address`)),
    ...repeated(frontend.listeners.map(({ name }) => name), path, 'PLAN_LISTENER_REPEATED'),
    ...repeated(frontend.listeners.map(({ port, protocol }) => `${port}/${protocol}`), path, 'PLAN_PORT_REPEATED'),
    ...frontend.listeners.flatMap((listener) => listenerProblems(listener, `${path}.listeners[${listener.name}]`, ids)),
  ];
}

function listenerProblems({ uses, rejectWeight }: FrontendListener, path: string, ids: ReadonlySet<string>): readonly Problem[] {
  return [
    ...repeated(uses.map(({ backend }) => backend), path, 'PLAN_USE_REPEATED'),
    ...uses.filter(({ backend }) => !ids.has(backend)).map(({ backend }) => problem(path, 'PLAN_BACKEND_UNKNOWN', `backend ${backend} is not in the plan`)),
    ...uses.filter(({ weight }) => !isWhole(weight, 1)).map(({ backend, weight }) => problem(path, 'PLAN_WEIGHT_INVALID', `backend ${backend} has weight ${weight}`)),
    ...(isWhole(rejectWeight, 0) ? [] : [problem(path, 'PLAN_WEIGHT_INVALID', `rejectWeight is ${rejectWeight}`)]),
    ...(uses.length === 0 && rejectWeight === 0 ? [problem(path, 'PLAN_LISTENER_IDLE', 'connections go neither to a backend nor to rejection')] : []),
  ];
}

function backendProblems({ id, providers }: PlannedBackend): readonly Problem[] {
  const path = `backends[${id}]`;
  const sum = providers.reduce((total, { shareBp }) => total + shareBp, 0);
  const endpoints = providers.flatMap((provider) => provider.endpoints);
  return [
    ...repeated(providers.map(({ clusterId }) => clusterId), path, 'PLAN_PROVIDER_REPEATED'),
    ...(providers.every(({ shareBp }) => isWhole(shareBp, 0)) ? [] : [problem(path, 'PLAN_SHARE_INVALID', 'a share is no whole number of at least 0')]),
    ...(sum === SHARE_TOTAL_BP || sum === 0 ? [] : [problem(path, 'PLAN_SHARES_INCOMPLETE', `shares sum to ${sum}, not to ${SHARE_TOTAL_BP} or 0`)]),
    ...endpoints.filter(({ address }) => !isIp(address)).map(({ address }) => problem(path, 'PLAN_ADDRESS_MALFORMED', `"${address}" is no address`)),
    ...endpoints.filter(({ port }) => !isWhole(port, 1) || port > 65_535).map(({ address, port }) => problem(path, 'PLAN_PORT_INVALID', `${address} has port ${port}`)),
    // gRPC refuses a backend in which an address is twice, even in different clusters.
    ...repeated(endpoints.map(({ address, port }) => `${address} port ${port}`), path, 'PLAN_ENDPOINT_REPEATED'),
  ];
}

function repeated(keys: readonly string[], path: string, code: string): readonly Problem[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const key of keys) (seen.has(key) ? twice : seen).add(key);
  return [...twice].map((key) => problem(path, code, `${key} is there more than once`));
}

const problem = (path: string, code: string, message: string): Problem => ({ path, code, message });
const isWhole = (value: number, min: number): boolean => Number.isInteger(value) && value >= min;
