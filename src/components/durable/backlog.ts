import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { countEntries } from '../../state/count-entries.ts';
import type { StateStore } from '../../state/store.ts';
import { type Clock, type DualInstant, dualNow, msSince } from '../../util/clock.ts';
import type { DurableQueue } from './queue.ts';
import type { SequenceAllocator } from './sequence-allocator.ts';

/** How long a queue is taken to have no more room than was counted. */
const FULL_MS = 250;
/** With several hosts, each counts again after it has filled this part of the room that there was. */
const SHARE = 1 / 8;

/** The dependencies of {@link Backlogs}. */
export interface BacklogsDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly numbers: SequenceAllocator;
  readonly clock: Clock;
  /** The most messages in the queue of a group. */
  readonly limit: number;
}

interface Backlog {
  /** How many messages may be published before the queue is counted again. */
  room: number;
  /** When a count found less room than was wanted. */
  shortSince: DualInstant | undefined;
  /** Counts the queue now. */
  counting: Promise<void> | undefined;
}

/** A publish was refused because the queue of a group is full. Its message is for publishers. */
export class QueueFullError extends Error {}

/**
 * The limit of the queues. A queue is counted, and again when as much has been published as there was room for:
 * messages that were settled meanwhile make room then. Several hosts may exceed the limit by what they publish at once.
 */
export class Backlogs {
  readonly #deps: BacklogsDeps;
  readonly #backlogs = new WeakMap<DurableQueue, Backlog>();

  constructor(deps: BacklogsDeps) {
    this.#deps = deps;
  }

  /** Whether it is known for all queues if there is room for so many messages. */
  know(queues: readonly DurableQueue[], wanted: number): boolean {
    return queues.every((queue) => this.#knows(queue, wanted));
  }

  #knows(queue: DurableQueue, wanted: number): boolean {
    const backlog = this.#backlogs.get(queue);
    if (backlog === undefined) return false;
    const { room, shortSince } = backlog;
    return room >= wanted || (shortSince !== undefined && msSince(shortSince, this.#deps.clock) < FULL_MS);
  }

  /** Counts queues before up to `wanted` messages are published. */
  async count(queues: readonly DurableQueue[], wanted: number): Promise<void> {
    const unknown = new Set(queues.filter((queue) => !this.#knows(queue, wanted)));
    await Promise.all([...unknown].map((queue) => this.#countOnce(queue, wanted)));
  }

  /** Publishes that wait for the room of a queue share one count. */
  async #countOnce(queue: DurableQueue, wanted: number): Promise<void> {
    const backlog = this.#backlogs.get(queue) ?? { room: 0, shortSince: undefined, counting: undefined };
    this.#backlogs.set(queue, backlog);
    backlog.counting ??= this.#count(queue, backlog, wanted).finally(() => {
      backlog.counting = undefined;
    });
    await backlog.counting;
  }

  async #count(queue: DurableQueue, backlog: Backlog, wanted: number): Promise<void> {
    const { store, commits, numbers, clock, limit } = this.#deps;
    const { readyRange, delayedRange } = queue.layout;
    // Messages published during the count are not in it.
    const before = backlog.room;
    await commits.flushed();
    const counts = await Promise.all([readyRange, delayedRange].map((range) => countEntries(store, range, limit)));
    const counted = counts.reduce((sum, count) => sum + count, 0);
    const left = Math.max(0, limit - counted - (before - backlog.room));
    backlog.room = numbers.areShared ? Math.min(left, Math.max(wanted, Math.ceil(left * SHARE))) : left;
    backlog.shortSince = backlog.room < wanted ? dualNow(clock) : undefined;
  }

  /** Reserves room for a message in all queues, or returns why a queue is full. */
  reserve(queues: ReadonlyMap<string, DurableQueue>): QueueFullError | undefined {
    for (const [group, queue] of queues) if (this.#roomOf(queue) <= 0) return this.#full(group, queue);
    for (const queue of queues.values()) {
      const backlog = this.#backlogs.get(queue);
      if (backlog !== undefined) backlog.room--;
    }
    return undefined;
  }

  /** Gives the room of a message back that was certainly not written. */
  release(queues: readonly DurableQueue[]): void {
    for (const queue of queues) {
      const backlog = this.#backlogs.get(queue);
      if (backlog !== undefined) backlog.room++;
    }
  }

  #roomOf(queue: DurableQueue): number {
    return this.#backlogs.get(queue)?.room ?? 0;
  }

  #full(group: string, { hasConsumers }: DurableQueue): QueueFullError {
    const why = hasConsumers
      ? 'it takes more when some are settled'
      : 'nobody takes them here: a group that is not needed any more can be removed';
    return new QueueFullError(
      `the queue of group ${JSON.stringify(group)} is full, ${this.#deps.limit} messages wait: ${why}`,
    );
  }
}
