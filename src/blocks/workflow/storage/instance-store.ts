import { type Change, CommitBatcher } from '../../../kernel/commit-batcher.ts';
import type { DuePage, DuePosition } from '../../../kernel/due-index.ts';
import { Damages } from '../../../state/damages.ts';
import { isConflictError } from '../../../state/errors.ts';
import { counterPart, keyAfter } from '../../../state/keys.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Precondition, Put, StateStore } from '../../../state/store.ts';
import type { Logger } from '../../../util/logger.ts';
import type { HistoryEvent, Turn } from '../model/events.ts';
import { type Chunk, decodeChunk, encodeChunk, encodeMessage, type InboxMessage, payloadOf, sizeOf } from './codec.ts';
import type { WorkflowLayout } from './layout.ts';
import { decodeRecord, type InstanceRecord, mayBeBehind } from './record.ts';

/** A record with its version. */
export interface Stored {
  readonly record: InstanceRecord;
  readonly version: number;
}

/** Which instances to list. */
export interface InstanceScan {
  /** The prefix of their IDs. */
  readonly prefix: string;
  /** Only the children of this instance. */
  readonly parentId: string | undefined;
  /** The first ID. */
  readonly from: string | undefined;
  /** The greatest ID first. */
  readonly reverse: boolean;
  readonly limit: number;
}

/** The number of stored values and events of a history. */
export type HistoryEnd = Pick<InstanceRecord, 'chunks' | 'events'>;

/** The size of one read of a history, which is in memory besides the instances. */
const PAGE = { limit: 1_000, maxBytes: 4 * 1024 * 1024 } as const;
/** The approximate size of one value of a history, in characters. A single event may be larger. */
const CHUNK_LENGTH = 1024 * 1024;
const CHUNK_EVENTS = 4_096;

/** Reads and writes instances in a state store. */
export class InstanceStore {
  readonly layout: WorkflowLayout;
  readonly #store: StateStore;
  readonly #turns: CommitBatcher;
  #messages = 0;
  #lastMessageAt = 0;
  readonly #damages: Damages;

  constructor(store: StateStore, layout: WorkflowLayout, logger: Logger) {
    this.#damages = new Damages(logger, 'a stored workflow cannot be read: it stays in the store');
    this.#store = store;
    this.#turns = new CommitBatcher(store);
    this.layout = layout;
  }

  /** Writes a turn in one commit with other turns; returns the version. */
  write(turn: Change): Promise<number> {
    return this.#turns.commit(turn);
  }

  commit(batch: Batch): Promise<number> {
    return this.#store.commit(batch);
  }

  async read(id: string): Promise<Stored | undefined> {
    const stored = await this.readRecord(id);
    return stored && this.caughtUp(stored);
  }

  /** The record as it was last written: it has the present status, but the history may have gone on. */
  async readRecord(id: string): Promise<Stored | undefined> {
    const key = this.layout.instance(id);
    const entry = await this.#store.get(key);
    return entry && { record: decodeRecord(key, entry.value, id), version: entry.version };
  }

  /** Turns that only add to the history do not write the record: what they change in it follows from the last one. */
  async caughtUp(stored: Stored): Promise<Stored> {
    const { record, version } = stored;
    if (!mayBeBehind(record)) return stored;
    const range = this.layout.historyRange(record.instanceId);
    const [last] = await this.#store.scan({ ...range, reverse: true, limit: 1 });
    if (last === undefined) return stored;
    const chunks = this.layout.historyNumberOf(last.key) + 1;
    if (chunks <= record.chunks) return stored;
    const { at, total } = decodeChunk(last.key, last.value);
    return { record: { ...record, updatedAt: at, chunks, events: total }, version };
  }

