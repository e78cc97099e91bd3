import { createHash, createPublicKey } from 'node:crypto';
import type { Agent } from 'node:https';

import { createClient, type Client } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';

import { backendOfResource, CA_BUNDLE_RESOURCE, parseImportedBackend, parseJoinToken, parseMemberPaths, PATHS_RESOURCE, SPOKE_API_LIMITS, SpokeService, toWireFirstSeen, toWireMemberBackend, toWireReachReport, type SyncResponse } from '#contracts/spoke-api';
import { clusterId, FleetError, isFleetError } from '#domain/fleet';
import { HubLink, type Clock, type HubReport, type HubReportAnswer, type HubSync, type SpokeIdentity, type SyncCursor } from '#ports';

import { createTrustingAgent } from './https-post.js';
import { toLinkError } from './link-errors.js';
import { fetchPinnedAuthority } from './pinned-authority.js';
import { createSignedFetch, type HubOffset } from './signed-fetch.js';

/** What a link needs to know of its own process. */
export interface HttpHubLinkOptions {
  readonly clock: Clock;
  /** Version of this spoke, reported to the hub. */
  readonly version: string;
}

const CALL_MS_MAX = 10_000;
/** What the network may take on top of a long poll's own wait. */
const SYNC_SLACK_MS = 10_000;

interface Connection {
  readonly identity: SpokeIdentity;
  readonly agent: Agent;
  readonly client: Client<typeof SpokeService>;
}

/** The spoke API over HTTPS: Connect with binary protobuf, each call signed, the hub trusted by the CA that enrolment pinned. */
export class HttpHubLink extends HubLink {
  readonly #options: HttpHubLinkOptions;
  readonly #offset: HubOffset = { offsetMs: undefined };
  #connection: Connection | undefined;

  constructor(options: HttpHubLinkOptions) {
    super();
    this.#options = options;
  }

