import type { Verdict } from './gateway-decisions.js';
import type { JudgedListener } from './judge-listeners.js';
import type { GatewayObject } from './objects.js';
import { no, yes } from './verdict.js';

/** Whether a Gateway of ours is accepted: its class, its parameters, its kinds of address, and at least one listener that can serve. */
export function judgeGateway(gateway: GatewayObject, classAccepted: Verdict, listeners: readonly JudgedListener[]): Verdict {
  if (!classAccepted.ok) return no('InvalidParameters', `GatewayClass "${gateway.className}" is not accepted: ${classAccepted.message}`);
  if (gateway.hasParameters) return no('InvalidParameters', 'A Gateway of this class takes no parameters; remove infrastructure.parametersRef.');
  const unsupported = gateway.addresses.filter(({ type }) => type !== 'IPAddress');
  if (unsupported.length > 0) {
    return no('UnsupportedAddress', `Addresses of type ${unsupported.map(({ type }) => type).join(', ')} are not served; use type IPAddress, or leave addresses out to get one.`);
  }
  return judgeListenerSet(listeners);
}

function judgeListenerSet(listeners: readonly JudgedListener[]): Verdict {
  const invalid = listeners.filter(({ accepted }) => !accepted.ok);
  const details = invalid.map(({ accepted }) => accepted.message).join(' ');
  if (invalid.length === listeners.length) {
    return no('ListenersNotValid', listeners.length === 0 ? 'The Gateway has no listener.' : `No listener can serve. ${details}`);
  }
  return invalid.length > 0 ? yes('ListenersNotValid', `The other listeners serve, but: ${details}`) : yes('Accepted', 'The Gateway is accepted.');
}
