import { SET_LAYOUTS, type NftFamily, type NftFieldKind, type NftProtocol, type NftSet } from '#domain/nft-ruleset';

// Entries of nft's userdata: type, length, value; numbers in host order (little-endian on every machine we run on).
const ORDER = { none: 0, host: 1, big: 2 } as const;

const entry = (type: number, ...value: readonly Buffer[]): Buffer => {
  const bytes = Buffer.concat(value);
  return Buffer.concat([Buffer.of(type, bytes.length), bytes]);
};

function u32Entry(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return entry(type, bytes);
}

const keyOrder = (order: number): Buffer => u32Entry(0, order);
const dataOrder = (order: number): Buffer => u32Entry(1, order);
const keyTypeof = (...expression: readonly Buffer[]): Buffer => entry(3, ...expression);
const dataTypeof = (...expression: readonly Buffer[]): Buffer => entry(4, ...expression);
const NO_DATA_INTERVAL = u32Entry(6, 0);

const EXPRESSION = { PAYLOAD: 7, META: 9, CONCATENATION: 13, NUMGEN: 23 } as const;
const expression = (kind: number, ...details: readonly Buffer[]): readonly Buffer[] => [u32Entry(0, kind), entry(1, ...details)];

const CONCATENATED_KEY = keyTypeof(...expression(EXPRESSION.CONCATENATION));

// nft's numbers for the headers and fields of "ip daddr", "ip6 daddr", "tcp dport" and "udp dport".
const PAYLOADS = { ip: [12, 12], ip6: [13, 9], tcp: [8, 2], udp: [6, 2] } as const;
const payload = (name: keyof typeof PAYLOADS): readonly Buffer[] => expression(EXPRESSION.PAYLOAD, u32Entry(0, PAYLOADS[name][0]), u32Entry(1, PAYLOADS[name][1]));
const META_MARK = 3;

/**
 * What the nft program wants to know to print a set as it was meant; the kernel only keeps it. The same bytes that nft 1.0.6
 * writes for the same declaration.
 */
export function userdataOf(family: NftFamily, set: NftSet): Buffer {
  if (set.kind === 'shares') return unitMapUserdata(set.modulus, { order: ORDER.none, type: expression(EXPRESSION.CONCATENATION, entry(0, ...payload(family)), entry(1, ...payload(set.protocol satisfies NftProtocol))) });
  if (set.kind === 'owners') return unitMapUserdata(set.modulus, { order: ORDER.host, type: expression(EXPRESSION.META, u32Entry(0, META_MARK)) });
  const { key, data } = SET_LAYOUTS[set.kind];
  return Buffer.concat([
    keyOrder(orderOf(key)),
    ...(data === undefined ? [] : [dataOrder(data === 'verdict' ? ORDER.none : orderOf(data))]),
    ...(key.length > 1 ? [CONCATENATED_KEY] : []),
    ...(data === undefined ? [] : [NO_DATA_INTERVAL]),
  ]);
}

function orderOf(fields: readonly NftFieldKind[]): number {
  if (fields.length > 1) return ORDER.none;
  return fields[0] === 'mark' ? ORDER.host : ORDER.big;
}

// `typeof numgen random mod M : DATA`
const unitMapUserdata = (modulus: number, data: { readonly order: number; readonly type: readonly Buffer[] }): Buffer =>
  Buffer.concat([
    keyOrder(ORDER.host),
    dataOrder(data.order),
    keyTypeof(...expression(EXPRESSION.NUMGEN, u32Entry(0, 1), u32Entry(1, modulus), u32Entry(2, 0))),
    dataTypeof(...data.type),
    NO_DATA_INTERVAL,
  ]);
