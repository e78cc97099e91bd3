import { digest } from '#domain/fleet';

import type { NftHook } from './nft-ruleset.js';

/** Every virtual address of the plan, also those without a usable listener: what reaches them unmapped is refused. */
export const VIPS_SET = 'vips';

/** Pairs (endpoint, same endpoint): a pod that reached itself through a virtual address. */
export const HAIRPINS_SET = 'hairpins';

/** Front-end address, protocol and port → the listener's chain. */
export const FRONTENDS_MAP = 'frontends';

/** Connections that any rule of the table refused. */
export const REJECTED_COUNTER = 'rejected';

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
}

/** The names of a listener's chain and of its map from random units to endpoints: readable, and unique by a digest. */
export function listenerNames(key: ListenerKey): { readonly chainName: string; readonly mapName: string } {
  const unique = digest(`${key.kind}/${key.namespace}/${key.name}/${key.listener}`).slice(0, DIGEST_LENGTH);
  // nft's own word for a name: letters, digits and / - _ . only. Nothing of a plan can end the word and start another.
  const readable = `${key.namespace}/${key.name}/${key.listener}`.replace(/[^a-zA-Z0-9/_.-]/g, '_');
  const suffix = `${unique}-${readable.slice(0, READABLE_LENGTH_MAX)}`;
  return { chainName: `listener-${suffix}`, mapName: `shares-${suffix}` };
}
