import { contradictionError, isConflictError } from '../../state/errors.ts';
import type { Precondition, StateStore } from '../../state/store.ts';
import { type Clock, type DualInstant, dualNow, msSince } from '../../util/clock.ts';
import type { Message } from '../pubsub.ts';
import { BLOCK, NUMBERS_PER_MESSAGE, numberFor } from './partitions.ts';
import { COUNT, readRecord, record } from './records.ts';

/**
 * How long a reservation is used if other hosts publish too. Messages of all hosts are in order to about this
 * precision.
 */
const FRESH_MS = 1_000;
const NEVER: DualInstant = { wall: Number.NEGATIVE_INFINITY, monotonic: Number.NEGATIVE_INFINITY };

/**
 * Allocates the numbers that order messages. A number is never used twice, even after a crash: it is reserved before
 * use.
 */
export class SequenceAllocator {
  readonly #store: StateStore;
  readonly #key: string;
  readonly #clock: Clock;
  #next = 0;
  #reserved = 0;
  #reservedAt = NEVER;
  #reserving: Promise<void> | undefined;
  /** The version that the store has refused: it must not be answered again. */
  #refused: Precondition['version'] | undefined;
  /** Whether another host has published. */
  #hasMet = false;
  /** Whether hosts of other processes may publish. */
  readonly #mayBeShared: boolean;

  /** @param mayBeShared - whether hosts of other processes may publish, if the store lets them */
  constructor(store: StateStore, key: string, clock: Clock, mayBeShared: boolean) {
    this.#store = store;
    this.#key = key;
    this.#clock = clock;
    this.#mayBeShared = mayBeShared;
  }

  /** Another host has published. */
  meet(): void {
    this.#hasMet = true;
  }

  /** Whether other hosts may publish too. */
  get areShared(): boolean {
    return this.#hasMet || (this.#mayBeShared && this.#store.isExclusive !== true);
  }

  /** Whether enough reserved numbers are left for `count` messages. */
  has(count: number): boolean {
    if (this.areShared && msSince(this.#reservedAt, this.#clock) >= FRESH_MS) return false;
    return this.#next + count * NUMBERS_PER_MESSAGE <= this.#reserved;
  }

  /** Returns the next reserved number for a message. */
  next(message: Message): number {
    const number = numberFor(message, this.#next);
    this.#next = number + 1;
    return number;
  }

  /** Reserves numbers for at least `count` messages. Check `has` again afterwards: another publish or host may have taken them. */
  reserve(count: number): Promise<void> {
    this.#reserving ??= this.#reserveBlock(count).finally(() => {
      this.#reserving = undefined;
    });
    return this.#reserving;
  }

  async #reserveBlock(count: number): Promise<void> {
    const entry = await this.#store.get(this.#key);
    const from = entry === undefined ? 0 : readRecord(this.#key, entry.value, COUNT);
    const to = from + Math.max(BLOCK, count * NUMBERS_PER_MESSAGE);
    const version = entry?.version ?? 'absent';
    const isRefused = version === this.#refused;
    this.#refused = undefined;
    if (isRefused) throw contradictionError(this.#key);
    try {
      const put = [{ key: this.#key, value: record(to) }];
      await this.#store.commit({ require: [{ key: this.#key, version }], put });
    } catch (error) {
      if (!isConflictError(error)) throw error;
      this.#refused = version;
      return;
    }
    this.#next = from;
    this.#reserved = to;
    this.#reservedAt = dualNow(this.#clock);
  }
}
