import { differingItems, isSameItems } from '#domain/fleet';

import type { EndpointSliceObject } from './local-objects.js';

/** The usable slices of every Service, or of every ServiceImport. */
export interface ServiceSlices<S extends EndpointSliceObject = EndpointSliceObject> {
  readonly list: readonly S[];
  /** By `namespace/name` of the Service; the same list while nothing in it changed. */
  readonly byService: ReadonlyMap<string, readonly S[]>;
}

/** Groups slices by their Service. The result depends on the slices alone, `previous` only saves work. */
export function groupSlices<S extends EndpointSliceObject>(list: readonly S[], previous?: ServiceSlices<S>): ServiceSlices<S> {
  if (previous === undefined) return { list, byService: Map.groupBy(list.filter(isUsable), serviceKey) };
  const { gone, come } = differingItems(previous.list, list);
  const [goneFrom, comeTo] = [Map.groupBy(gone.filter(isUsable), serviceKey), Map.groupBy(come.filter(isUsable), serviceKey)];
  if (goneFrom.size === 0 && comeTo.size === 0) return isSameItems(previous.list, list) ? previous : { list, byService: previous.byService };
  const byService = new Map(previous.byService);
  for (const key of new Set([...goneFrom.keys(), ...comeTo.keys()])) {
    const left = new Set(goneFrom.get(key));
    const slices = [...(previous.byService.get(key) ?? []).filter((slice) => !left.has(slice)), ...(comeTo.get(key) ?? [])];
    if (slices.length === 0) byService.delete(key);
    else byService.set(key, slices);
  }
  return { list, byService };
}

const isUsable = ({ addressType, serviceName }: EndpointSliceObject): boolean => (addressType === 'IPv4' || addressType === 'IPv6') && serviceName !== '';
const serviceKey = ({ namespace, serviceName }: EndpointSliceObject): string => `${namespace}/${serviceName}`;
