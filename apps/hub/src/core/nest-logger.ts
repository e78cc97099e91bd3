import type { LoggerService } from '@nestjs/common';

import type { Logger } from '#platform';

/** Nest's own messages, in the process's log. */
export class NestLogger implements LoggerService {
  readonly #logger: Logger;
  constructor(logger: Logger) {
    this.#logger = logger;
  }
  log(message: unknown, ...details: unknown[]): void {
    this.#logger.debug({ nest: message, details }, 'nest');
  }
  warn(message: unknown, ...details: unknown[]): void {
    this.#logger.warn({ nest: message, details }, 'nest warns');
  }
  error(message: unknown, ...details: unknown[]): void {
    this.#logger.error({ nest: message, details }, 'nest failed');
  }
}
