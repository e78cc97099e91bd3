import { digest } from '#domain/fleet';

import type { NftHook, NftProtocol } from './nft-ruleset.js';

/** Addresses that are ours alone: what reaches them unmapped is refused. */
export const VIPS_SET = 'vips';

/** Every front-end address, protocol and port that we translate: whose connections may be masqueraded and are counted. */
export const LISTENERS_SET = 'listeners';

/** Those of them that refuse connections on purpose. */
export const REFUSING_SET = 'refusing';

/** Pairs (endpoint, same endpoint): a pod that reached itself through a virtual address. */
export const HAIRPINS_SET = 'hairpins';

/** Gateways of other clusters: they answer to nodes, not to pods of networks that they do not know. */
export const GATEWAYS_SET = 'gateways';

/** Who may call which port of this gateway node. */
export const GATEWAY_SOURCES_SET = 'gateway-sources';

/** Protocol and port of this gateway node → the chain that lets members in. */
export const GATEWAY_PORTS_MAP = 'gateway-ports';

/** Front-end address, protocol and port → the listener's chain. */
export const FRONTENDS_MAP = 'frontends';

/** Caller and front end → the unit that its connections go by. */
export const AFFINITY_MAP = 'affinity';

/** New connections by listener and endpoint. */
export const FLOWS_SET = 'flows';

/** Connections that any rule of the table refused. */
export const REJECTED_COUNTER = 'rejected';

/** Connections that a listener refused although all of its units lead somewhere: a fault of ours. */
export const GAPS_COUNTER = 'gaps';

/** The chain that refuses, each protocol in its own words; `reject` itself is a word of nft. */
export const REJECT_CHAIN = 'rejection';

/** The chain that a listener's connections end in where its maps have nothing for them. */
export const REFUSE_CHAIN = 'refuse';

/** The chain of a new connection that one of our listeners has translated, on its way out of the node. */
export const TRANSLATED_CHAIN = 'translated';

/** The base chains and where each stands (README: why these priorities). */
export const BASE_HOOKS = {
  'nat-prerouting': { type: 'nat', hook: 'prerouting', priority: -110 },
  'nat-output': { type: 'nat', hook: 'output', priority: -110 },
  'nat-postrouting': { type: 'nat', hook: 'postrouting', priority: 100 },
  'filter-forward': { type: 'filter', hook: 'forward', priority: -120 },
  'filter-output': { type: 'filter', hook: 'output', priority: -95 },
} as const satisfies Record<string, NftHook>;

/** Name of a base chain. */
export type BaseChainName = keyof typeof BASE_HOOKS;

/** Longest readable part of a name; with prefix and digest a name stays far below the kernel's 255 characters. */
const READABLE_LENGTH_MAX = 120;

const DIGEST_LENGTH = 12;

/** What tells one listener of one frontend from every other. */
export interface ListenerKey {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly listener: string;
  readonly protocol: NftProtocol;
  /** The namespace whose pods alone it is for. */
  readonly callers: string | undefined;
}

/**
 * The end of the names of everything that one listener has: readable, and unique by a digest. Behind `listener-` its chain,
 * behind `shares-` and `owners-` its maps, behind `callers-` the set of whom it is for.
 */
export function listenerSuffix(key: ListenerKey): string {
  const { kind, namespace, name, listener, protocol, callers } = key;
  // The protocol is part of what a map is declared as, and that cannot change in place.
  const unique = `${kind}/${namespace}/${name}/${listener}${protocol === 'udp' ? '/udp' : ''}${callers === undefined ? '' : `@${callers}`}`;
  return suffix(unique, `${namespace}/${name}/${listener}`);
}

/** A name's end: twelve digits of a digest, and what people want to read. */
export function suffix(unique: string, readable: string): string {
  // nft's own word for a name: letters, digits and / - _ . only. Nothing of a plan can end the word and start another.
  const word = readable.replace(/[^a-zA-Z0-9/_.-]/g, '_');
  return `${digest(unique).slice(0, DIGEST_LENGTH)}-${word.slice(0, READABLE_LENGTH_MAX)}`;
}

/** The number of one provider of one backend in a map of owners. Never 0. */
export const ownerNumber = (backend: string, clusterId: string): number => Number.parseInt(digest(`${backend} ${clusterId}`).slice(0, 8), 16) || 1;

/** The end of the name of an owner's own map of shares. */
export const ownerSuffix = (listener: string, owner: number): string => `${listener}/${owner.toString(16).padStart(8, '0')}`;
