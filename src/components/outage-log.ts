import type { Logger } from '../util/logger.ts';

/** The maximum number of reasons of one outage that are remembered as logged. */
const MAX_REASONS = 32;

/**
 * Logs the outages of a server, in the same words for every broker: a warning for each different reason, whichever of
 * its connections is lost, and one line when all of them are back. Reasons can alternate while a server starts.
 */
export class OutageLog {
  readonly #logger: Logger;
  readonly #server: string;
  readonly #down = new Set<object>();
  /** Reasons that were logged since the outage began; empty without an outage. */
  readonly #reasons = new Set<string>();

  constructor(logger: Logger, server: string) {
    this.#logger = logger;
    this.#server = server;
  }

  /** A connection is lost, or could not be made. */
  onLost(connection: object, reason: string): void {
    this.#down.add(connection);
    if (this.#reasons.has(reason)) return;
    if (this.#reasons.size === MAX_REASONS) this.#reasons.clear();
    this.#reasons.add(reason);
    this.#logger.warn({ server: this.#server, error: reason }, 'no connection to the server: trying again');
  }

  /** A connection is there. */
  onConnected(connection: object): void {
    this.#down.delete(connection);
    if (this.#reasons.size === 0 || this.#down.size > 0) return;
    this.#reasons.clear();
    this.#logger.info({ server: this.#server }, 'connected to the server again');
  }

  /** A connection is not needed any more: the server can be back without it. */
  onClosed(connection: object): void {
    this.#down.delete(connection);
  }
}
