import { answerQuestion, zoneOf, type DnsAnswer, type DnsZone } from '#domain/dns-records';
import type { Random } from '#ports';

import { bareContent, composeError, composeResponse, payloadBytesMax, staleness, type ResponseContent } from './compose-response.js';
import { EXTENDED_ERROR, RCODE, TYPE_NAMES, type Rcode } from './dns-codes.js';
import { parseQuery, type Query } from './parse-query.js';
import { encodeAnswer, encodeAuthority, type WireAnswer, type WireAuthority } from './wire-answer.js';

/** How messages ended, for the counter. `dropped` are no queries; `malformed` were answered with FORMERR, `unknown` and `failed` with SERVFAIL. */
export const DNS_OUTCOMES = ['answer', 'no-data', 'no-such-name', 'refused', 'not-ready', 'unknown', 'malformed', 'not-implemented', 'bad-version', 'failed', 'dropped'] as const;

/** How one message ended. */
export type DnsOutcome = (typeof DNS_OUTCOMES)[number];

/** A response and how it came about; no bytes where the message is not answered. */
export interface DnsResponse {
  readonly outcome: DnsOutcome;
  readonly bytes: Buffer | undefined;
}

/** A zone, and what of it was encoded so far. */
interface ServedZone {
  readonly zone: DnsZone;
  readonly origin: string;
  readonly authority: WireAuthority;
  /** Positive answers by name and type: as many as the zone has records, whatever is asked. */
  readonly answers: Map<string, Map<number, WireAnswer>>;
}

/**
 * Turns messages into responses, from some zones at a time; before the first zones every question gets SERVFAIL. Each answer
 * is encoded once, when it is first asked for, and kept as long as its zone. Of names that do not exist nothing is kept, so a
 * flood of them takes no memory.
 */
export class DnsResponder {
  readonly #random: Random;
  #served: readonly ServedZone[] = [];
  #zones: readonly DnsZone[] | undefined;
  #isCurrent = false;
  #encodedCount = 0;

  /** The order of addresses comes from `random`. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** Answers that are kept encoded. */
  get encodedCount(): number {
    return this.#encodedCount;
  }

  get hasZones(): boolean {
    return this.#zones !== undefined;
  }

  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** Answers from these zones from now on. A zone that is the same object as before keeps what was encoded of it. */
  setZones(zones: readonly DnsZone[]): void {
    const before = new Map(this.#served.map((served) => [served.zone, served]));
    this.#served = zones.map((zone) => before.get(zone) ?? { zone, origin: zone.origin, authority: encodeAuthority(zone.soa), answers: new Map() });
    this.#zones = zones;
    this.#encodedCount = this.#served.flatMap(({ answers }) => [...answers.values()]).reduce((count, types) => count + types.size, 0);
  }

  /** Says whether the zones are all that there is. Where they may be out of date, names are not denied, and answers are marked. */
  setCurrent(isCurrent: boolean): void {
    this.#isCurrent = isCurrent;
  }

  respond(message: Buffer, transport: 'udp' | 'tcp'): DnsResponse {
    try {
      return this.#respond(message, transport);
    } catch {
      // Whatever one question brings about, the next one is answered.
      return { outcome: 'failed', bytes: composeError(message, RCODE.serverFailure) };
    }
  }

  #respond(message: Buffer, transport: 'udp' | 'tcp'): DnsResponse {
    const query = parseQuery(message);
    switch (query.kind) {
      case 'drop':
        return { outcome: 'dropped', bytes: undefined };
      case 'error':
        return { outcome: query.rcode === RCODE.notImplemented ? 'not-implemented' : 'malformed', bytes: composeError(message, query.rcode) };
      case 'query': {
        const { outcome, content } = this.#judge(query);
        return { outcome, bytes: composeResponse(message, query, content, { bytesMax: payloadBytesMax(query, transport), random: this.#random }) };
      }
    }
  }

  #judge(query: Query): Judgement {
    if (query.edns !== undefined && query.edns.version !== 0) return BAD_VERSION;
    if (!query.isInternet) return REFUSED;
    // R23: out of ignorance nothing is denied.
    if (this.#zones === undefined) return NOT_READY;
    const served = zoneOf(this.#served, query.name);
    if (served === undefined) return REFUSED;
    const kept = served.answers.get(query.name)?.get(query.type);
    if (kept !== undefined) return this.#positive(kept);
    return this.#judgeAnew(query, served, answerQuestion(this.#zones, { name: query.name, type: TYPE_NAMES.get(query.type) ?? '' }, this.#isCurrent));
  }

  #judgeAnew(query: Query, served: ServedZone, answer: DnsAnswer): Judgement {
    switch (answer.kind) {
      case 'answer':
        return this.#positive(this.#keep(query, served, encodeAnswer(query.name, answer.answers, answer.additionals)));
      case 'no-data':
        return this.#negative('no-data', RCODE.noError, served);
      case 'no-such-name':
        return this.#negative('no-such-name', RCODE.nameError, served);
      case 'unknown':
        return UNKNOWN;
      case 'refused':
        return REFUSED;
    }
  }

  #keep(query: Query, { answers }: ServedZone, encoded: WireAnswer): WireAnswer {
    const types = answers.get(query.name) ?? new Map<number, WireAnswer>();
    answers.set(query.name, types.set(query.type, encoded));
    this.#encodedCount += 1;
    return encoded;
  }

  #positive(answer: WireAnswer): Judgement {
    return { outcome: 'answer', content: { rcode: RCODE.noError, answer, authority: undefined, extendedError: staleness(this.#isCurrent) } };
  }

  #negative(outcome: DnsOutcome, rcode: Rcode, { authority }: ServedZone): Judgement {
    return { outcome, content: { rcode, answer: undefined, authority, extendedError: staleness(this.#isCurrent) } };
  }
}

interface Judgement {
  readonly outcome: DnsOutcome;
  readonly content: ResponseContent;
}

const BAD_VERSION: Judgement = { outcome: 'bad-version', content: bareContent(RCODE.badVersion) };
const REFUSED: Judgement = { outcome: 'refused', content: bareContent(RCODE.refused, EXTENDED_ERROR.notAuthoritative) };
const NOT_READY: Judgement = { outcome: 'not-ready', content: bareContent(RCODE.serverFailure, EXTENDED_ERROR.notReady) };
const UNKNOWN: Judgement = { outcome: 'unknown', content: bareContent(RCODE.serverFailure, EXTENDED_ERROR.noReachableAuthority) };
