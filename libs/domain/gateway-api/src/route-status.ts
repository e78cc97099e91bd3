import { mergeConditions } from './conditions.js';
import type { RouteDecision } from './gateway-decisions.js';
import { CONTROLLER_NAME, GATEWAY_API_GROUP } from './names.js';
import type { ParentRef, RouteParentStatus } from './objects.js';
import { conditionOf } from './verdict.js';

const OWNED_TYPES = ['Accepted', 'ResolvedRefs'];
/** Gateway API: status.parents holds at most 32 entries. */
const PARENTS_MAX = 32;

/** The complete status.parents of a route: our entries per (parentRef, controllerName), everybody else's as they were (R14). */
export function routeParents({ route, parents, resolvedRefs }: RouteDecision, nowMs: number): readonly RouteParentStatus[] {
  const { generation, namespace } = route.meta;
  const wanted = parents.flatMap(({ parentIndex, accepted }) => {
    const ref = route.parentRefs[parentIndex];
    return ref === undefined ? [] : [{ ref, key: refKey(ref, namespace), drafts: [conditionOf('Accepted', accepted, generation), conditionOf('ResolvedRefs', resolvedRefs, generation)] }];
  });
  const byKey = new Map(wanted.map((entry) => [entry.key, entry]));
  const kept = route.parents.flatMap((present): readonly RouteParentStatus[] => {
    if (present.controllerName !== CONTROLLER_NAME) return [present];
    const entry = byKey.get(refKey(present.parentRef, namespace));
    if (entry === undefined) return [];
    byKey.delete(entry.key);
    return [{ ...present, parentRef: entry.ref, conditions: mergeConditions({ present: present.conditions, wanted: entry.drafts, owned: OWNED_TYPES, nowMs }) }];
  });
  const added = [...byKey.values()].map(({ ref, drafts }): RouteParentStatus => ({
    parentRef: ref,
    controllerName: CONTROLLER_NAME,
    conditions: mergeConditions({ present: [], wanted: drafts, owned: OWNED_TYPES, nowMs }),
  }));
  return [...kept, ...added].slice(0, PARENTS_MAX);
}

/** References are the same where they mean the same, whether or not defaults are written out. */
function refKey({ group, kind, namespace, name, sectionName, port }: ParentRef, routeNamespace: string): string {
  return JSON.stringify([group ?? GATEWAY_API_GROUP, kind ?? 'Gateway', namespace ?? routeNamespace, name, sectionName ?? '', port ?? 0]);
}
