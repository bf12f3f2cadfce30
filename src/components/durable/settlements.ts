import type { Change, CommitBatcher } from '../../kernel/commit-batcher.ts';
import type { OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import { isStateError } from '../../state/errors.ts';
import { type Clock, sleep, systemClock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';

/** Wait before asking the store again after it failed. */
export const STORE_RETRY_MS = 1_000;

/** What becomes of a message's entry. */
export type Settlement = Pick<Change, 'put' | 'delete'>;

/** What settlements are recorded with. */
export interface SettlementsDeps {
  readonly commits: CommitBatcher;
  readonly owned: OwnedShards;
  /** That of the group. */
  readonly shard: OwnedShard;
  readonly logger: Logger;
  /** Called when the store has taken what it had not. */
  readonly onCaughtUp: () => void;
}

/**
 * Writes the settlements of one group. When the store fails they are tried again as long as the group has consumers: the
 * message is no longer in flight, and nobody else would look at it before the group is joined anew. When the group has
 * gone to another host meanwhile, nothing is written: that host hands the message out again.
 */
export class Settlements {
  readonly #deps: SettlementsDeps;
  #behind = 0;
  #waiting: { readonly signal: AbortSignal; readonly over: Promise<void> } | undefined;
  /** Where to take time from. */
  clock: Clock = systemClock;

  constructor(deps: SettlementsDeps) {
    this.#deps = deps;
  }

  /** Whether there are some that the store has not taken. */
  get areBehind(): boolean {
    return this.#behind > 0;
  }

  /** Resolves once it is durable; rejects when `signal` fires while the store does not take it. */
  async record(settlement: Settlement, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(settlement);
    } catch (error) {
      if (isStateError(error) && error.kind === 'invalid') throw error;
      if (!this.areBehind) this.#deps.logger.error({ error }, 'settlements could not be stored: will be tried again');
      this.#behind++;
      await this.#repeat(settlement, { signal, error }).finally(() => {
        this.#behind--;
        if (!this.areBehind) this.#deps.onCaughtUp();
      });
    }
  }

  async #write(settlement: Settlement): Promise<void> {
    const { commits, owned, shard } = this.#deps;
    try {
      await commits.commit({ ...settlement, fence: shard.fence() });
    } catch (error) {
      if (!owned.isFenced(error)) throw error;
    }
  }

  async #repeat(settlement: Settlement, failed: { readonly signal: AbortSignal; error: unknown }): Promise<void> {
    for (;;) {
      await this.#wait(failed.signal).catch(() => {
        throw failed.error;
      });
      try {
        return await this.#write(settlement);
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
