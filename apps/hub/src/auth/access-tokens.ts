import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

import { FleetError } from '#domain/fleet';
import { Secret } from '#platform';
import type { HubStateStore } from '#ports';

/** What a caller may do: a viewer reads, an admin also changes. */
export type Role = 'admin' | 'viewer';

/** Who calls, as the audit log names them. */
export interface Principal {
  readonly name: string;
  readonly role: Role;
}

/** Tokens that the configuration gives, beside the one in the store. */
export interface ConfiguredTokens {
  /** Also accepted as admin, so that a lost token can be replaced by configuration. */
  readonly admin: Secret | undefined;
  readonly viewer: Secret | undefined;
}

/** What starting with a store brought. */
export interface OpenedTokens {
  readonly tokens: AccessTokens;
  /** The admin token, only where this very start made it: show it once, it is not kept anywhere. */
  readonly firstAdminToken: Secret | undefined;
}

const PREFIX = 'spwa_';

/** SHA-256 of a token, hex: all that is kept of it. */
const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/**
 * The tokens that a hub accepts. At the first start of a fleet without a configured admin token one is made; of several
 * replicas that start at once exactly one makes it.
 */
export async function openAccessTokens(state: HubStateStore, configured: ConfiguredTokens): Promise<OpenedTokens> {
  const minted = await mintAdminToken(state, configured.admin);
  const stored = await state.adminTokenHash();
  const known: KnownToken[] = [];
  const add = (hash: string | undefined, principal: Principal): void => {
    if (hash !== undefined) known.push({ hash: Buffer.from(hash, 'hex'), principal });
  };
  add(stored, ADMIN);
  add(configured.admin === undefined ? undefined : hashToken(configured.admin.reveal()), ADMIN);
  add(configured.viewer === undefined ? undefined : hashToken(configured.viewer.reveal()), VIEWER);
  return { tokens: new AccessTokens(known), firstAdminToken: minted };
}

const ADMIN: Principal = { name: 'admin', role: 'admin' };
const VIEWER: Principal = { name: 'viewer', role: 'viewer' };

async function mintAdminToken(state: HubStateStore, configured: Secret | undefined): Promise<Secret | undefined> {
  if (configured !== undefined || (await state.adminTokenHash()) !== undefined) return undefined;
  const token = `${PREFIX}${randomBytes(32).toString('base64url')}`;
  return (await state.saveAdminTokenHash(hashToken(token))) ? new Secret(token) : undefined;
}

interface KnownToken {
  readonly hash: Buffer;
  readonly principal: Principal;
}

/** Recognises callers by bearer token. */
export class AccessTokens {
  readonly #known: readonly KnownToken[];
  constructor(known: readonly KnownToken[]) {
    this.#known = known;
  }

  /** The caller behind an Authorization header. Throws AUTH_MISSING or AUTH_INVALID. */
  authenticate(header: string | undefined): Principal {
    const token = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];
    if (token === undefined) throw new FleetError('AUTH_MISSING', 'user', 'Send the token as "Authorization: Bearer TOKEN"; the hub printed it at its first start.');
    const hash = Buffer.from(hashToken(token), 'hex');
    // Every known token is compared in constant time, also after a match: the time says nothing about which.
    const matches = this.#known.filter((known) => timingSafeEqual(known.hash, hash));
    const [match] = matches;
    if (match === undefined) throw new FleetError('AUTH_INVALID', 'user', 'The hub does not know this token.');
    return match.principal;
  }
}
