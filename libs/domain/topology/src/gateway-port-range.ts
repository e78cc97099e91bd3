/** The numbers that a cluster's gateway nodes may listen on. */
export interface GatewayPortRange {
  readonly first: number;
  readonly last: number;
  /** How long a number that was freed goes to nobody else. */
  readonly quarantineMs: number;
}

// A day: longer than consumers are away from a hub without anybody looking.
const GATEWAY_PORT_QUARANTINE_MS = 24 * 60 * 60 * 1_000;

/** Below NodePorts (30000–32767) and Linux's ephemeral ports (32768–60999). */
export const DEFAULT_GATEWAY_PORT_RANGE: GatewayPortRange = { first: 20_000, last: 29_999, quarantineMs: GATEWAY_PORT_QUARANTINE_MS };

const RESERVED: readonly { readonly first: number; readonly last: number; readonly what: string }[] = [
  { first: 1, last: 1_023, what: 'well-known ports' },
  { first: 30_000, last: 32_767, what: 'NodePorts' },
  { first: 32_768, last: 60_999, what: 'ephemeral ports' },
];

/** Reads `FIRST-LAST`; a text is a sentence that says why it is no range of gateway ports. */
export function parseGatewayPortRange(text: string): GatewayPortRange | string {
  const [, from = '', to = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(text.trim()) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (from === '' || first < 1 || last > 65_535 || first > last) return 'give the first and the last port, such as 20000-29999';
  const clash = RESERVED.find((range) => first <= range.last && last >= range.first);
  if (clash !== undefined) return `keep clear of ${clash.what} (${clash.first}-${clash.last}): a gateway port would take their traffic`;
  return { first, last, quarantineMs: GATEWAY_PORT_QUARANTINE_MS };
}