  async enrol(request: { readonly joinToken: string; readonly privateKeyPem: string; readonly clusterUid: string }): Promise<SpokeIdentity> {
    const token = parseJoinToken(request.joinToken);
    if (token === undefined) throw new FleetError('HUB_TOKEN_FOREIGN', 'user', 'the join token is no token of Spillway, or is cut off; copy the whole text from `spillway join --print`');
    const caBundlePem = await fetchPinnedAuthority(token.hubUrl, token.caFingerprint);
    const agent = createTrustingAgent(caBundlePem);
    try {
      const client = this.#clientOf(token.hubUrl, agent, undefined);
      const answer = await client.enrol({ joinToken: request.joinToken.trim(), publicKey: rawPublicKey(request.privateKeyPem), clusterUid: request.clusterUid, spokeVersion: this.#options.version }, { timeoutMs: CALL_MS_MAX });
      return {
        clusterId: clusterId(answer.clusterId),
        keyId: answer.keyId,
        audience: answer.audience,
        hubUrl: token.hubUrl,
        caBundlePem: answer.caBundlePem,
        privateKeyPem: request.privateKeyPem,
      };
    } catch (error) {
      throw toLinkError(error, token.hubUrl);
    } finally {
      agent.destroy();
    }
  }

  async rotateKey(identity: SpokeIdentity, newPrivateKeyPem: string): Promise<SpokeIdentity> {
    const newPublicKey = rawPublicKey(newPrivateKeyPem);
    const next = { ...identity, privateKeyPem: newPrivateKeyPem, keyId: createHash('sha256').update(newPublicKey).digest('base64url') };
    const agent = createTrustingAgent(identity.caBundlePem);
    const ask = async (signer: SpokeIdentity): Promise<SpokeIdentity> => {
      try {
        const { keyId } = await this.#clientOf(identity.hubUrl, agent, signer).rotateKey({ newPublicKey }, { timeoutMs: CALL_MS_MAX });
        return { ...next, keyId };
      } catch (error) {
        throw toLinkError(error, identity.hubUrl);
      }
    };
    try {
      return await ask(identity);
    } catch (error) {
      // An answer that was lost is asked for again; by then the old key may have ended, and only the new one can ask.
      if (!isFleetError(error) || error.code !== 'HUB_UNKNOWN_MEMBER') throw error;
      return await ask(next);
    } finally {
      agent.destroy();
    }
  }

  async report(identity: SpokeIdentity, report: HubReport): Promise<HubReportAnswer> {
    const request = {
      clusterId: identity.clusterId,
      full: report.full,
      changed: report.changed.map(toWireMemberBackend),
      removed: [...report.removed],
      digest: report.digest,
      appliedEpoch: report.applied?.epoch ?? '',
      appliedSequence: report.applied?.sequence ?? 0n,
      spokeVersion: this.#options.version,
      spokeTimeMs: BigInt(this.#options.clock.nowMs()),
      ...toWireReachReport(report.reach),
      firstSeen: toWireFirstSeen(report.firstSeen),
    };
    try {
      const answer = await this.#connect(identity).client.report(request, { timeoutMs: CALL_MS_MAX });
      return { resendFull: answer.resendFull, intervalMs: answer.intervalMs };
    } catch (error) {
      throw toLinkError(error, identity.hubUrl);
    }
  }

  async sync(identity: SpokeIdentity, cursor: SyncCursor | undefined, waitMs: number, signal: AbortSignal): Promise<HubSync> {
    // The wire has whole milliseconds; a clock's differences are none.
    const boundedWaitMs = Math.floor(Math.min(Math.max(waitMs, 0), SPOKE_API_LIMITS.syncWaitMsMax));
    const request = { epoch: cursor?.epoch ?? '', sequence: cursor?.sequence ?? 0n, mark: cursor?.mark ?? '', waitMs: boundedWaitMs };
    try {
      return readSync(await this.#connect(identity).client.sync(request, { timeoutMs: boundedWaitMs + SYNC_SLACK_MS, signal }));
    } catch (error) {
      throw toLinkError(error, identity.hubUrl);
    }
  }

  clockOffsetMs(): number | undefined {
    return this.#offset.offsetMs;
  }

  /** Closes idle connections. */
  close(): void {
    this.#connection?.agent.destroy();
    this.#connection = undefined;
  }

  // One identity at a time: another one (a new key, name or hub, another CA bundle) gets new connections.
  #connect(identity: SpokeIdentity): Connection {
    const current = this.#connection;
    if (current !== undefined && isSameIdentity(current.identity, identity)) return current;
    current?.agent.destroy();
    const agent = createTrustingAgent(identity.caBundlePem);
    this.#connection = { identity, agent, client: this.#clientOf(identity.hubUrl, agent, identity) };
    return this.#connection;
  }

  #clientOf(hubUrl: string, agent: Agent, identity: SpokeIdentity | undefined): Client<typeof SpokeService> {
    const fetch = createSignedFetch({ agent, clock: this.#options.clock, offset: this.#offset, identity });
    return createClient(SpokeService, createConnectTransport({ baseUrl: hubUrl, useBinaryFormat: true, fetch }));
  }
}

const IDENTITY_FIELDS: readonly (keyof SpokeIdentity)[] = ['clusterId', 'keyId', 'audience', 'hubUrl', 'caBundlePem', 'privateKeyPem'];

const isSameIdentity = (one: SpokeIdentity, other: SpokeIdentity): boolean => IDENTITY_FIELDS.every((field) => one[field] === other[field]);

// An Ed25519 SubjectPublicKeyInfo is a fixed prefix of 12 bytes before the raw key (RFC 8410).
function rawPublicKey(privateKeyPem: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createPublicKey(privateKeyPem).export({ type: 'spki', format: 'der' }).subarray(12));
}

function readSync(answer: SyncResponse): HubSync {
  const changed = answer.changed.flatMap(({ name, version, body, firstSeen }) =>
    body.case === 'backend' && backendOfResource(name) !== undefined ? [{ name, version, backend: parseImportedBackend(body.value), ...(firstSeen === 0n ? {} : { firstSeen }) }] : [],
  );
  const paths = answer.changed.find(({ name, body }) => name === PATHS_RESOURCE && body.case === 'paths');
  const bundle = answer.changed.find(({ name, body }) => name === CA_BUNDLE_RESOURCE && body.case === 'caBundle');
  return {
    cursor: { epoch: answer.epoch, sequence: answer.sequence, mark: answer.mark },
    full: answer.full,
    complete: answer.complete,
    changed,
    removed: [...answer.removed],
    caBundlePem: bundle?.body.case === 'caBundle' ? bundle.body.value.pem : undefined,
    ...(paths?.body.case === 'paths' ? { paths: { version: paths.version, paths: parseMemberPaths(paths.body.value) } } : {}),
  };
}
