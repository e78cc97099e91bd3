/** What the process's exit code says; scripts rely on these numbers. */
export const EXIT = {
  ok: 0,
  /** The hub or the command refused: the message says what to change. */
  refused: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** The hub cannot be reached, or its answer is no GraphQL. */
  unreachable: 3,
  /** `--wait` ran out of time; what was asked for may still come true. */
  timedOut: 4,
  /** `diagnose` found something that needs a person. */
  unhealthy: 5,
} as const;

/** A failure with its exit code, a message and a next step. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly hint: string | undefined;
  constructor(exitCode: number, message: string, hint?: string) {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}
