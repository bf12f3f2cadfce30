import { countEntries } from '../../state/count-entries.ts';
import type { StateStore } from '../../state/store.ts';
import type { Clock } from '../../util/clock.ts';
import type { DurableQueue } from './queue.ts';

/** How long a full queue is taken to be full. */
const FULL_MS = 250;
/** With several hosts, each counts again after it has filled this part of the room that there was. */
const SHARE = 1 / 8;

/** The dependencies of {@link Backlogs}. */
export interface BacklogsDeps {
  readonly store: StateStore;
  readonly clock: Clock;
  /** The most messages in the queue of a group. */
  readonly limit: number;
  /** Whether other hosts publish too. */
  readonly areShared: () => boolean;
}

interface Backlog {
  /** How many messages may be published before the queue is counted again. */
  room: number;
  /** Until when the queue is taken to be full. */
  fullUntil: number;
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

  /** Whether it is known for all queues how many messages there is room for. */
  know(queues: readonly DurableQueue[]): boolean {
    return queues.every((queue) => this.#knows(queue));
  }

  #knows(queue: DurableQueue): boolean {
    const backlog = this.#backlogs.get(queue);
    return backlog !== undefined && (backlog.room > 0 || backlog.fullUntil > this.#deps.clock.now());
  }

  /** Counts queues before up to `wanted` messages are published. */
  async count(queues: readonly DurableQueue[], wanted: number): Promise<void> {
    const unknown = new Set(queues.filter((queue) => !this.#knows(queue)));
    await Promise.all([...unknown].map((queue) => this.#count(queue, wanted)));
  }

  async #count(queue: DurableQueue, wanted: number): Promise<void> {
    const { store, clock, limit, areShared } = this.#deps;
    const { readyRange, delayedRange } = queue.layout;
    const counts = await Promise.all([readyRange, delayedRange].map((range) => countEntries(store, range, limit)));
    const left = Math.max(0, limit - counts.reduce((sum, count) => sum + count, 0));
    const room = areShared() ? Math.min(left, Math.max(wanted, Math.ceil(left * SHARE))) : left;
    this.#backlogs.set(queue, { room, fullUntil: room > 0 ? 0 : clock.now() + FULL_MS });
  }

  /** Takes the room of a message in all queues, or answers why there is none. */
  take(queues: ReadonlyMap<string, DurableQueue>): QueueFullError | undefined {
    for (const [group, queue] of queues) if (this.#roomOf(queue) <= 0) return this.#full(group, queue);
    for (const queue of queues.values()) {
      const backlog = this.#backlogs.get(queue);
      if (backlog !== undefined) backlog.room--;
    }
    return undefined;
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
