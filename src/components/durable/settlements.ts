import { isStateError } from '../../state/errors.ts';
import type { Put } from '../../state/store.ts';
import { type Clock, sleep, systemClock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { GroupCommit } from './group-commit.ts';

/** Wait before asking the store again after it failed. */
export const STORE_RETRY_MS = 1_000;

/**
 * Writes the settlements of one group. When the store fails they are tried again as long as the group has consumers: the
 * message is no longer in flight, and nobody else would look at it before the group is joined anew.
 */
export class Settlements {
  readonly #commits: GroupCommit;
  readonly #logger: Logger;
  readonly #onCaughtUp: () => void;
  #behind = 0;
  #waiting: { readonly signal: AbortSignal; readonly over: Promise<void> } | undefined;
  /** Where to take time from. */
  clock: Clock = systemClock;

  /** `onCaughtUp` is called when the store has taken what it had not. */
  constructor(commits: GroupCommit, logger: Logger, onCaughtUp: () => void) {
    this.#commits = commits;
    this.#logger = logger;
    this.#onCaughtUp = onCaughtUp;
  }

  /** Whether there are some that the store has not taken. */
  get areBehind(): boolean {
    return this.#behind > 0;
  }

  /** Resolves once it is durable; rejects when `signal` fires while the store does not take it. */
  async record(put: readonly Put[], remove: string | undefined, signal: AbortSignal): Promise<void> {
    try {
      await this.#commits.change(put, remove);
    } catch (error) {
      if (isStateError(error) && error.kind === 'invalid') throw error;
      if (!this.areBehind) this.#logger.error({ error }, 'settlements could not be stored: will be tried again');
      this.#behind++;
      await this.#repeat(put, remove, { signal, error }).finally(() => {
        this.#behind--;
        if (!this.areBehind) this.#onCaughtUp();
      });
    }
  }

  async #repeat(
    put: readonly Put[],
    remove: string | undefined,
    failed: { readonly signal: AbortSignal; error: unknown },
  ): Promise<void> {
    for (;;) {
      await this.#wait(failed.signal).catch(() => {
        throw failed.error;
      });
      try {
        return await this.#commits.change(put, remove);
      } catch (error) {
        failed.error = error;
      }
    }
  }

  /** One wait for all, so that they are tried again together. */
  #wait(signal: AbortSignal): Promise<void> {
    const wait = this.#waiting?.signal === signal ? this.#waiting : { signal, over: this.#pause(signal) };
    this.#waiting = wait;
    return wait.over;
  }

  async #pause(signal: AbortSignal): Promise<void> {
    try {
      await sleep(this.clock, STORE_RETRY_MS, signal);
    } finally {
      if (this.#waiting?.signal === signal) this.#waiting = undefined;
    }
  }
}
