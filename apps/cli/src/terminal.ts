import ora from 'ora';

/** Where a command writes: results to `out`, progress and errors to `err`, so that a pipe gets results only. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether `err` is a terminal that can show a moving spinner. */
  readonly interactive: boolean;
}

/** One step under way. */
export interface Progress {
  /** Says what is happening now. */
  update(text: string): void;
  done(text: string): void;
  fail(text: string): void;
}

/** Shows a step: a spinner on a terminal, one plain line per change of text elsewhere. */
export function startProgress(terminal: Terminal, text: string): Progress {
  if (!terminal.interactive) return plainProgress(terminal, text);
  const spinner = ora({ text, stream: process.stderr }).start();
  return {
    update: (next) => {
      spinner.text = next;
    },
    done: (next) => spinner.succeed(next),
    fail: (next) => spinner.fail(next),
  };
}

function plainProgress(terminal: Terminal, text: string): Progress {
  let last = text;
  terminal.err(`… ${text}`);
  return {
    update: (next) => {
      if (next !== last) terminal.err(`… ${next}`);
      last = next;
    },
    done: (next) => terminal.err(`✔ ${next}`),
    fail: (next) => terminal.err(`✖ ${next}`),
  };
}
