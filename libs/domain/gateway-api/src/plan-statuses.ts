import { isSameData, type ImportedBackend, type MemberBackend } from '#domain/fleet';

import { compositeStatus } from './composite-status.js';
import { mergeConditions } from './conditions.js';
import type { GatewayDecisions } from './gateway-decisions.js';
import { gatewayStatus } from './gateway-status.js';
import { objectKey } from './names.js';
import type { ObjectMeta } from './objects.js';
import { routeParents } from './route-status.js';
import type { StatusInput, StatusKind, StatusWrite } from './status-input.js';
import { conditionOf } from './verdict.js';

/** Every status that must change, complete; objects whose status is right already are left out, so that nothing is written twice. */
export function planStatuses(decisions: GatewayDecisions, input: StatusInput): readonly StatusWrite[] {
  return [
    ...decisions.classes.flatMap(({ gatewayClass: { meta, conditions }, accepted }) =>
      write('GatewayClass', meta, { conditions }, { conditions: mergeConditions({ present: conditions, wanted: [conditionOf('Accepted', accepted, meta.generation)], owned: ['Accepted'], nowMs: input.nowMs }) }),
    ),
    ...gatewayWrites(decisions, input),
    ...decisions.routes.flatMap((decision) => write(decision.route.kind, decision.route.meta, { parents: decision.route.parents }, { parents: routeParents(decision, input.nowMs) })),
    ...compositeWrites(decisions, input),
    ...decisions.endpointSelectors.flatMap(({ selector: { meta, conditions }, accepted }) =>
      write('EndpointSelector', meta, { conditions }, { conditions: mergeConditions({ present: conditions, wanted: [conditionOf('Accepted', accepted, meta.generation)], owned: ['Accepted'], nowMs: input.nowMs }) }),
    ),
  ];
}

function gatewayWrites({ gateways }: GatewayDecisions, { assignments, gatewayEvidence, keepsRoutability, nowMs }: StatusInput): readonly StatusWrite[] {
  return gateways.flatMap((decision) => {
    const key = objectKey(decision.gateway.meta);
    const status = gatewayStatus(decision, { assignment: assignments.get(key), evidence: gatewayEvidence.get(key), keepsRoutability, nowMs });
    return write('Gateway', decision.gateway.meta, decision.gateway.status, status);
  });
}

function compositeWrites({ compositeBackends }: GatewayDecisions, { localParts, imports, compositeEvidence, nowMs }: StatusInput): readonly StatusWrite[] {
  const parts = new Map<string, MemberBackend>(localParts.map((part) => [part.name, part]));
  const imported = new Map<string, ImportedBackend>((imports?.backends ?? []).map((backend) => [backend.name, backend]));
  return compositeBackends.flatMap((decision) => {
    const { meta, conditions, members } = decision.composite;
    const key = objectKey(meta);
    const status = compositeStatus(decision, { imported: imported.get(key), localPart: parts.get(key), evidence: compositeEvidence.get(key), nowMs });
    return write('CompositeBackend', meta, { conditions, members }, status);
  });
}

function write(kind: StatusKind, { namespace, name, uid, resourceVersion }: ObjectMeta, present: object, status: object): readonly StatusWrite[] {
  return isSameData(present, status) ? [] : [{ kind, namespace, name, uid, resourceVersion, status: { ...status } }];
}
