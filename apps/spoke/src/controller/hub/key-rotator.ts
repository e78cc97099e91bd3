import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, HubLink, Random, SpokeIdentity } from '#ports';

import { Backoff } from '../backoff.js';
import type { HubPhase } from './hub-status.js';
import { newPrivateKeyPem, type IdentityWriter, type StoredIdentity } from './identity-keeper.js';

/** What a {@link KeyRotator} needs. */
export interface KeyRotatorParts {
  readonly link: HubLink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly identities: IdentityWriter;
  readonly phase: () => HubPhase;
  readonly mayWrite: () => boolean;
  /** The age at which a key is rotated. */
  readonly keyAgeMaxMs: number;
}

/** An identity that a hub has bound. */
type BoundIdentity = StoredIdentity & { readonly bound: SpokeIdentity };

/** A rotation is never urgent: the old key does not end before the new one has taken over. */
const RETRY = { minMs: 10_000, maxMs: 600_000 } as const;

/**
 * Gives the spoke a new key before its key is older than it may be. Whatever breaks off is taken up where it stood: the new
 * key is in the Secret before the hub hears of it, and asking the hub twice is asking once.
 */
export class KeyRotator {
  readonly #backoff: Backoff;
  #notBeforeMs = 0;

  constructor(private readonly parts: KeyRotatorParts) {
    this.#backoff = new Backoff(parts.random, RETRY);
  }

  /** Does what is due, if anything; never throws. */
  async turn(known: StoredIdentity | undefined): Promise<void> {
    const { clock, logger, mayWrite } = this.parts;
    if (!isBound(known) || !mayWrite() || clock.monotonicMs() < this.#notBeforeMs || !this.#isDue(known)) return;
    try {
      // Another replica may have been here since.
      const now = await this.parts.identities.update((stored) => stored);
      if (isBound(now) && this.#isDue(now)) await (this.parts.phase() === 'linked' ? this.#advance(now) : this.#regain(now));
      this.#backoff.reset();
    } catch (err) {
      this.#notBeforeMs = clock.monotonicMs() + this.#backoff.nextMs();
      logger.warn({ err }, 'could not rotate the key yet; the present one stays in use');
    }
  }

  #isDue(identity: BoundIdentity): boolean {
    switch (this.parts.phase()) {
      case 'linked':
        return identity.nextPrivateKeyPem !== undefined || identity.keySinceMs === undefined || this.parts.clock.nowMs() - identity.keySinceMs >= this.parts.keyAgeMaxMs;
      case 'unknown-member':
        return identity.nextPrivateKeyPem !== undefined || identity.previous !== undefined;
      default:
        return false;
    }
  }

  async #advance(identity: BoundIdentity): Promise<void> {
    const { identities, clock } = this.parts;
    if (identity.nextPrivateKeyPem === undefined && identity.keySinceMs === undefined) {
      await identities.update((now) => now && { ...now, keySinceMs: now.keySinceMs ?? clock.nowMs() });
      return;
    }
    const begun = await identities.update((now) => now && { ...now, nextPrivateKeyPem: now.nextPrivateKeyPem ?? newPrivateKeyPem() });
    if (isBound(begun)) await this.#finish(begun);
  }

  // The hub does not know our key: it took the next one and we never heard, or it is back on a backup from before this one.
  async #regain(identity: BoundIdentity): Promise<void> {
    const { link, logger } = this.parts;
    const { bound, previous } = identity;
    try {
      if (identity.nextPrivateKeyPem !== undefined) return await this.#finish(identity);
    } catch (error) {
      if (previous === undefined || !isUnknown(error)) throw error;
    }
    if (previous === undefined) return;
    await link.rotateKey({ ...bound, ...previous }, bound.privateKeyPem);
    logger.info({ keyId: bound.keyId, previousKeyId: previous.keyId }, 'the hub knew only the key before this one, and has this one again');
  }

  async #finish({ bound, nextPrivateKeyPem }: BoundIdentity): Promise<void> {
    const { link, identities, clock, logger } = this.parts;
    if (nextPrivateKeyPem === undefined) return;
    const renewed = await link.rotateKey(bound, nextPrivateKeyPem);
    await identities.update((now) => {
      if (!isBound(now) || now.nextPrivateKeyPem !== nextPrivateKeyPem) return now;
      return {
        ...now,
        privateKeyPem: nextPrivateKeyPem,
        bound: { ...now.bound, keyId: renewed.keyId, privateKeyPem: nextPrivateKeyPem },
        keySinceMs: clock.nowMs(),
        nextPrivateKeyPem: undefined,
        previous: { keyId: bound.keyId, privateKeyPem: bound.privateKeyPem },
      };
    });
    logger.info({ keyId: renewed.keyId, previousKeyId: bound.keyId }, 'the key was rotated');
  }
}

const isBound = (identity: StoredIdentity | undefined): identity is BoundIdentity => identity?.bound !== undefined;

const isUnknown = (error: unknown): boolean => isFleetError(error) && error.code === 'HUB_UNKNOWN_MEMBER';
