import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

/** How long after a failure the store is read again, in milliseconds. */
export const READ_RETRY_MS = 5_000;

/** What reading again is made of. */
export interface ReadRetryDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** What is read, for the log: `jobs`. */
  readonly what: string;
  readonly readAnew: () => void;
}

/** Has the store read again a while after it has failed: what could not be read is in it as it was. */
export class ReadRetry {
  readonly #deps: ReadRetryDeps;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(deps: ReadRetryDeps) {
    this.#deps = deps;
  }

  /** The store could not be read. */
  failed(error: unknown): void {
    const { logger, what } = this.#deps;
    if (this.#isStopped) return;
    logger.error({ error }, `${what} could not be read from the store: will be tried again`);
    this.plan();
  }

  /** Reads in a while, once for all who want it. */
  plan(): void {
    const { clock, readAnew } = this.#deps;
    if (this.#isStopped) return;
    this.#timer ??= clock.setTimeout(() => {
      this.#timer = undefined;
      readAnew();
    }, READ_RETRY_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }
}
