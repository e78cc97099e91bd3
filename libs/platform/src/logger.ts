import { pino, type Logger as PinoLogger } from 'pino';

/** The structured logger that every process uses: constant messages, fields beside. */
export type Logger = PinoLogger;

/** Levels that a process may be configured to. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** Creates the process's logger. `destination` is for tests; default is standard output. */
export function createLogger(options: { readonly app: string; readonly level: (typeof LOG_LEVELS)[number] }, destination?: { write(line: string): void }): Logger {
  const settings = {
    level: options.level,
    base: { app: options.app },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: ['*.token', '*.kubeconfig', '*.privateKeyPem', '*.authorization', 'token', 'kubeconfig', 'authorization'], censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}
