import { createPrivateKey, generateKeyPairSync } from 'node:crypto';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { backendName, clusterId, type MemberBackend, memberBackendDigest, reportDigest } from '#domain/fleet';
import type { HubLink, HubReport, HubSync, SpokeIdentity, SyncCursor } from '#ports';

import { HTTP_PORT, readyEndpoints } from './fleet.fixture.js';

/** A hub as the conformance spec needs it: what other members of the fleet do, and what the operator does. */
export interface HubUnderTest {
  /** A join token for a cluster name, which is registered with it. */
  makeToken(name: string): Promise<string>;
  /** Another member offers backend `ai/model` with so many endpoints. */
  offer(endpoints: number): Promise<void>;
  withdraw(): Promise<void>;
  /** The hub no longer knows any key, as after a start over an empty database. */
  forgetMembers(): Promise<void>;
  /** Another hub takes over the address: it knows nobody, and nobody knows its certificate authority. */
  startAnew(): Promise<void>;
  close(): Promise<void>;
}

/** How the spec gets a hub and the link to it. */
export interface HubLinkHarness {
  open(): Promise<{ readonly hub: HubUnderTest; readonly link: HubLink }>;
}

const own: MemberBackend = { name: backendName('ai', 'own'), trafficClass: 'endpoints', sessionAffinity: 'None', ports: [HTTP_PORT], endpoints: readyEndpoints(1), capacity: { unit: 'Requests', perEndpoint: 1 } };

const fullReport = (...backends: MemberBackend[]): HubReport => ({ full: true, changed: backends, removed: [], digest: reportDigest(new Map(backends.map((part) => [part.name, memberBackendDigest(part)]))), applied: undefined });

const newKey = (): string => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const endpointsOf = (sync: HubSync): number[] => sync.changed.filter(({ name }) => name === 'backend/ai/model').map(({ backend }) => backend.providers.reduce((sum, provider) => sum + provider.endpoints.length, 0));

