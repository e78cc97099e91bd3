import { createHash } from 'node:crypto';

import { FleetError } from '#domain/fleet';
import type { Clock, Kube, KubeObject } from '#ports';

import { KUBE_KINDS } from '#contracts/kube-objects';

/** Who a ServiceAccount token speaks for. */
export interface ReviewedCaller {
  /** ServiceAccount name in our namespace. */
  readonly serviceAccount: string;
  /** Node that the token's pod is bound to, where the API server says so. */
  readonly nodeName: string | undefined;
  /** Name of that pod, likewise. */
  readonly podName: string | undefined;
}

/** Who may call, and how long an answer is believed. */
export interface TokenReviewerOptions {
  readonly namespace: string;
  readonly audience: string;
  readonly serviceAccounts: readonly string[];
  readonly trustMs: number;
  readonly refuseMs: number;
  readonly cacheEntriesMax: number;
  /** Questions to the API server at once. */
  readonly asksMax: number;
  /** Tokens of one source address that the API server refused, within {@link refusalWindowMs}; after that it is not asked. */
  readonly refusalsPerSourceMax: number;
  readonly refusalWindowMs: number;
}

type Verdict = { readonly untilMs: number } & ({ readonly caller: ReviewedCaller } | { readonly refusal: string });

const NODE_NAME_EXTRA = 'authentication.kubernetes.io/node-name';
const POD_NAME_EXTRA = 'authentication.kubernetes.io/pod-name';

/** Asks the API server whose a token is (TokenReview), and remembers a bounded number of answers for a bounded time. */
export class TokenReviewer {
  readonly #verdicts = new Map<string, Verdict>();
  /** By source address, in the order of the window's start. */
  readonly #refusals = new Map<string, { readonly sinceMs: number; count: number }>();
  #askCount = 0;

  constructor(
    private readonly kube: Kube,
    private readonly clock: Clock,
    private readonly options: TokenReviewerOptions,
  ) {}

  /**
   * The caller, or throws XDS_UNAUTHENTICATED (`user`), XDS_REVIEWS_BUSY (`transient`), or what the API server's absence throws
   * (`transient`). `source` is the address that the token came from: no source can make the API server judge token after token.
   */
  async review(token: string, source: string): Promise<ReviewedCaller> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#verdicts.get(key);
    const verdict = known !== undefined && this.clock.monotonicMs() < known.untilMs ? known : await this.#askFor(token, source);
    this.#remember(key, verdict);
    if ('caller' in verdict) return verdict.caller;
    throw new FleetError('XDS_UNAUTHENTICATED', 'user', verdict.refusal);
  }

  async #askFor(token: string, source: string): Promise<Verdict> {
    const refusals = this.#refusalsOf(source);
    if (refusals.count >= this.options.refusalsPerSourceMax) throw new FleetError('XDS_UNAUTHENTICATED', 'user', 'Too many tokens that may not call came from this address; wait a minute, then send the right one.');
    if (this.#askCount >= this.options.asksMax) throw new FleetError('XDS_REVIEWS_BUSY', 'transient', 'Too many tokens are being checked; connect again.');
    this.#askCount += 1;
    try {
      const verdict = await this.#ask(token);
      if ('refusal' in verdict) refusals.count += 1;
      return verdict;
    } finally {
      this.#askCount -= 1;
    }
  }

  #refusalsOf(source: string): { count: number } {
    const nowMs = this.clock.monotonicMs();
    const known = this.#refusals.get(source);
    if (known !== undefined && nowMs - known.sinceMs < this.options.refusalWindowMs) return known;
    const fresh = { sinceMs: nowMs, count: 0 };
    this.#refusals.delete(source);
    this.#refusals.set(source, fresh);
    forgetOldest(this.#refusals, this.options.cacheEntriesMax);
    return fresh;
  }

  async #ask(token: string): Promise<Verdict> {
    const spec = { token, audiences: [this.options.audience] };
    const review = await this.kube.create(KUBE_KINDS.tokenReview, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: { name: '' }, spec });
    const answer = this.#judge(review);
    const lifeMs = 'caller' in answer ? this.options.trustMs : this.options.refuseMs;
    return { ...answer, untilMs: this.clock.monotonicMs() + lifeMs };
  }

  #judge(review: KubeObject): { readonly caller: ReviewedCaller } | { readonly refusal: string } {
    const status = record(review['status']);
    if (status['authenticated'] !== true) return { refusal: 'The API server does not know this token; send a ServiceAccount token of the audience spillway-xds.' };
    const audiences = status['audiences'];
    if (!Array.isArray(audiences) || !audiences.includes(this.options.audience)) return { refusal: 'The token is for another audience; project one for the audience spillway-xds.' };
    const user = record(status['user']);
    const prefix = `system:serviceaccount:${this.options.namespace}:`;
    const name = typeof user['username'] === 'string' ? user['username'] : '';
    const serviceAccount = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (!this.options.serviceAccounts.includes(serviceAccount)) return { refusal: `${name} may not read this cluster's routing plan; use the ServiceAccounts ${this.options.serviceAccounts.join(' or ')}.` };
    const extra = record(user['extra']);
    return { caller: { serviceAccount, nodeName: firstText(extra[NODE_NAME_EXTRA]), podName: firstText(extra[POD_NAME_EXTRA]) } };
  }

  #remember(key: string, verdict: Verdict): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    forgetOldest(this.#verdicts, this.options.cacheEntriesMax);
  }
}

function forgetOldest(entries: Map<string, unknown>, max: number): void {
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}

const record = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {});

const firstText = (value: unknown): string | undefined => (Array.isArray(value) && typeof value[0] === 'string' ? value[0] : undefined);
