import type { Change, CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isConflictError, isStateError } from '../../state/errors.ts';
import { type Clock, sleep, systemClock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { GroupLease } from './group-lease.ts';
import type { StoredMessage } from './stored-message.ts';

/** How long to wait before the next try after the store has failed. */
export const STORE_RETRY_MS = 1_000;

/** The change of a message's entry. */
export type Settlement = Pick<Change, 'put' | 'delete'>;

/** The dependencies of {@link Settlements}. */
export interface SettlementsDeps {
  readonly commits: CommitBatcher;
  readonly lease: GroupLease;
  readonly logger: Logger;
  /** Woken when the store has accepted all settlements that had failed. */
  readonly dispatcher: Dispatcher<StoredMessage>;
}

/** A settlement that was not written. */
interface Failed {
  readonly settlement: Settlement;
  readonly entry: StoredMessage;
  readonly batch: readonly StoredMessage[] | undefined;
  error: unknown;
}

/** How often in a row partitions may move during a settlement until it is taken to be another host's. */
const MAX_MOVES = 20;

/**
 * Writes the settlements of one group. After a failure of the store it tries again for as long as the group has
 * consumers: the message is no longer in flight, and nothing else would settle it before the next subscription. If the
 * group has moved to another host meanwhile, it writes nothing and rejects: that host delivers the message again.
 */
export class Settlements {
  readonly #deps: SettlementsDeps;
  #behind = 0;
  #waiting: { readonly signal: AbortSignal; readonly over: Promise<void> } | undefined;
  /** The clock for retries. */
  clock: Clock = systemClock;

  constructor(deps: SettlementsDeps) {
    this.#deps = deps;
  }

  /** Whether the store has not accepted some settlements yet. */
  get areBehind(): boolean {
    return this.#behind > 0;
  }

  /**
   * Resolves once the settlement of a message, or of several at once, is durable; rejects if the tenure of the message
   * ends while the store fails.
   *
   * @throws ConflictError when another host has the message now.
   */
  record(settlement: Settlement, entry: StoredMessage, batch?: readonly StoredMessage[]): Promise<void> {
    return this.#write(settlement, entry, batch).then(written, (error: unknown) =>
      this.#retry({ settlement, entry, batch, error }),
    );
  }

  /** No async functions up to the commit: they take memory for each message that waits for the disk. */
  #write(settlement: Settlement, entry: StoredMessage, batch?: readonly StoredMessage[]): Promise<unknown> {
    const { commits, lease } = this.#deps;
    try {
      return commits.commit({ ...settlement, fence: lease.fence(entry, batch) });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #retry(failed: Failed): Promise<void> {
    if (await this.#writtenAfterMove(failed)) return;
    const { error } = failed;
    if (this.#isFinal(error)) throw error;
    if (!this.areBehind) this.#deps.logger.error({ error }, 'settlements could not be stored: will be tried again');
    this.#behind++;
    await this.#repeat(failed).finally(() => {
      this.#behind--;
      if (!this.areBehind) this.#deps.dispatcher.wake();
    });
  }

  /**
   * Writes a settlement that was refused because partitions have moved, if those of its messages have not. Answers
   * whether it was written; if not, the failure has the last error.
   */
  async #writtenAfterMove(failed: Failed): Promise<boolean> {
    const { lease } = this.#deps;
    for (let moves = 0; moves < MAX_MOVES && lease.isOutdatedBy(failed.error, failed.entry, failed.batch); moves++) {
      await lease.read();
      try {
        await this.#write(failed.settlement, failed.entry, failed.batch);
        return true;
      } catch (error) {
        failed.error = error;
      }
    }
    return false;
  }

  async #repeat(failed: Failed): Promise<void> {
    for (;;) {
      await this.#wait(failed.entry.tenure.signal).catch(() => {
        throw failed.error;
      });
      try {
        await this.#write(failed.settlement, failed.entry, failed.batch);
        return;
      } catch (error) {
        failed.error = error;
        if (await this.#writtenAfterMove(failed)) return;
        if (this.#isFinal(failed.error)) throw failed.error;
      }
    }
  }

  /** Whether another try would fail too: the store cannot take it, or another host owns the group. */
  #isFinal(error: unknown): boolean {
    // Asking the lease also has it reviewed.
    return (
      this.#deps.lease.isFenced(error) || isConflictError(error) || (isStateError(error) && error.kind === 'invalid')
    );
  }

  /** All failed settlements share one wait, so that they are tried again together. */
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

function written(): void {}
