import { isConflict } from '../../state/errors.ts';
import type { StateStore } from '../../state/store.ts';
import type { Clock } from '../../util/clock.ts';
import { readRecord, record } from './records.ts';

/** How many numbers are reserved with one commit. */
const BLOCK = 1_000_000;
/** How long numbers are used where other hosts publish too: then messages are in order to about this. */
const FRESH_MS = 1_000;

/** Numbers order messages and are never used twice, also after a crash: they are reserved before they are used. */
export class SequenceAllocator {
  readonly #store: StateStore;
  readonly #key: string;
  readonly #clock: Clock;
  #next = 0;
  #reserved = 0;
  #reservedAt = Number.NEGATIVE_INFINITY;
  #reserving: Promise<void> | undefined;
  /** Other hosts publish too. */
  areShared = false;

  constructor(store: StateStore, key: string, clock: Clock) {
    this.#store = store;
    this.#key = key;
    this.#clock = clock;
  }

  /** Whether so many can be used now. */
  has(count: number): boolean {
    // Whichever way the clock was set.
    if (this.areShared && Math.abs(this.#clock.now() - this.#reservedAt) >= FRESH_MS) return false;
    return this.#next + count <= this.#reserved;
  }

  /** A number that was reserved. */
  next(): number {
    return this.#next++;
  }

  /** Reserves as many; ask again then, as others may have been faster. */
  reserve(count: number): Promise<void> {
    this.#reserving ??= this.#reserveBlock(count).finally(() => {
      this.#reserving = undefined;
    });
    return this.#reserving;
  }

  async #reserveBlock(count: number): Promise<void> {
    const entry = await this.#store.get(this.#key);
    const from = entry === undefined ? 0 : (readRecord(this.#key, entry.value) as number);
    const to = from + Math.max(BLOCK, count);
    const require = [{ key: this.#key, version: entry?.version ?? ('absent' as const) }];
    try {
      await this.#store.commit({ require, put: [{ key: this.#key, value: record(to) }] });
    } catch (error) {
      if (isConflict(error)) return;
      throw error;
    }
    this.#next = from;
    this.#reserved = to;
    this.#reservedAt = this.#clock.now();
  }
}
