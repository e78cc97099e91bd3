/** One thing wrong with an input: where, which rule, and a sentence that says what to do. */
export interface Problem {
  /** Path into the input, such as `spec.ports[1].port`; empty for the whole input. */
  readonly path: string;
  /** A constant `AREA_REASON`. */
  readonly code: string;
  readonly message: string;
}
