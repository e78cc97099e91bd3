import { acceptedFrontendKey } from '#domain/gateway-api';

import type { Frontend, GatewayPort } from './routing-plan.js';

/** What tells frontends of a plan apart; plans are sorted by it. Gateways have no kind in it: theirs is the plain `namespace/name`. */
export const frontendKey = ({ kind, namespace, name, callers }: Pick<Frontend, 'kind' | 'namespace' | 'name' | 'callers'>): string =>
  acceptedFrontendKey({ kind, namespace, name, callersNamespace: callers?.namespace });

/** What tells gateway ports of a plan apart; plans are sorted by it. */
export const gatewayPortKey = ({ protocol, port }: Pick<GatewayPort, 'protocol' | 'port'>): string => `${protocol}/${String(port).padStart(5, '0')}`;
