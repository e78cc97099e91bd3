/** Who must act on an error: `transient` heals by retry, `user` needs a person's change, `bug` needs ours. */
export type ErrorKind = 'transient' | 'user' | 'bug';

/**
 * The one error class that shells throw. `code` is a constant from the list of its area, `message` is a sentence
 * that a user may read: never a secret, never a stack.
 */
export class FleetError extends Error {
  override readonly name = 'FleetError';
  readonly code: string;
  readonly kind: ErrorKind;
  constructor(code: string, kind: ErrorKind, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.kind = kind;
  }
}

/** Whether a value is a {@link FleetError}, also across two copies of this module. */
export const isFleetError = (value: unknown): value is FleetError =>
  value instanceof Error && value.name === 'FleetError' && 'code' in value && 'kind' in value;

/** Fails on a broken invariant: always a bug of ours, never bad input. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new FleetError('INVARIANT_BROKEN', 'bug', message);
}

/** Marks the branch that a closed union never reaches. */
export function assertNever(value: never): never {
  throw new FleetError('INVARIANT_BROKEN', 'bug', `unexpected value ${JSON.stringify(value)}`);
}