  /** A page of instances in the order of their IDs. `known` supplies live records, saving a read. */
  async list(
    { prefix, parentId, from, reverse, limit }: InstanceScan,
    known: (id: string) => InstanceRecord | undefined,
  ): Promise<{ readonly found: readonly Stored[]; readonly next: string | undefined }> {
    const { layout } = this;
    const range: KeyRange = layout.instancesOf(prefix, parentId);
    const keyOf = (id: string): string => (parentId === undefined ? layout.instance(id) : layout.child(parentId, id));
    const start = from === undefined ? undefined : reverse ? { to: keyAfter(keyOf(from)) } : { from: keyOf(from) };
    // One more than the page holds: is there a next page?
    const entries = await this.#store.scan({ ...range, ...start, limit: limit + 1, reverse });
    const read = (entry: KeyedEntry): Promise<Stored | undefined> =>
      this.#damages.readLater(entry, () =>
        parentId === undefined ? this.#listed(entry, known) : this.#child(layout.instanceIdOf(entry.key), parentId),
      );
    const found = await Promise.all(entries.slice(0, limit).map(read));
    const next = entries[limit];
    return {
      found: found.filter((stored) => stored !== undefined),
      next: next && layout.instanceIdOf(next.key),
    };
  }

  async #listed(
    { key, value, version }: KeyedEntry,
    known: (id: string) => InstanceRecord | undefined,
  ): Promise<Stored> {
    const record = decodeRecord(key, value, this.layout.instanceIdOf(key));
    if (!mayBeBehind(record)) return { record, version };
    const live = known(record.instanceId);
    return live === undefined ? this.caughtUp({ record, version }) : { record: live, version };
  }

  /** A child, unless its ID was reused. */
  async #child(id: string, parentId: string): Promise<Stored | undefined> {
    const stored = await this.read(id);
    return stored?.record.parent?.instanceId === parentId ? stored : undefined;
  }

  /** The input of an instance. */
  async inputOf(id: string): Promise<string | undefined> {
    const key = this.layout.history(id, 0);
    const entry = await this.#store.get(key);
    const first = entry && decodeChunk(key, entry.value).events[0];
    return first && payloadOf(first);
  }

  /** Reads the history turn by turn. */
  async *turns(id: string): AsyncGenerator<Turn> {
    let begun: Turn | undefined;
    for await (const chunk of this.chunks(id)) {
      begun = begun === undefined ? chunk : { at: begun.at, events: [...begun.events, ...chunk.events] };
      if (chunk.isContinued) continue;
      yield begun;
      begun = undefined;
    }
  }

  /** Reads the stored values of a history. */
  async *chunks(id: string): AsyncGenerator<Chunk> {
    const { from, to } = this.layout.historyRange(id);
    for (let after: string | undefined = from; after !== undefined; ) {
      const entries = await this.#store.scan({ from: after, to, ...PAGE });
      for (const { key, value } of entries) yield decodeChunk(key, value);
      const last = entries.at(-1);
      after = last && keyAfter(last.key);
    }
  }

  /** The stored values of a turn. */
  historyPuts(id: string, { chunks: first, events: before }: HistoryEnd, { at, events }: Turn): Put[] {
    const chunks = areFew(events)
      ? [{ at, isContinued: false, events, total: before + events.length }]
      : chunksOf(at, events, before);
    return chunks.map((chunk, index) => ({ key: this.layout.history(id, first + index), value: encodeChunk(chunk) }));
  }

  /** The keys of a range of a history. */
  historyKeys(id: string, first: number, end: number): string[] {
    const keys: string[] = [];
    for (let number = first; number < end; number++) keys.push(this.layout.history(id, number));
    return keys;
  }

  async children(id: string): Promise<readonly string[]> {
    const entries = await this.#store.scan(this.layout.childRange(id));
    return entries.map(({ key }) => this.layout.instanceIdOf(key));
  }

  /** The key of a new message: it sorts after all earlier ones of this host, even within a millisecond. */
  messageKey(to: string, now: number, unique: string): string {
    this.#lastMessageAt = Math.max(this.#lastMessageAt, now);
    return this.layout.inbox(to, this.#lastMessageAt, `${counterPart(++this.#messages)}-${unique}`);
  }

  messagePut(key: string, message: InboxMessage): Put {
    return { key, value: encodeMessage(message) };
  }

  /** The due entries after a position. */
  async dueAfter(after: DuePosition | undefined, limit: number): Promise<DuePage<DuePosition>> {
    const { from, to } = this.layout.dueRange;
    const start = after === undefined ? from : keyAfter(this.layout.due(after.at, after.id));
    const entries = await this.#store.scan({ from: start, to, limit });
    return { entries: entries.map(({ key }) => this.layout.dueOf(key)), isLast: entries.length < limit };
  }

  /** Reads messages page by page. */
  async *messages({ from, to }: Required<KeyRange>, limit: number): AsyncGenerator<readonly KeyedEntry[]> {
    const { maxBytes } = PAGE;
    for (let after: string | undefined = from; after !== undefined; ) {
      const entries: readonly KeyedEntry[] = await this.#store.scan({ from: after, to, limit, maxBytes });
      yield entries;
      const last = entries.at(-1);
      after = last && keyAfter(last.key);
    }
  }

  /** The keys of all messages to an instance, and of the counts of its activities. */
  async #looseKeys(id: string): Promise<readonly string[]> {
    const keys: string[] = [];
    for (const range of [this.layout.inboxRangeOf(id), this.layout.begunRange(id)])
      for await (const entries of this.messages(range, PAGE.limit)) for (const { key } of entries) keys.push(key);
    return keys;
  }

  /** Reads a message; `undefined` if it was taken. */
  message(key: string): Promise<Entry | undefined> {
    return this.#store.get(key);
  }

  /** The keys of all receipts. */
  async receipts(): Promise<readonly string[]> {
    const keys: string[] = [];
    for (let from: string | undefined = this.layout.receiptRange.from; from !== undefined; ) {
      const entries: readonly KeyedEntry[] = await this.#store.scan({ ...this.layout.receiptRange, from, ...PAGE });
      for (const { key } of entries) keys.push(key);
      const last = entries.at(-1);
      from = last && keyAfter(last.key);
    }
    return keys;
  }

  /** Everything of an instance but its messages and children. */
  keysOf({ instanceId, chunks, dueAt, parent }: InstanceRecord): string[] {
    const keys = [this.layout.instance(instanceId), ...this.historyKeys(instanceId, 0, chunks)];
    if (dueAt !== undefined) keys.push(this.layout.due(dueAt, instanceId));
    if (parent !== undefined) keys.push(this.layout.child(parent.instanceId, instanceId));
    return keys;
  }

  /**
   * Removes an instance if it has not changed since it was read; returns whether it did. Nearly all inboxes are empty:
   * its messages are only removed with `isAll`.
   */
  async remove({ record, version }: Stored, isAll = false): Promise<boolean> {
    const { instanceId, hasChildren } = record;
    const children = hasChildren ? await this.children(instanceId) : [];
    const keys = [...this.keysOf(record), ...children.map((child) => this.layout.child(instanceId, child))];
    if (isAll) keys.push(...(await this.#looseKeys(instanceId)));
    const require: Precondition[] = [{ key: this.layout.instance(instanceId), version }];
    try {
      await this.#store.commit({ require, delete: keys });
      return true;
    } catch (error) {
      if (isConflictError(error)) return false;
      throw error;
    }
  }
}

/** The preconditions and writes of a commit for another host's call: that call is done once. */
export function receiptChange(receipt: string | undefined): Required<Pick<Batch, 'require' | 'put'>> {
  if (receipt === undefined) return NO_RECEIPT;
  return { require: [{ key: receipt, version: 'absent' }], put: [{ key: receipt, value: RECEIPT }] };
}

const NO_RECEIPT: Required<Pick<Batch, 'require' | 'put'>> = { require: [], put: [] };
/** Its key says all. The byte is the format's. */
const RECEIPT: Uint8Array = Uint8Array.of(1);

/** Whether they surely fit into one value, as those of nearly every turn do. */
function areFew(events: readonly HistoryEvent[]): boolean {
  let length = 0;
  for (const event of events) length += sizeOf(event);
  return length <= CHUNK_LENGTH && events.length <= CHUNK_EVENTS;
}

/** Splits the events of a turn into values of limited size. */
function chunksOf(at: number, events: readonly HistoryEvent[], before: number): Chunk[] {
  const chunks: Chunk[] = [];
  let total = before;
  let part: HistoryEvent[] = [];
  let length = 0;
  for (const event of events) {
    const more = sizeOf(event);
    if (part.length > 0 && (length + more > CHUNK_LENGTH || part.length >= CHUNK_EVENTS)) {
      chunks.push({ at, isContinued: true, events: part, total });
      part = [];
      length = 0;
    }
    part.push(event);
    total++;
    length += more;
  }
  chunks.push({ at, isContinued: false, events: part, total });
  return chunks;
}
