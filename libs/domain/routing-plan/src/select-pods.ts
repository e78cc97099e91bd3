import { differingItems, isSameData, type Lookup, type Table } from '#domain/fleet';
import { isEmptySelector, matchesLabels, type EndpointSelectorObject } from '#domain/gateway-api';

import type { PodObject } from './local-objects.js';
import { isEndpointPod, podFinder } from './pod-index.js';

/** New selectors up to which all pods are looked through for each; more are worth an index. */
const SCANS_MAX = 8;

/** The pods of every selector by its `namespace/name`, in no particular order; the same list while nothing in it changed. */
export interface SelectedPods extends Lookup<readonly PodObject[]> {
  readonly pods: readonly PodObject[];
  readonly selectors: Table<EndpointSelectorObject>;
  /** In the order of the selectors. */
  readonly selected: readonly (readonly PodObject[])[];
}

/**
 * Finds the pods of every selector. The result depends on pods and selectors alone, `previous` only saves work: a pod that
 * changes costs one match with each selector of its namespace.
 */
export function selectPods(pods: readonly PodObject[], selectors: Table<EndpointSelectorObject>, previous?: SelectedPods): SelectedPods {
  if (previous?.pods === pods && previous.selectors === selectors) return previous;
  const known = selectors.keys.map((key, at) => keptPods(key, selectors.values[at], previous));
  const find = finder(pods, known.filter((list) => list === undefined).length);
  const changes = previous === undefined ? new Map<string, PodChanges>() : podChanges(previous.pods, pods);
  const selected = selectors.values.map((selector, at) => {
    const list = known[at];
    return list === undefined ? find(selector) : applyChanges(list, selector, changes.get(selector.meta.namespace));
  });
  return { pods, selectors, selected, get: (key) => selected[selectors.positions.get(key) ?? -1] };
}

/** What a selector selected before, where it selects by the same labels still. */
function keptPods(key: string, selector: EndpointSelectorObject | undefined, previous: SelectedPods | undefined): readonly PodObject[] | undefined {
  const before = previous?.selectors.get(key);
  return before !== undefined && (before === selector || isSameData(before.selector, selector?.selector)) ? previous?.get(key) : undefined;
}

/** Pods of one namespace that came and went; one that changed did both. */
interface PodChanges {
  readonly gone: ReadonlySet<PodObject>;
  readonly come: readonly PodObject[];
}

function podChanges(before: readonly PodObject[], after: readonly PodObject[]): ReadonlyMap<string, PodChanges> {
  if (before === after) return new Map();
  const { gone, come } = differingItems(before, after);
  const [goneFrom, comeTo] = [Map.groupBy(gone, ({ namespace }) => namespace), Map.groupBy(come, ({ namespace }) => namespace)];
  return new Map([...goneFrom.keys(), ...comeTo.keys()].map((namespace) => [namespace, { gone: new Set(goneFrom.get(namespace)), come: comeTo.get(namespace) ?? [] }]));
}

function applyChanges(before: readonly PodObject[], { selector }: EndpointSelectorObject, changes: PodChanges | undefined): readonly PodObject[] {
  if (changes === undefined || isEmptySelector(selector)) return before;
  const come = changes.come.filter((pod) => isEndpointPod(pod) && matchesLabels(selector, pod.labels));
  const stay = before.filter((pod) => !changes.gone.has(pod));
  return come.length === 0 && stay.length === before.length ? before : [...stay, ...come];
}

// R28: an empty selector selects nothing, never everything.
function finder(pods: readonly PodObject[], searches: number): (selector: EndpointSelectorObject) => readonly PodObject[] {
  const find = searches > SCANS_MAX ? podFinder(pods) : undefined;
  return ({ meta: { namespace }, selector }) => {
    if (isEmptySelector(selector)) return [];
    return find === undefined ? pods.filter((pod) => pod.namespace === namespace && isEndpointPod(pod) && matchesLabels(selector, pod.labels)) : find(namespace, selector);
  };
}
