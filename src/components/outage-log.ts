import type { Logger } from '../util/logger.ts';
import { clearTimeout, setTimeout } from '../util/timers.ts';

/** The maximum number of reasons of one outage that are remembered as logged. */
const MAX_REASONS = 32;
/** A hand-over that takes longer is an outage. */
const HAND_OVER_MS = 1_000;
const TRYING = 'no connection to the server: trying again';

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
  /** The connections that wait for who takes over. */
  readonly #handOvers = new Map<object, NodeJS.Timeout>();

  constructor(logger: Logger, server: string) {
    this.#logger = logger;
    this.#server = server;
  }

  /** A connection is lost, or could not be made. */
  onLost(connection: object, reason: string): void {
    this.#endHandOver(connection);
    this.#down.add(connection);
    if (this.#reasons.has(reason)) return;
    if (this.#reasons.size === MAX_REASONS) this.#reasons.clear();
    this.#reasons.add(reason);
    this.#logger.warn({ server: this.#server, error: reason }, TRYING);
  }

  /** The server has ended a connection because another one takes over: no outage, unless that takes long. */
  onHandOver(connection: object, reason: string): void {
    this.#endHandOver(connection);
    this.#down.add(connection);
    this.#logger.debug({ server: this.#server, error: reason }, TRYING);
    this.#handOvers.set(connection, setTimeout(() => this.onLost(connection, reason), HAND_OVER_MS).unref());
  }

  #endHandOver(connection: object): void {
    clearTimeout(this.#handOvers.get(connection));
    this.#handOvers.delete(connection);
  }

  /** A connection is there. */
  onConnected(connection: object): void {
    this.#endHandOver(connection);
    this.#down.delete(connection);
    if (this.#reasons.size === 0 || this.#down.size > 0) return;
    this.#reasons.clear();
    this.#logger.info({ server: this.#server }, 'connected to the server again');
  }

  /** A connection is not needed any more: the server can be back without it. */
  onClosed(connection: object): void {
    this.#endHandOver(connection);
    this.#down.delete(connection);
  }
}
