import { randomBytes } from 'node:crypto';

import type { Clock, HubAuthority, HubStateStore } from '#ports';

import { createAuthority, issueServing, readCertificate } from './certificates.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
// A member's clock may be hours behind, and must still find a new certificate valid.
const BACKDATE_MS = DAY_MS;
const AUTHORITY_LIFE_MS = 10 * 365 * DAY_MS;

/** Life of a hub's serving certificate. */
export const SERVING_LIFE_MS = 90 * DAY_MS;

/** A serving certificate with its key; the chain ends in the authority itself, so that a first caller can check its pin. */
export interface ServingChain {
  readonly chainPem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
}

/** The authority that all replicas of a hub share; made by the first one that starts. */
export async function loadHubAuthority(hubState: HubStateStore, clock: Clock): Promise<HubAuthority> {
  return (await hubState.openAuthority()) ?? hubState.saveAuthority(await createHubAuthority(clock.nowMs()));
}

/** A new serving certificate of a hub. */
export async function issueHubServing(authority: HubAuthority, hosts: readonly string[], nowMs: number): Promise<ServingChain> {
  const { certificatePem, privateKeyPem } = await issueServing(authority, hosts, { nowMs, backdateMs: BACKDATE_MS, lifeMs: SERVING_LIFE_MS });
  const notAfterMs = readCertificate(certificatePem)?.notAfterMs ?? nowMs;
  return { chainPem: `${certificatePem.trim()}\n${authority.certificatePem.trim()}\n`, privateKeyPem, notAfterMs };
}

// The random part keeps two hubs' authorities apart in a bundle.
const createHubAuthority = (nowMs: number): Promise<HubAuthority> =>
  createAuthority(`spillway hub ${randomBytes(4).toString('hex')}`, { nowMs, backdateMs: BACKDATE_MS, lifeMs: AUTHORITY_LIFE_MS });
