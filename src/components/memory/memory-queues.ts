import type {
  AbandonedQueue,
  GroupQueue,
  QueueAccess,
  QueueEntry,
  QueueEntryPage,
  QueueRead,
  QueueSelection,
  QueueStatus,
  Redelivery,
} from '../queue-access.ts';
import { MAX_COUNTED } from '../queue-access.ts';
import { hasConsumers, invalidCursor, queueNotFound } from '../queue-errors.ts';
import type { MemoryGroup } from './group.ts';

/** The groups of a memory component. */
export interface MemoryGroups {
  /** All groups with their names. */
  list(): readonly (GroupQueue & { readonly held: MemoryGroup })[];
  find(queue: GroupQueue): MemoryGroup | undefined;
  /** The group, new if there was none. */
  obtain(queue: GroupQueue): MemoryGroup;
  drop(queue: GroupQueue): void;
  nextNumber(): number;
}

/** The queues of a memory component, to operate them. Every change is made within the call. */
export class MemoryQueues implements QueueAccess {
  readonly #groups: MemoryGroups;

  constructor(groups: MemoryGroups) {
    this.#groups = groups;
  }

  async status(topic?: string): Promise<readonly QueueStatus[]> {
    const groups = this.#groups.list().filter((one) => topic === undefined || one.topic === topic);
    return groups.map((one) => statusOf(one, one.held));
  }

  abandoned(): readonly AbandonedQueue[] {
    return this.#groups.list().flatMap(({ topic, group, held }) => {
      const { ready, delayed } = held.waiting;
      return held.isAbandoned ? [{ topic, group, messages: Math.min(MAX_COUNTED, ready + delayed) }] : [];
    });
  }

  async find(queue: GroupQueue, key: string): Promise<QueueEntry | undefined> {
    return this.#find(queue)
      .entries()
      .find((entry) => entry.key === key);
  }

  async read(queue: GroupQueue, { state, cursor, limit, reverse = false }: QueueRead): Promise<QueueEntryPage> {
    const all = this.#find(queue)
      .entries()
      .filter((entry) => state === undefined || entry.state === state);
    const inOrder = reverse ? all.toReversed() : all;
    const start = cursor === undefined ? 0 : placeAfter(inOrder, cursor);
    const end = start + limit;
    const entries = inOrder.slice(start, end);
    return { entries, ...(end >= inOrder.length ? {} : { cursor: `${entries.at(-1)?.key ?? ''}/${end}` }) };
  }

  async redeliver(
    queue: GroupQueue,
    selection: QueueSelection,
    target: (entry: QueueEntry) => Redelivery | undefined,
  ): Promise<number> {
    const from = this.#find(queue);
    const isMeant = meant(selection);
    const targets = new Map<string, Redelivery>();
    for (const entry of from.entries()) {
      const found = entry.state !== 'inFlight' && isMeant(entry) ? target(entry) : undefined;
      if (found === undefined) continue;
      // Before anything is moved: it may be missing.
      this.#find(found.to);
      targets.set(entry.key, found);
    }
    for (const { key } of from.extract((entry) => targets.has(entry.key))) {
      const found = targets.get(key);
      if (found !== undefined) this.#find(found.to).add(found.message, this.#groups.nextNumber());
    }
    return targets.size;
  }

  async discard(queue: GroupQueue, selection: QueueSelection): Promise<number> {
    return this.#find(queue).extract(meant(selection)).length;
  }

  async setPaused(queue: GroupQueue, isPaused: boolean): Promise<void> {
    this.#find(queue).dispatcher.isPaused = isPaused;
  }

  async addGroup(queue: GroupQueue): Promise<boolean> {
    const isNew = this.#groups.find(queue)?.keeps !== false;
    this.#groups.obtain(queue);
    return isNew;
  }

  async removeGroup(queue: GroupQueue): Promise<boolean> {
    const group = this.#groups.find(queue);
    if (group === undefined) return false;
    if (group.hasConsumers) throw hasConsumers(queue);
    this.#groups.drop(queue);
    group.clear();
    return true;
  }

  #find(queue: GroupQueue): MemoryGroup {
    const found = this.#groups.find(queue);
    if (found === undefined) throw queueNotFound(queue, this.#groups.list());
    return found;
  }
}

function statusOf({ topic, group }: GroupQueue, held: MemoryGroup): QueueStatus {
  const { dispatcher, waiting, keeps } = held;
  const [first] = held.entries();
  return {
    topic,
    group,
    ready: Math.min(MAX_COUNTED, waiting.ready),
    delayed: Math.min(MAX_COUNTED, waiting.delayed),
    inFlight: dispatcher.inFlight().length,
    isCapped: Math.max(waiting.ready, waiting.delayed) > MAX_COUNTED,
    ...(first === undefined ? {} : { first: first.message }),
    consumers: dispatcher.consumers,
    isPaused: dispatcher.isPaused,
    keepsDeadLetters: keeps,
  };
}

/** After the last message of the page before; if that is settled, where it was. */
function placeAfter(entries: readonly QueueEntry[], cursor: string): number {
  const [, last, end] = /^(\d+)\/(\d+)$/.exec(cursor) ?? [];
  if (last === undefined) throw invalidCursor(cursor);
  const place = entries.findIndex(({ key }) => key === last) + 1;
  return place > 0 ? place : Number(end);
}

/** Whether a message is one of the selection. */
function meant({ keys, matches = () => true }: QueueSelection): (entry: QueueEntry) => boolean {
  if (keys === undefined) return matches;
  const wanted = new Set(keys);
  return ({ key }) => wanted.has(key);
}
