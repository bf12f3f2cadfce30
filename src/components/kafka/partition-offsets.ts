/** The most messages of a partition that are taken while an earlier one is not settled. */
export const MAX_OPEN = 10_000;

/**
 * The messages of one partition that are here. Kafka knows one place per partition and group: what comes before the
 * first message that is not settled.
 */
export class PartitionOffsets {
  readonly partition: number;
  /** Another process has the partition, or will have it: nothing of it is settled any more. */
  isLost = false;
  /** The next message to fetch. */
  next: number;
  /** The offset that the broker has recorded. */
  committed: number;
  /** The offsets that are here, in order, and whether each is settled. Offsets have gaps. */
  readonly #open = new Map<number, boolean>();

  constructor(partition: number, committed: number) {
    this.partition = partition;
    this.committed = committed;
    this.next = committed;
  }

  /** The place that can be recorded. */
  get committable(): number {
    const [first] = this.#open.keys();
    return first ?? this.next;
  }

  /** Whether no more can be taken before the first message is settled. */
  get isFull(): boolean {
    return this.#open.size >= MAX_OPEN;
  }

  /** A message has come. */
  take(offset: number): void {
    this.#open.set(offset, false);
  }

  /** A message is settled. */
  settle(offset: number): void {
    if (this.#open.has(offset)) this.#open.set(offset, true);
    for (const [first, isSettled] of this.#open) {
      if (!isSettled) return;
      this.#open.delete(first);
    }
  }

  /** Whether all messages up to this one are settled. */
  isSettledUpTo(offset: number): boolean {
    return this.committable > offset;
  }
}
