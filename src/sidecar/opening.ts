import { SidecarError } from '../errors.ts';
import type { Clock } from '../util/clock.ts';
import { setGracePeriod } from '../util/grace-period.ts';
import type { Logger } from '../util/logger.ts';

/** The parts that a start opens. A stop waits for their end only so long. */
export class Opening {
  readonly #givingUp = new AbortController();
  readonly #opened: Promise<void>;
  readonly #givenUp: Promise<void>;
  /** Resolves when nothing is being opened any more. */
  readonly ended: Promise<void>;

  /** @param open - opens one thing after the other, none after the signal is aborted */
  constructor(open: (signal: AbortSignal) => Promise<void>) {
    const { signal } = this.#givingUp;
    this.#givenUp = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#opened = open(signal);
    this.ended = this.#opened.catch(() => undefined);
  }

  /** Settles as the opening does; resolves if that is given up first. */
  get outcome(): Promise<void> {
    return Promise.race([this.#opened, this.#givenUp]);
  }

  /** Waits for the end, and gives up when the time is over. Returns whether it has ended. */
  async endWithin(clock: Clock, limitMs: number): Promise<boolean> {
    const reason = new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar has stopped');
    const limit = setGracePeriod(clock, limitMs, () => this.#givingUp.abort(reason));
    await Promise.race([this.ended, this.#givenUp]);
    limit.cancel();
    return !this.#givingUp.signal.aborted;
  }

  /** Closes what has opened after it was given up. Never rejects. */
  async closeLate(close: () => Promise<readonly PromiseSettledResult<unknown>[]>, logger: Logger): Promise<void> {
    await this.ended;
    for (const result of await close())
      if (result.status === 'rejected')
        logger.error({ error: result.reason }, 'what opened after the stop could not be closed');
  }
}
