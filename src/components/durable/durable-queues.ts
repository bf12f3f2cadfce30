import { SidecarError } from '../../errors.ts';
import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isConflictError } from '../../state/errors.ts';
import type { KeyedEntry, Precondition, StateStore } from '../../state/store.ts';
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
import { hasConsumers, queueBusy, queueNotFound } from '../queue-errors.ts';
import { encodeQueued } from './codec.ts';
import type { ConsumerGroups } from './consumer-groups.ts';
import type { EndedGroups } from './ended-groups.ts';
import { MAX_BYTES } from './publish-errors.ts';
import type { DurableQueue } from './queue.ts';
import { findMessage, readQueue, statusOf } from './queue-reads.ts';
import type { QueueTable } from './queue-table.ts';
import { record } from './records.ts';
import { entriesOf, queueEntryOf, type StoredQueue, selectedMessages } from './selected-messages.ts';
import type { SequenceAllocator } from './sequence-allocator.ts';

/** How often a change is tried that conflicts with changes of others. */
const MAX_TRIES = 5;

/** The dependencies of {@link DurableQueues}. */
export interface DurableQueuesDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly groups: ConsumerGroups;
  readonly ended: EndedGroups;
  readonly numbers: SequenceAllocator;
  readonly table: QueueTable;
  /** The present instant, in milliseconds since 1970. */
  readonly now: () => number;
  /** Adds a group; answers whether there was none. */
  readonly addGroup: (queue: GroupQueue) => Promise<boolean>;
  /** Has the leases of all groups reviewed, after their entries are read again. */
  readonly reviewLeases: () => void;
  readonly abandoned: () => readonly AbandonedQueue[];
}

/** Changes messages of a queue; `undefined` if they have changed. */
type ChangeOfPortion = (queue: DurableQueue, entries: readonly KeyedEntry[]) => Promise<number | undefined>;

/** A message on its way to another queue. */
interface Move {
  readonly from: KeyedEntry;
  readonly queue: DurableQueue;
  readonly redelivery: Redelivery;
  readonly number: number;
  /** Its new key. */
  readonly key: string;
  readonly value: Uint8Array;
}

/** The queues of a durable component, for operators. */
export class DurableQueues implements QueueAccess {
  readonly #deps: DurableQueuesDeps;

  constructor(deps: DurableQueuesDeps) {
    this.#deps = deps;
  }

  async status(topic?: string): Promise<readonly QueueStatus[]> {
    const { groups, table, store, now } = this.#deps;
    await this.#refreshGroups();
    const known = groups.list().filter((one) => topic === undefined || one.topic === topic);
    return Promise.all(
      known.map((one) => {
        const queue = table.obtain(one);
        return statusOf({ store, layout: queue.layout, topic: one.topic }, { known: one, queue, now: now() });
      }),
    );
  }

  abandoned(): readonly AbandonedQueue[] {
    return this.#deps.abandoned();
  }

  async find(name: GroupQueue, key: string): Promise<QueueEntry | undefined> {
    await this.#refreshGroups();
    const queue = this.#find(name);
    return findMessage(this.#stored(name, queue), key, queue.atWork());
  }

  async read(name: GroupQueue, read: QueueRead): Promise<QueueEntryPage> {
    await this.#refreshGroups();
    const queue = this.#find(name);
    return readQueue(this.#stored(name, queue), read, queue.atWork());
  }

  async discard(name: GroupQueue, selection: QueueSelection): Promise<number> {
    return this.#change(name, selection, async (queue, entries) => {
      await this.#deps.commits.flushed();
      const free = freeOf(queue, entries);
      return this.#commit(name, queue, { entries: free, moves: [] });
    });
  }

