import { ConflictError, contradictionError, isConflictError } from '../../state/errors.ts';
import { namePart } from '../../state/keys.ts';
import type { KeyedEntry, Precondition, Put, StateStore } from '../../state/store.ts';
import { type EndedGroup, endedGroup, type GroupName, type GroupRecord, readGroup } from './group-record.ts';
import { Layout } from './layout.ts';
import { COUNT, readRecord, record } from './records.ts';

/** Entries of groups other than the groups themselves, by key. */
export type GroupEntries = ReadonlyMap<string, KeyedEntry>;

/** Learns of groups that come and go. */
export interface GroupListener {
  readonly onGroup: (group: GroupName) => void;
  readonly onGone: (group: GroupName) => void;
}

/** A group as it is known. */
export interface KnownGroup extends GroupName {
  /** Whether it keeps the dead letters of a topic without subscribers. */
  readonly keeps: boolean;
}

/** A group that has not received its messages of the startup period yet. */
export interface UnfilledGroup {
  readonly number: number;
  /** The group's entry in its current version. */
  readonly entry: Precondition;
  /** Marks the group as filled. */
  readonly filled: Put;
}

/**
 * The groups of a component. Other hosts may add groups, and later messages must go to them too. So every publish
 * requires that no group was added since the last read.
 */
export class ConsumerGroups {
  readonly #store: StateStore;
  readonly #layout: Layout;
  readonly #listener: GroupListener;
  /** Groups by key. */
  readonly #known = new Map<string, KnownGroup>();
  /** Groups that have ended, by key. */
  #ended: ReadonlyMap<string, EndedGroup> = new Map();
  #guard: Precondition;
  #count = 0;
  #reading: Promise<GroupEntries> | undefined;
  /** How many changes this host has written. */
  #writes = 0;

  constructor(store: StateStore, layout: Layout, listener: GroupListener) {
    this.#store = store;
    this.#layout = layout;
    this.#listener = listener;
    this.#guard = { key: layout.groupCount(), version: 'absent' };
  }

  /** Whether other hosts may have added groups that were not read. */
  mayBeOutdated = false;

  /** A publish requires this to reach all groups. */
  get guard(): Precondition {
    return this.#guard;
  }

  /** How many groups were ever added, as of the guard. */
  get count(): number {
    return this.#count;
  }

