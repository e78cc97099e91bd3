import { setOfParts, SHARE_MODULUS, type NftElementParts, type NftUnitMap } from '#domain/nft-ruleset';

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : value === undefined ? [] : [value]);

const objectsOf = (listed: unknown, kind: 'set' | 'map'): readonly Json[] => (isJson(listed) ? list(listed['nftables']) : []).flatMap((object) => (isJson(object) && isJson(object[kind]) ? [object[kind]] : []));

/** The maps of units in what `nft -j list table` says, by name. */
export function listedUnitMaps(listed: unknown): ReadonlyMap<string, NftUnitMap> {
  const maps = objectsOf(listed, 'map').flatMap((map): readonly NftUnitMap[] => {
    if (!list(map['flags']).includes('interval')) return [];
    const parts = list(map['elem']).flatMap(unitParts);
    const kind = parts.some(({ data }) => data?.length === 2) ? ('shares' as const) : ('owners' as const);
    const set = setOfParts(kind, String(map['name']), { parts, modulus: SHARE_MODULUS, protocol: 'tcp' });
    return set.kind === 'shares' || set.kind === 'owners' ? [set] : [];
  });
  return new Map(maps.map((map) => [map.name, map]));
}

// `[key, data]`: the key a number or a range, the data a number or two things in a concatenation.
function unitParts(element: unknown): readonly NftElementParts[] {
  const [key, data] = list(element);
  const [from, to] = isJson(key) ? list(key['range']) : [key, key];
  if (typeof from !== 'number' || typeof to !== 'number') return [];
  const values = isJson(data) ? list(data['concat']) : [data];
  return [{ key: [from], to, data: values.map((value) => (typeof value === 'number' ? value : String(value))) }];
}

/** The counted elements in what `nft -j list set` says: the fields of each key and its packets. */
export function listedFlows(listed: unknown): readonly { readonly fields: readonly (string | number)[]; readonly packets: number }[] {
  return objectsOf(listed, 'set').flatMap((set) => list(set['elem']).flatMap(flowOf));
}

function flowOf(element: unknown): readonly { readonly fields: readonly (string | number)[]; readonly packets: number }[] {
  const inner = isJson(element) && isJson(element['elem']) ? element['elem'] : undefined;
  const fields = isJson(inner?.['val']) ? list(inner['val']['concat']) : [];
  const counter = isJson(inner?.['counter']) ? inner['counter'] : {};
  return fields.length === 0 ? [] : [{ fields: fields.map((field) => (typeof field === 'number' ? field : String(field))), packets: Number(counter['packets'] ?? 0) }];
}
