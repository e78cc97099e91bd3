import { createHash, randomBytes } from 'node:crypto';

import { Inject, Injectable } from '@nestjs/common';

import { certificateFingerprint } from '#adapters/certificates';
import { encodeJoinToken } from '#contracts/spoke-api';
import { clusterId, FleetError, type Problem } from '#domain/fleet';
import { memberNameProblems } from '#domain/membership';
import { Clock, FleetStore } from '#ports';

import { HUB_SETTINGS, type HubSettings } from '../core/hub-settings.js';
import type { CreateJoinTokenInput } from './member-cluster.inputs.js';
import type { JoinToken } from './member-cluster.model.js';

/** The shortest and the longest time for which a join token may be used. */
const JOIN_TOKEN_TTL_SECONDS = { min: 60, max: 86_400 } as const;

/** Makes join tokens: single use, short lived, bound to one cluster name. */
@Injectable()
export class JoinTokenService {
  constructor(
    @Inject(FleetStore) private readonly store: FleetStore,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(HUB_SETTINGS) private readonly settings: HubSettings,
  ) {}

  problems({ name, ttlSeconds }: CreateJoinTokenInput): readonly Problem[] {
    const { min, max } = JOIN_TOKEN_TTL_SECONDS;
    const ttl = ttlSeconds >= min && ttlSeconds <= max ? [] : [{ path: 'ttlSeconds', code: 'JOIN_TOKEN_TTL_INVALID', message: `A join token lives ${min} to ${max} seconds.` }];
    return [...memberNameProblems(name), ...ttl];
  }

  /** Makes a token that carries the hub's address and the fingerprint of its authority, so that a spoke's first call is trusted. */
  async create({ name, replace, ttlSeconds }: CreateJoinTokenInput, by: string): Promise<JoinToken> {
    const authority = await this.store.hubState.openAuthority();
    if (authority === undefined) throw new FleetError('HUB_NOT_READY', 'transient', 'The hub is still making its certificate authority; try again in a moment.');
    const secret = randomBytes(32).toString('base64url');
    const grant = { clusterId: clusterId(name), tokenHash: createHash('sha256').update(secret).digest('hex'), expiresAtMs: this.clock.nowMs() + ttlSeconds * 1_000, replace };
    await this.store.enrolment.createJoinToken(grant, by);
    const caFingerprint = certificateFingerprint(authority.certificatePem);
    const token = encodeJoinToken({ hubUrl: this.settings.publicUrl, caFingerprint, clusterId: grant.clusterId, secret });
    return { token, clusterName: name, expiresAt: new Date(grant.expiresAtMs), replace };
  }
}
