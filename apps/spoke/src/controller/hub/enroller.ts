import { KUBE_KINDS } from '#contracts/kube-objects';
import { FleetError, isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, HubLink, Kube } from '#ports';

import type { Backoff } from '../backoff.js';
import { secretEntries } from '../own/own-data.js';
import type { Wake } from '../wake.js';
import { newPrivateKeyPem, tokenSha256, type IdentityWriter, type StoredIdentity } from './identity-keeper.js';
import type { WatchedSecret } from './watched-secret.js';

/** What enrolment needs. */
export interface EnrollerParts {
  readonly kube: Kube;
  readonly link: HubLink;
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly logger: Logger;
  readonly wake: Wake;
  readonly joinSecret: WatchedSecret;
  readonly identitySecret: WatchedSecret;
  readonly identities: IdentityWriter;
  /** The identity that this process knows, whatever has become of its Secret. */
  readonly known: () => StoredIdentity | undefined;
  readonly mayWrite: () => boolean;
  /** What is to be done between enrolments, and not beside one: both change the key that the hub goes by. */
  readonly between: () => Promise<void>;
  /** The reason why enrolment does not get on, or undefined once there is none. */
  readonly onTrouble: (error: FleetError | undefined) => void;
}

/** Enrols whenever the join Secret holds a token that was not used yet, until `signal` aborts. */
export async function runEnroller(parts: EnrollerParts, signal: AbortSignal): Promise<void> {
  // A token that the hub refused is not tried again: a person must put another one there.
  let refusedSha256: string | undefined;
  while (!signal.aborted) {
    const token = pendingToken(parts);
    const trouble = token === undefined || tokenSha256(token) === refusedSha256 ? undefined : await tryEnrol(parts, token);
    if (token !== undefined && trouble?.kind === 'user' && trouble.code.startsWith('HUB_')) refusedSha256 = tokenSha256(token);
    else if (trouble !== undefined) {
      await parts.clock.sleep(parts.backoff.nextMs(), signal);
      continue;
    }
    await parts.between();
    await parts.wake.sleep(parts.clock, IDLE_MS, signal);
  }
}

async function tryEnrol(parts: EnrollerParts, token: string): Promise<FleetError | undefined> {
  try {
    await enrol(parts, token);
    parts.backoff.reset();
    parts.onTrouble(undefined);
    return undefined;
  } catch (error) {
    const trouble = isFleetError(error) ? error : new FleetError('HUB_ENROL_FAILED', 'bug', 'Enrolment failed unexpectedly; see the log.', { cause: error });
    parts.logger.warn({ err: error, code: trouble.code }, 'could not enrol with the hub');
    parts.onTrouble(trouble);
    return trouble;
  }
}

// A bell ends the wait; this only bounds it.
const IDLE_MS = 60_000;

/** The join token to enrol with now, or undefined where there is nothing to do, or not by us, or not yet. */
function pendingToken(parts: EnrollerParts): string | undefined {
  if (!parts.joinSecret.synced || !parts.identitySecret.synced || !parts.mayWrite()) return undefined;
  const token = parts.joinSecret.object === undefined ? undefined : secretEntries(parts.joinSecret.object).get('token')?.toString('utf8').trim();
  if (token === undefined || token === '') return undefined;
  const identity = parts.known();
  return identity?.bound !== undefined && identity.enrolledTokenSha256 === tokenSha256(token) ? undefined : token;
}

async function enrol(parts: EnrollerParts, joinToken: string): Promise<void> {
  const clusterUid = (await parts.kube.find(KUBE_KINDS.namespace, { name: 'kube-system' }))?.metadata.uid;
  if (clusterUid === undefined) throw new FleetError('HUB_ENROL_NO_UID', 'transient', 'The namespace kube-system has no UID to identify this cluster by.');
  const before = await ownKey(parts);
  const { privateKeyPem } = before;
  const bound = await parts.link.enrol({ joinToken, privateKeyPem, clusterUid });
  await parts.identities.update((now) => ({ ...(now ?? before), privateKeyPem, enrolledTokenSha256: tokenSha256(joinToken), bound }));
  parts.logger.info({ clusterId: bound.clusterId, keyId: bound.keyId, hubUrl: bound.hubUrl, wasClusterId: before.bound?.clusterId }, 'enrolled with the hub');
}

// The key is saved before the hub hears of it: a crash in between must not leave the token bound to a key that nobody has.
function ownKey({ identities, clock }: EnrollerParts): Promise<StoredIdentity> {
  return identities.update((now) => now ?? { privateKeyPem: newPrivateKeyPem(), keySinceMs: clock.nowMs(), enrolledTokenSha256: undefined, bound: undefined, nextPrivateKeyPem: undefined, previous: undefined });
}
