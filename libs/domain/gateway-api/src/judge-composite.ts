import { compositePorts, findLocalPart, isServiceRef, selectorKindOf, selectorTarget, servicePort, type LocalPart, type LocalPartIndex } from './composite-ports.js';
import type { Verdict } from './gateway-decisions.js';
import { isEmptySelector } from './label-selector.js';
import type { CompositeBackendObject, CompositePort, EndpointSelectorObject } from './objects.js';
import { no, yes } from './verdict.js';

/** Whether the local part of a CompositeBackend is there and has every port that is mapped to it. */
export function judgeComposite(composite: CompositeBackendObject, index: LocalPartIndex): Verdict {
  const { backendRef, meta } = composite;
  if (backendRef === undefined) return yes('ResolvedRefs', 'There is no local part: other member clusters answer.');
  if (selectorKindOf(backendRef) === undefined && !isServiceRef(backendRef)) {
    return no('InvalidKind', `${backendRef.kind} (group "${backendRef.group}") cannot be a local part; name an EndpointSelector or a Service.`);
  }
  const part = findLocalPart(composite, index);
  const partName = `${backendRef.kind} "${meta.namespace}/${backendRef.name}"`;
  if (part === undefined) return no('BackendNotFound', `${partName} does not exist; until it does, this cluster answers nothing itself.`);
  if (part.kind === 'service' && part.service.type === 'ExternalName') return no('BackendNotFound', `${partName} is an ExternalName: it has no endpoints.`);
  const missing = compositePorts(composite, part).filter((port) => !hasTarget(part, port));
  if (missing.length > 0) return no('BackendNotFound', `${partName} has no ${missing.map(({ targetPort, protocol }) => `${protocol} port ${targetPort}`).join(', ')}.`);
  return yes('ResolvedRefs', 'All references are resolved.');
}

/** Whether an EndpointSelector says which pods it means (R28); its CRD refuses one that does not. */
export function judgeEndpointSelector({ selector }: EndpointSelectorObject): Verdict {
  return isEmptySelector(selector) ? no('Invalid', 'The selector is empty; name at least one label or expression.') : yes('Accepted', 'The selector is valid.');
}

const hasTarget = (part: LocalPart, { targetPort, protocol }: CompositePort): boolean =>
  part.kind === 'selector' ? selectorTarget(part.selector, targetPort, protocol) !== undefined : servicePort(part.service, targetPort, protocol) !== undefined;
