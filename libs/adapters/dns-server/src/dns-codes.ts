/** Response codes of RFC 1035 and RFC 6891. */
export const RCODE = { noError: 0, formatError: 1, serverFailure: 2, nameError: 3, notImplemented: 4, refused: 5, badVersion: 16 } as const;

/** A response code. */
export type Rcode = (typeof RCODE)[keyof typeof RCODE];

/** Extended errors of RFC 8914: why a response is as it is. */
export const EXTENDED_ERROR = { staleAnswer: 3, notReady: 14, notAuthoritative: 20, noReachableAuthority: 22 } as const;

/** An extended error. */
export type ExtendedError = (typeof EXTENDED_ERROR)[keyof typeof EXTENDED_ERROR];

/** Numbers of the record types that zones have, and of those that questions alone have. */
export const TYPE_NUMBERS = { A: 1, NS: 2, SOA: 6, TXT: 16, AAAA: 28, SRV: 33, OPT: 41, IXFR: 251, AXFR: 252, ANY: 255 } as const;

/** Mnemonics by number. */
export const TYPE_NAMES: ReadonlyMap<number, string> = new Map(Object.entries(TYPE_NUMBERS).map(([name, number]) => [number, name]));

/** Class numbers. */
export const CLASS_NUMBERS = { internet: 1, any: 255 } as const;

export const HEADER_BYTES = 12;

/** Header bits: of the third byte, and `opcodeMask` what lies between them. */
export const FLAG = { response: 0x80, opcodeMask: 0x78, authoritative: 0x04, truncated: 0x02, recursionDesired: 0x01 } as const;
