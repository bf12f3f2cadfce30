import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import { reasonOf } from './driver.ts';
import type { PartitionOffsets } from './partition-offsets.ts';

const RETRY: Backoff = { initialDelayMs: 100, maxDelayMs: 2_000, factor: 2, jitter: 0.5 };

interface WaitingSettlement {
  readonly partition: PartitionOffsets;
  readonly settle: (error?: Error) => void;
}

/** A place to be recorded. */
export interface CommitPlace {
  readonly partition: PartitionOffsets;
  readonly offset: number;
}

/** Records how far the partitions are settled: one request at a time, with all that came meanwhile in the next. */
export class Commits {
  readonly #commit: (places: readonly CommitPlace[]) => Promise<void>;
  readonly #random: () => number;
  #dirty = new Set<PartitionOffsets>();
  #waiting: WaitingSettlement[] = [];
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(commit: (places: readonly CommitPlace[]) => Promise<void>, random: () => number) {
    this.#commit = commit;
    this.#random = random;
  }

  /**
   * Resolves once the broker knows that the message is settled, or at once while an earlier one is not: Kafka can record
   * it only then.
   */
  settle(partition: PartitionOffsets, offset: number): Promise<void> {
    if (partition.isLost || this.#isClosed) return Promise.reject(lostError());
    partition.settle(offset);
    if (!partition.isSettledUpTo(offset)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error));
      this.#waiting.push({ partition, settle });
      this.#dirty.add(partition);
      this.#start();
    });
  }

  #start(): void {
    if (this.#running !== undefined || this.#timer !== undefined || this.#isClosed) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#dirty.size === 0) return;
      if (this.#failures === 0) this.#start();
      else this.#startLater();
    });
  }

  #startLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#start();
      },
      backoffDelayMs(RETRY, this.#failures, this.#random),
    );
  }

  async #run(): Promise<void> {
    // Settlements of one turn go together.
    await Promise.resolve();
    const [dirty, waiting] = [this.#dirty, this.#waiting];
    this.#dirty = new Set();
    this.#waiting = [];
    const places = [...dirty]
      .filter(({ isLost }) => !isLost)
      .map((partition) => ({ partition, offset: partition.committable }));
    try {
      if (places.length > 0) await this.#commit(places);
      this.#failures = 0;
      for (const { partition, offset } of places) partition.committed = offset;
      for (const { partition, settle } of waiting) settle(partition.isLost ? lostError() : undefined);
    } catch (error) {
      this.#failures++;
      this.#putBack(places, waiting, error);
    }
  }

  #putBack(places: readonly CommitPlace[], waiting: readonly WaitingSettlement[], error: unknown): void {
    for (const { partition } of places) if (!partition.isLost) this.#dirty.add(partition);
    for (const one of waiting) {
      if (one.partition.isLost || this.#isClosed) one.settle(new Error(reasonOf(error)));
      else this.#waiting.push(one);
    }
  }

  /** Partitions were lost: what waits for them will not be recorded. */
  forgetLost(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ partition }) => !partition.isLost);
    for (const { partition, settle } of waiting) if (partition.isLost) settle(lostError());
    for (const partition of this.#dirty) if (partition.isLost) this.#dirty.delete(partition);
  }

  /** Resolves once all is recorded that could be, unless that fails. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { settle } of this.#waiting) settle(lostError());
    this.#waiting = [];
  }
}

function lostError(): Error {
  return new Error('another process may have the partition now');
}
