import { answerQuestion, type DnsAnswer, type DnsZone } from '#domain/dns-records';

import { encodeError, encodeResponse, payloadBytesMax } from './encode-response.js';
import { parseQuery, RCODE, type Query, type Rcode } from './parse-query.js';

/** How messages ended, for the counter. `dropped` are no queries; `malformed` were answered with FORMERR, `failed` with SERVFAIL. */
export const DNS_OUTCOMES = ['answer', 'no-data', 'no-such-name', 'refused', 'not-ready', 'malformed', 'not-implemented', 'bad-version', 'failed', 'dropped'] as const;

/** How one message ended. */
export type DnsOutcome = (typeof DNS_OUTCOMES)[number];

/** A response and how it came about; no bytes where the message is not answered. */
export interface DnsResponse {
  readonly outcome: DnsOutcome;
  readonly bytes: Buffer | undefined;
}

/**
 * Turns messages into responses, from one zone at a time; before the first zone every question gets SERVFAIL. Whoever
 * asks the same thing in the same words gets the same bytes again: positive answers over UDP are kept until the zone
 * changes. Negative ones are not, so that a flood of unknown names takes no memory.
 */
export class DnsResponder {
  readonly #keptMax: number;
  #zone: DnsZone | undefined;
  #kept = new Map<string, Buffer>();

  /** Keeps at most so many responses. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  get keptCount(): number {
    return this.#kept.size;
  }

  get hasZone(): boolean {
    return this.#zone !== undefined;
  }

  /** Answers from this zone from now on. */
  setZone(zone: DnsZone): void {
    this.#zone = zone;
    this.#kept = new Map();
  }

  respond(message: Buffer, transport: 'udp' | 'tcp'): DnsResponse {
    // Everything but the id: two queries that agree in it get the same response.
    const key = transport === 'udp' && message.length <= KEY_BYTES_MAX ? message.toString('latin1', 2) : undefined;
    const kept = key === undefined ? undefined : this.#kept.get(key);
    if (kept !== undefined) return { outcome: 'answer', bytes: withId(kept, message) };
    const response = this.#composeSafely(message, transport);
    if (key !== undefined && response.outcome === 'answer' && response.bytes !== undefined) this.#keep(key, response.bytes);
    return response;
  }

  #keep(key: string, bytes: Buffer): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < this.#keptMax) break;
      this.#kept.delete(oldest);
    }
    this.#kept.set(key, bytes);
  }

  // Whatever one question brings about, the next one is answered.
  #composeSafely(message: Buffer, transport: 'udp' | 'tcp'): DnsResponse {
    try {
      return this.#compose(message, transport);
    } catch {
      return { outcome: 'failed', bytes: encodeError(message, RCODE.serverFailure) };
    }
  }

  #compose(message: Buffer, transport: 'udp' | 'tcp'): DnsResponse {
    const query = parseQuery(message);
    switch (query.kind) {
      case 'drop':
        return { outcome: 'dropped', bytes: undefined };
      case 'error':
        return { outcome: query.rcode === RCODE.notImplemented ? 'not-implemented' : 'malformed', bytes: encodeError(message, query.rcode) };
      case 'query': {
        const verdict = this.#judge(query);
        return { outcome: outcomeOf(verdict), bytes: encodeResponse(message, query, verdict, payloadBytesMax(query, transport)) };
      }
    }
  }

  #judge(query: Query): DnsAnswer | Rcode {
    if (query.ednsVersion !== 0) return RCODE.badVersion;
    if (!query.isInternet) return RCODE.refused;
    // R23: out of ignorance nothing is denied.
    if (this.#zone === undefined) return RCODE.serverFailure;
    return answerQuestion(this.#zone, query);
  }
}

/** Longer queries are rare and would make the kept ones large. */
const KEY_BYTES_MAX = 320;

function withId(response: Buffer, request: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(response.length);
  response.copy(copy);
  copy[0] = request[0] ?? 0;
  copy[1] = request[1] ?? 0;
  return copy;
}

function outcomeOf(verdict: DnsAnswer | Rcode): DnsOutcome {
  if (typeof verdict !== 'number') return verdict.kind;
  if (verdict === RCODE.badVersion) return 'bad-version';
  return verdict === RCODE.refused ? 'refused' : 'not-ready';
}
