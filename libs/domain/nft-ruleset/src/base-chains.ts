import {
  BASE_HOOKS,
  FRONTENDS_MAP,
  GAPS_COUNTER,
  GATEWAY_PORTS_MAP,
  GATEWAY_SOURCES_SET,
  GATEWAYS_SET,
  HAIRPINS_SET,
  LISTENERS_SET,
  REFUSE_CHAIN,
  REFUSING_SET,
  REJECT_CHAIN,
  REJECTED_COUNTER,
  TRANSLATED_CHAIN,
  VIPS_SET,
  type BaseChainName,
} from './names.js';
import type { NftChain, NftPacketField, NftProtocol, NftRule, NftStatement } from './nft-ruleset.js';

const SOCKET: readonly NftPacketField[] = ['destination', 'protocol', 'destination-port'];
const ORIGINAL_SOCKET: readonly NftPacketField[] = ['original-destination', 'protocol', 'original-destination-port'];
const ORIGINAL_CALL: readonly NftPacketField[] = ['original-source', 'protocol', 'original-destination-port'];
const PROTOCOLS: readonly NftProtocol[] = ['tcp', 'udp'];

const isProtocol = (is: NftProtocol): NftStatement => ({ kind: 'protocol', is });
const goto = (chain: string): NftStatement => ({ kind: 'goto', chain });
const MASQUERADE: NftStatement = { kind: 'masquerade' };
const COUNT_REJECTED: NftStatement = { kind: 'named-counter', counter: REJECTED_COUNTER };

const DISPATCH: NftRule = [{ kind: 'dispatch', fields: SOCKET, map: FRONTENDS_MAP }];
// Only ports of the node itself: a packet on its way to another host is nobody's business here.
const DISPATCH_GATEWAY: NftRule = [{ kind: 'destination-is-local' }, { kind: 'dispatch', fields: ['protocol', 'destination-port'], map: GATEWAY_PORTS_MAP }];

// After DNAT the destination is no virtual address any more, so one set covers every case that nothing mapped.
const REJECT_UNMAPPED: readonly NftRule[] = [[{ kind: 'connection-new' }, { kind: 'in-set', fields: ['destination'], set: VIPS_SET }, goto(REJECT_CHAIN)]];

const FROM_LISTENER: readonly NftRule[] = PROTOCOLS.map((protocol) => [isProtocol(protocol), { kind: 'in-set', fields: ORIGINAL_SOCKET, set: LISTENERS_SET }, goto(TRANSLATED_CHAIN)]);

// The way back must lead through this node, and the pods' networks may not even know the caller's.
const FROM_GATEWAY: readonly NftRule[] = PROTOCOLS.map((protocol) => [isProtocol(protocol), { kind: 'connection-translated' }, { kind: 'in-set', fields: ORIGINAL_CALL, set: GATEWAY_SOURCES_SET }, MASQUERADE]);

const base = (name: BaseChainName, rules: readonly NftRule[]): NftChain => ({ name, hook: BASE_HOOKS[name], rules });

/** The chains of every table, in three groups by where their names stand among those of listeners and gateways. */
export interface BaseChains {
  readonly filter: readonly NftChain[];
  readonly nat: readonly NftChain[];
  readonly ends: readonly NftChain[];
}

const FILTER = [base('filter-forward', REJECT_UNMAPPED), base('filter-output', REJECT_UNMAPPED)];

const ENDS: readonly NftChain[] = [
  { name: REFUSE_CHAIN, rules: [[{ kind: 'not-in-set', fields: SOCKET, set: REFUSING_SET }, { kind: 'named-counter', counter: GAPS_COUNTER }], [goto(REJECT_CHAIN)]] },
  {
    name: REJECT_CHAIN,
    rules: [
      [isProtocol('tcp'), COUNT_REJECTED, { kind: 'reject', with: 'tcp reset' }],
      [COUNT_REJECTED, { kind: 'reject', with: 'port unreachable' }],
    ],
  },
  {
    name: TRANSLATED_CHAIN,
    rules: [
      ...PROTOCOLS.map((protocol): NftRule => [isProtocol(protocol), { kind: 'count-flow' }]),
      [{ kind: 'in-set', fields: ['source', 'destination'], set: HAIRPINS_SET }, MASQUERADE],
      [{ kind: 'source-is-local' }, MASQUERADE],
      [{ kind: 'in-set', fields: SOCKET, set: GATEWAYS_SET }, MASQUERADE],
    ],
  },
];

const withNat = (prerouting: readonly NftRule[], postrouting: readonly NftRule[]): BaseChains => ({
  filter: FILTER,
  nat: [base('nat-output', [DISPATCH]), base('nat-postrouting', postrouting), base('nat-prerouting', prerouting)],
  ends: ENDS,
});

/** The base chains of a node that takes in nothing for other members. */
export const PLAIN_BASE = withNat([DISPATCH], FROM_LISTENER);

/** The base chains of a gateway node. */
export const GATEWAY_BASE = withNat([DISPATCH, DISPATCH_GATEWAY], [...FROM_LISTENER, ...FROM_GATEWAY]);