/** What a spoke may rely on, the same for the fake and for the real pair of client and server. */
export function describeHubLink(name: string, harness: HubLinkHarness): void {
  describe(name, () => {
    let hub: HubUnderTest;
    let link: HubLink;
    beforeEach(async () => {
      ({ hub, link } = await harness.open());
    });
    afterEach(() => hub.close());

    const enrolled = async (): Promise<SpokeIdentity> => link.enrol({ joinToken: await hub.makeToken('west-1'), privateKeyPem: newKey(), clusterUid: 'uid-west' });
    const sync = (identity: SpokeIdentity, cursor?: SyncCursor, waitMs = 0): Promise<HubSync> => link.sync(identity, cursor, waitMs, new AbortController().signal);

    it('enrolment binds the key to the name of the token; the same call again gives the same identity', async () => {
      const request = { joinToken: await hub.makeToken('west-1'), privateKeyPem: newKey(), clusterUid: 'uid-west' };
      const identity = await link.enrol(request);
      expect(identity).toMatchObject({ clusterId: clusterId('west-1'), privateKeyPem: request.privateKeyPem });
      expect(createPrivateKey(identity.privateKeyPem).asymmetricKeyType).toBe('ed25519');
      expect(await link.enrol(request)).toEqual(identity);
    });

    it('a token that was used by another key, and one that is none of this hub, bind nothing', async () => {
      const joinToken = await hub.makeToken('west-1');
      await link.enrol({ joinToken, privateKeyPem: newKey(), clusterUid: 'uid-west' });
      await expect(link.enrol({ joinToken, privateKeyPem: newKey(), clusterUid: 'uid-west' })).rejects.toMatchObject({ code: 'HUB_TOKEN_USED', kind: 'user' });
      await expect(link.enrol({ joinToken: 'spw1.nonsense', privateKeyPem: newKey(), clusterUid: 'uid-west' })).rejects.toMatchObject({ code: 'HUB_TOKEN_FOREIGN', kind: 'user' });
    });

    it('a key that the hub does not know is told so by every call', async () => {
      const identity = await enrolled();
      await hub.forgetMembers();
      await expect(link.report(identity, fullReport())).rejects.toMatchObject({ code: 'HUB_UNKNOWN_MEMBER', kind: 'user' });
      await expect(sync(identity)).rejects.toMatchObject({ code: 'HUB_UNKNOWN_MEMBER', kind: 'user' });
    });

    it('a hub that was set up anew under the same address is not trusted on its word; a new token leads to it, under the same key', async () => {
      const before = await enrolled();
      await link.report(before, fullReport(own));
      await hub.startAnew();
      await expect(link.report(before, fullReport(own))).rejects.toMatchObject({ code: expect.stringMatching(/^HUB_(TLS|UNKNOWN_MEMBER)$/) });
      const after = await link.enrol({ joinToken: await hub.makeToken('west-1'), privateKeyPem: before.privateKeyPem, clusterUid: 'uid-west' });
      expect(after).toMatchObject({ clusterId: before.clusterId, keyId: before.keyId });
      expect(await link.report(after, fullReport(own))).toMatchObject({ resendFull: false });
      expect(await sync(after)).toMatchObject({ full: true });
    });

    it('a key that joins again under another name speaks under that name from its next call on', async () => {
      const before = await enrolled();
      await link.report(before, fullReport(own));
      await hub.forgetMembers();
      const after = await link.enrol({ joinToken: await hub.makeToken('north-1'), privateKeyPem: before.privateKeyPem, clusterUid: 'uid-west' });
      expect(after.clusterId).toBe('north-1');
      expect(await link.report(after, fullReport(own))).toMatchObject({ resendFull: false });
      expect(await sync(after)).toMatchObject({ full: true });
    });

    it('a rotated key speaks for the same member at once, beside the one that signed for it; asking again is asking once', async () => {
      const before = await enrolled();
      const key = newKey();
      const after = await link.rotateKey(before, key);
      expect(after).toEqual({ ...before, privateKeyPem: key, keyId: after.keyId });
      expect(after.keyId).not.toBe(before.keyId);
      expect(await link.rotateKey(before, key)).toEqual(after);
      expect(await link.report(after, fullReport(own))).toMatchObject({ resendFull: false });
      expect(await link.report(before, fullReport(own))).toMatchObject({ resendFull: false });
    });

    it('a hub that knows the new key only takes its word for it, and one that knows neither refuses', async () => {
      const [older, key] = [await enrolled(), newKey()];
      const newer = await link.enrol({ joinToken: await hub.makeToken('west-1'), privateKeyPem: key, clusterUid: 'uid-west' });
      const unknown = { ...older, privateKeyPem: newKey(), keyId: 'lost' };
      expect(await link.rotateKey(unknown, key)).toEqual({ ...unknown, privateKeyPem: key, keyId: newer.keyId });
      await expect(link.rotateKey(unknown, newKey())).rejects.toMatchObject({ code: 'HUB_UNKNOWN_MEMBER', kind: 'user' });
    });

    it('a report that adds up is taken; one that does not asks for everything', async () => {
      const identity = await enrolled();
      expect(await link.report(identity, fullReport(own))).toEqual({ resendFull: false, intervalMs: expect.any(Number) });
      expect(await link.report(identity, { ...fullReport(), full: false, digest: fullReport(own).digest })).toMatchObject({ resendFull: false });
      expect(await link.report(identity, { ...fullReport(), full: false })).toMatchObject({ resendFull: true });
    });

    it('the first sync is everything; a later one is what changed since its cursor', async () => {
      const identity = await enrolled();
      await hub.offer(1);
      const first = await sync(identity);
      expect(first.full).toBe(true);
      expect(endpointsOf(first)).toEqual([1]);
      await hub.offer(2);
      const second = await sync(identity, first.cursor, 10_000);
      expect(second).toMatchObject({ full: false, removed: [] });
      expect(endpointsOf(second)).toEqual([2]);
      expect(second.changed[0]?.version).not.toBe(first.changed[0]?.version);
      await hub.withdraw();
      expect(await sync(identity, second.cursor, 10_000)).toMatchObject({ full: false, changed: [], removed: ['backend/ai/model'] });
    });

    it('a wait is any time, not whole milliseconds alone: what is left of one is a difference of clock readings', async () => {
      const identity = await enrolled();
      const { cursor } = await sync(identity, undefined, 0.25);
      await hub.offer(1);
      expect(endpointsOf(await sync(identity, cursor, 1_234.567))).toEqual([1]);
    });

    it('a cursor ahead of all that the hub holds is answered with nothing: the caller keeps what it has', async () => {
      const identity = await enrolled();
      await hub.offer(1);
      const { cursor } = await sync(identity);
      const ahead = { ...cursor, sequence: cursor.sequence + 5n };
      expect(await sync(identity, ahead)).toMatchObject({ cursor: ahead, full: false, complete: false, changed: [], removed: [] });
    });

    it('a waiting sync answers when there is news, and a cursor of another epoch gets everything', async () => {
      const identity = await enrolled();
      await hub.offer(1);
      const { cursor } = await sync(identity);
      const waiting = sync(identity, cursor, 30_000);
      await hub.offer(3);
      expect(endpointsOf(await waiting)).toEqual([3]);
      expect(await sync(identity, { ...cursor, epoch: 'another' })).toMatchObject({ full: true, cursor: { epoch: cursor.epoch } });
    });
  });
}
