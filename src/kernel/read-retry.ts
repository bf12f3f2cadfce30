import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

/** How long to wait before reading the store again after a failure, in milliseconds. */
export const READ_RETRY_MS = 5_000;

/** The dependencies of a {@link ReadRetry}. */
export interface ReadRetryDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The subject of the read, for the log: `jobs`. */
  readonly what: string;
  readonly readAnew: () => void;
}

/** Reads the store again some time after a read has failed: the unread data is still in it. */
export class ReadRetry {
  readonly #deps: ReadRetryDeps;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(deps: ReadRetryDeps) {
    this.#deps = deps;
  }

  /** Reports that the store could not be read. */
  failed(error: unknown): void {
    const { logger, what } = this.#deps;
    if (this.#isStopped) return;
    logger.error({ error }, `${what} could not be read from the store: will be tried again`);
    this.plan();
  }

  /** Plans one read for all callers. */
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