  /** The topics with groups, as parts of keys. */
  topicParts(): ReadonlySet<string> {
    return new Set([...this.#known.values()].map(({ topic }) => namePart(topic)));
  }

  /** Reads the groups, or waits for a read that has begun. Resolves with what the groups have beside their names. */
  read(): Promise<GroupEntries> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Like {@link ConsumerGroups.read}, with a read that begins now. */
  async reload(): Promise<GroupEntries> {
    await this.#reading?.catch(() => undefined);
    return this.read();
  }

  async #read(): Promise<GroupEntries> {
    // Cleared before the read, so that a group that is added meanwhile sets it again.
    this.mayBeOutdated = false;
    try {
      for (;;) {
        const writes = this.#writes;
        const entries = await this.#store.scan(this.#layout.groups());
        // Otherwise what was written meanwhile would be forgotten again.
        if (writes === this.#writes) return this.#take(entries);
      }
    } catch (error) {
      this.mayBeOutdated = true;
      throw error;
    }
  }

  /**
   * Reads the groups after a commit with this guard was refused.
   *
   * @throws the error, unless it is a conflict of the guard; StateError `corrupt` if the store still answers the version
   * that it refuses.
   */
  async refused(guard: Precondition, error: unknown): Promise<void> {
    if (!isConflictError(error) || error.key !== guard.key) throw error;
    if (this.#guard.version !== guard.version) return;
    this.mayBeOutdated = true;
    // A read that had begun before the refusal may answer the old version.
    await this.reload();
    if (this.#guard.version === guard.version) throw contradictionError(guard.key);
  }

  /** Takes the entries of one scan, so that they come from the same state of the store. */
  #take(entries: readonly KeyedEntry[]): GroupEntries {
    const rest = new Map<string, KeyedEntry>();
    const records = new Map<string, GroupRecord>();
    const ended = new Map<string, EndedGroup>();
    let count: KeyedEntry | undefined;
    for (const entry of entries) {
      if (entry.key === this.#guard.key) count = entry;
      else if (Layout.isGroup(entry.key)) {
        const found = readGroup(this.#layout, entry);
        if (found.ended === undefined) records.set(entry.key, found);
        else ended.set(entry.key, endedGroup(found, entry));
      } else rest.set(entry.key, entry);
    }
    this.#ended = ended;
    for (const key of this.#known.keys()) if (!records.has(key)) this.#forget(key);
    for (const [key, found] of records) this.#know(key, found);
    this.#set(count?.version ?? 'absent', count === undefined ? 0 : readRecord(count.key, count.value, COUNT));
    return rest;
  }

  #know(key: string, { topic, group, keeps = false }: GroupRecord): void {
    const isNew = !this.#known.has(key);
    this.#known.set(key, { topic, group, keeps });
    if (isNew) this.#listener.onGroup({ topic, group });
  }

  #forget(key: string): void {
    const gone = this.#known.get(key);
    if (gone === undefined) return;
    this.#known.delete(key);
    this.#listener.onGone(gone);
  }

  #set(version: Precondition['version'], count: number): void {
    this.#guard = { key: this.#guard.key, version };
    this.#count = count;
  }

  /** All groups that have not ended. */
  list(): readonly KnownGroup[] {
    return [...this.#known.values()];
  }

  /** The groups that have ended, as of the last read. */
  get ended(): readonly EndedGroup[] {
    return [...this.#ended.values()];
  }

  find({ topic, group }: GroupName): KnownGroup | undefined {
    return this.#known.get(this.#layout.group(topic, group));
  }

  /** The group that keeps the dead letters of a topic. */
  keeperOf(topic: string): KnownGroup | undefined {
    for (const known of this.#known.values()) if (known.keeps && known.topic === topic) return known;
    return undefined;
  }

  hasGroup(topic: string): boolean {
    for (const known of this.#known.values()) if (known.topic === topic) return true;
    return false;
  }

  /**
   * Adds a group, which exists when this resolves. With `isUnfilled`, messages of the startup period may be kept for
   * it. If another group keeps the topic's dead letters, that one ends and they are for this group. Answers whether
   * there was no such group.
   */
  async add({ topic, group }: GroupName, isUnfilled: boolean): Promise<boolean> {
    const key = this.#layout.group(topic, group);
    for (let known = this.#known.get(key); known?.keeps !== false; known = this.#known.get(key)) {
      const keeper = known === undefined ? this.keeperOf(topic) : undefined;
      const added = { topic, group, number: this.#count, ...(isUnfilled ? { isUnfilled } : {}) };
      const ends = keeper === undefined ? [] : [{ ...keeper, ended: { heir: group } }];
      if (await this.#write([added, ...ends])) return known === undefined;
    }
    return false;
  }

  /** Adds a group that keeps the dead letters of a topic, unless the topic has a group. Answers whether it was added. */
  async addKeeper({ topic, group }: GroupName): Promise<boolean> {
    while (!this.hasGroup(topic))
      if (await this.#write([{ topic, group, number: this.#count, keeps: true }])) return true;
    return false;
  }

  /**
   * Ends a group: it gets no more messages when this resolves.
   *
   * @throws ConflictError when `fence` does not hold.
   */
  async end(name: GroupName, fence: Precondition | undefined): Promise<void> {
    for (let known = this.find(name); known !== undefined; known = this.find(name))
      if (await this.#write([{ ...known, ended: {} }], fence)) return;
  }

  /**
   * Writes records if no group was added or has ended since the last read; answers whether that was so. Every change of
   * a group writes the entry that counts them, so that publishes of other hosts notice.
   */
  async #write(records: readonly GroupRecord[], fence?: Precondition): Promise<boolean> {
    const guard = this.#guard;
    const number = this.#count + 1;
    const puts = records.map((content) => {
      const key = this.#layout.group(content.topic, content.group);
      // A group must not come back while its messages are being removed.
      if (this.#ended.has(key)) throw new ConflictError(key);
      return { key, value: record(content) };
    });
    try {
      const put = [...puts, { key: guard.key, value: record(number) }];
      const version = await this.#store.commit({ require: fence === undefined ? [guard] : [guard, fence], put });
      this.#written(records, version);
      if (this.#guard === guard) this.#set(version, number);
      return true;
    } catch (error) {
      await this.refused(guard, error);
      return false;
    }
  }

  #written(records: readonly GroupRecord[], version: number): void {
    this.#writes++;
    const ended = new Map(this.#ended);
    for (const content of records) {
      const key = this.#layout.group(content.topic, content.group);
      if (content.ended === undefined) this.#know(key, content);
      else {
        ended.set(key, endedGroup(content, { key, version }));
        this.#forget(key);
      }
    }
    this.#ended = ended;
  }

  /** The messages of a group that has ended are gone, and so is its entry. */
  gone({ entry }: EndedGroup): void {
    const ended = new Map(this.#ended);
    ended.delete(entry.key);
    this.#ended = ended;
  }

  /** The group, if it has not received its messages of the startup period yet. */
  async unfilled({ topic, group }: GroupName): Promise<UnfilledGroup | undefined> {
    const key = this.#layout.group(topic, group);
    const entry = await this.#store.get(key);
    if (entry === undefined) return undefined;
    const { number, isUnfilled } = readGroup(this.#layout, { key, value: entry.value });
    if (isUnfilled !== true || number === undefined) return undefined;
    const filled: GroupRecord = { topic, group, number };
    return { number, entry: { key, version: entry.version }, filled: { key, value: record(filled) } };
  }
}
