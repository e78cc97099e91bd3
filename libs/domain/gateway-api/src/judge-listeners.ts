import type { Protocol } from '#domain/fleet';

import type { Verdict } from './gateway-decisions.js';
import { GATEWAY_API_GROUP } from './names.js';
import type { GatewayListener, GatewayObject, RouteKind, ServedRouteKind } from './objects.js';
import { no, yes } from './verdict.js';

/** What a Gateway's spec alone says about one of its listeners. */
export interface JudgedListener {
  readonly listener: GatewayListener;
  readonly accepted: Verdict;
  readonly unconflicted: Verdict;
  readonly resolvedRefs: Verdict;
  readonly supportedKinds: readonly RouteKind[];
  /** Undefined where the listener cannot serve. */
  readonly protocol: Protocol | undefined;
}

/** The one kind of route that a listener of each served protocol takes. */
const ROUTE_KINDS: Readonly<Record<Protocol, ServedRouteKind>> = { TCP: 'TCPRoute', UDP: 'UDPRoute' };

/** Judges every listener of a Gateway, in the order of its spec. */
export function judgeListeners(gateway: GatewayObject): readonly JudgedListener[] {
  return gateway.listeners.map((listener) => {
    const unconflicted = judgeConflicts(listener, gateway.listeners);
    const accepted = judgeAcceptance(listener, unconflicted);
    const { supportedKinds, resolvedRefs } = judgeKinds(listener);
    return { listener, accepted, unconflicted, resolvedRefs, supportedKinds, protocol: accepted.ok ? servedProtocol(listener) : undefined };
  });
}

function judgeAcceptance({ protocol, name }: GatewayListener, unconflicted: Verdict): Verdict {
  if (servedProtocol({ protocol }) === undefined) {
    return no('UnsupportedProtocol', `Listener "${name}" asks for protocol ${protocol}; this class serves TCP and UDP.`);
  }
  return unconflicted.ok ? yes('Accepted', 'The listener is valid.') : no('Invalid', unconflicted.message);
}

const servedProtocol = ({ protocol }: Pick<GatewayListener, 'protocol'>): Protocol | undefined => (protocol === 'TCP' || protocol === 'UDP' ? protocol : undefined);

function judgeConflicts(listener: GatewayListener, all: readonly GatewayListener[]): Verdict {
  const rivals = all.filter((other) => other.name !== listener.name && other.port === listener.port);
  const protocolRivals = rivals.filter((other) => isProtocolConflict(listener.protocol, other.protocol));
  if (protocolRivals.length > 0) return no('ProtocolConflict', conflictText(listener, protocolRivals));
  const hostnameRivals = rivals.filter((other) => other.protocol === listener.protocol && other.hostname === listener.hostname);
  if (listener.protocol !== 'UDP' && hostnameRivals.length > 0) return no('HostnameConflict', conflictText(listener, hostnameRivals));
  return hostnameRivals.length > 0 ? no('ProtocolConflict', conflictText(listener, hostnameRivals)) : yes('NoConflicts', 'No other listener wants this port.');
}

// A TCP connection says nothing by which two TCP listeners of one port could be told apart; UDP is another port space.
function isProtocolConflict(one: string, other: string): boolean {
  if (one === 'UDP' || other === 'UDP') return false;
  if (one === 'TCP' || other === 'TCP') return true;
  return one !== other && !(isTls(one) && isTls(other));
}

const isTls = (protocol: string): boolean => protocol === 'TLS' || protocol === 'HTTPS';

const conflictText = ({ port }: GatewayListener, rivals: readonly GatewayListener[]): string =>
  `Port ${port} is also wanted by ${rivals.map(({ name, protocol }) => `listener "${name}" (${protocol})`).join(', ')}; give each its own port.`;

function judgeKinds(listener: GatewayListener): Pick<JudgedListener, 'supportedKinds' | 'resolvedRefs'> {
  const { allowedKinds } = listener;
  const protocol = servedProtocol(listener);
  const resolved = yes('ResolvedRefs', 'All references are resolved.');
  if (protocol === undefined) return { supportedKinds: [], resolvedRefs: resolved };
  const suitable: RouteKind = { group: GATEWAY_API_GROUP, kind: ROUTE_KINDS[protocol] };
  const unsuitable = allowedKinds.filter((kind) => !isSameKind(kind, suitable));
  if (unsuitable.length === 0) return { supportedKinds: [suitable], resolvedRefs: resolved };
  return {
    supportedKinds: allowedKinds.some((allowed) => isSameKind(allowed, suitable)) ? [suitable] : [],
    resolvedRefs: no('InvalidRouteKinds', `A ${protocol} listener takes ${suitable.kind} only, not ${unsuitable.map(({ kind }) => kind).join(', ')}; remove them from allowedRoutes.kinds.`),
  };
}

const isSameKind = (one: RouteKind, other: RouteKind): boolean => one.group === other.group && one.kind === other.kind;