  async redeliver(
    name: GroupQueue,
    selection: QueueSelection,
    target: (entry: QueueEntry) => Redelivery | undefined,
  ): Promise<number> {
    const { numbers } = this.#deps;
    return this.#change(name, selection, async (queue, entries) => {
      // No await may come between this check and the commit, which uses numbers and groups.
      while (this.#deps.groups.mayBeOutdated || !numbers.has(entries.length)) {
        await this.#refreshGroups();
        if (!numbers.has(entries.length)) await numbers.reserve(entries.length);
      }
      const stored = this.#stored(name, queue);
      const moves = freeOf(queue, entries).flatMap((entry) => {
        const shown = queueEntryOf(stored, entry);
        const redelivery = shown && target(shown);
        return redelivery === undefined ? [] : [this.#move(entry, redelivery)];
      });
      return this.#commit(name, queue, { entries: moves.map(({ from }) => from), moves });
    });
  }

  #move(from: KeyedEntry, redelivery: Redelivery): Move {
    const queue = this.#find(redelivery.to);
    const value = encodeQueued({ message: redelivery.message, attempts: 0 });
    if (value.length > MAX_BYTES)
      throw new SidecarError('ERR_INVALID_ARGUMENT', `the message has ${value.length} bytes: at most 8 MiB are kept`);
    const number = this.#deps.numbers.next(redelivery.message);
    return { from, queue, redelivery, number, key: queue.layout.ready(number), value };
  }

  /** Changes the messages of a selection, portion by portion. */
  async #change(name: GroupQueue, selection: QueueSelection, work: ChangeOfPortion): Promise<number> {
    await this.#refreshGroups();
    return this.#find(name).lease.gathered(() => this.#changeHere(name, selection, work));
  }

  async #changeHere(name: GroupQueue, selection: QueueSelection, work: ChangeOfPortion): Promise<number> {
    let count = 0;
    const stored = this.#stored(name, this.#find(name));
    for await (const portion of selectedMessages(stored, selection)) {
      let entries = portion;
      for (let tries = 1; ; tries++) {
        const changed = await work(this.#find(name), entries);
        count += changed ?? 0;
        if (changed !== undefined) break;
        if (tries === MAX_TRIES) throw queueBusy(name, `changes all the time: ${count} messages were changed`);
        await this.#refreshGroups();
        const keys = entries.map(({ key }) => key);
        entries = await entriesOf(this.#deps.store, keys);
      }
    }
    return count;
  }

  /** Takes messages out of a queue and puts them into others, in one commit; `undefined` if they have changed. */
  async #commit(
    name: GroupQueue,
    queue: DurableQueue,
    { entries, moves }: { readonly entries: readonly KeyedEntry[]; readonly moves: readonly Move[] },
  ): Promise<number | undefined> {
    if (entries.length === 0) return 0;
    const { commits, groups } = this.#deps;
    const fence = this.#fenceOf(name, queue);
    const keys = new Set(entries.map(({ key }) => key));
    queue.withhold(keys);
    for (const move of moves) move.queue.beginPublish(move.number);
    const unchanged = entries.map(({ key, version }) => ({ key, version }));
    const onDurable = (): void => {
      queue.forgetWithheld(keys);
      for (const move of moves) move.queue.onPublished(move.redelivery.message, move.number, move.key);
    };
    try {
      // The guard: the groups to which the messages go are there.
      const require = moves.length === 0 ? unchanged : [groups.guard, ...unchanged];
      const put = moves.map(({ key, value }) => ({ key, value }));
      await commits.commit({ require, put, delete: [...keys], fence, onDurable });
      return entries.length;
    } catch (error) {
      for (const move of moves) move.queue.onPublishFailed(move.key);
      queue.reload();
      queue.lease.isFenced(error);
      if (!isConflictError(error)) throw error;
      groups.mayBeOutdated = true;
      return undefined;
    }
  }

  #fenceOf(name: GroupQueue, { lease: { control } }: DurableQueue): Precondition | undefined {
    if ('fence' in control) return control.fence;
    const host = control.elsewhere === undefined ? 'another host' : `host ${control.elsewhere}`;
    throw queueBusy(name, `is handed out by ${host}: ask there, or try again`);
  }

  async setPaused(name: GroupQueue, isPaused: boolean): Promise<void> {
    const { groups, commits, reviewLeases } = this.#deps;
    for (;;) {
      await this.#refreshGroups();
      const queue = this.#find(name);
      const key = queue.layout.paused;
      const { guard } = groups;
      try {
        const change = isPaused ? { put: [{ key, value: record({}) }] } : { delete: [key] };
        await commits.commit({ ...change, fence: guard });
        queue.isPaused = isPaused;
        return reviewLeases();
      } catch (error) {
        await groups.refused(guard, error);
      }
    }
  }

  async addGroup(name: GroupQueue): Promise<boolean> {
    await this.#refreshGroups();
    return this.#deps.addGroup(name);
  }

  async removeGroup(name: GroupQueue): Promise<boolean> {
    const { groups, ended, table } = this.#deps;
    await this.#refreshGroups();
    await ended.finish(name.topic);
    const queue = table.find(name);
    if (queue === undefined || groups.find(name) === undefined) return false;
    if (queue.hasConsumers) throw hasConsumers(name);
    try {
      await groups.end(name, this.#fenceOf(name, queue));
    } catch (error) {
      if (!isConflictError(error)) throw error;
      queue.lease.isFenced(error);
      throw queueBusy(name, 'was taken by another host: try again', error);
    }
    await ended.finish(name.topic);
    return true;
  }

  async #refreshGroups(): Promise<void> {
    if (this.#deps.groups.mayBeOutdated) await this.#deps.groups.read();
  }

  #find(name: GroupQueue): DurableQueue {
    const { groups, table } = this.#deps;
    const queue = groups.find(name) && table.find(name);
    if (queue === undefined) throw queueNotFound(name, groups.list());
    return queue;
  }

  #stored({ topic }: GroupQueue, { layout }: DurableQueue): StoredQueue {
    return { store: this.#deps.store, layout, topic };
  }
}

/** The messages that are not being processed. */
function freeOf(queue: DurableQueue, entries: readonly KeyedEntry[]): readonly KeyedEntry[] {
  const atWork = queue.atWork();
  return entries.filter(({ key }) => !atWork.has(queue.layout.numberOf(key)));
}
