import { isConflict } from '../../state/errors.ts';
import { namePart } from '../../state/keys.ts';
import type { KeyedEntry, Precondition, Put, StateStore } from '../../state/store.ts';
import { Layout } from './layout.ts';
import { readRecord, record } from './records.ts';

/** Entries of groups other than the groups themselves, by key. */
export type GroupEntries = ReadonlyMap<string, KeyedEntry>;

/** The name of a group. */
export interface GroupName {
  readonly topic: string;
  readonly group: string;
}

/** The stored record of a group. Records of earlier releases have only the names. */
interface GroupRecord extends GroupName {
  /** How many groups the component had before it. */
  readonly number?: number;
  /** It is to begin with messages of the startup period and has not received them yet. */
  readonly isUnfilled?: boolean;
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
  readonly #onGroup: (name: GroupName) => void;
  /** Groups by key. */
  readonly #known = new Map<string, GroupName>();
  #guard: Precondition;
  #count = 0;
  #reading: Promise<GroupEntries> | undefined;

  /** Calls `onGroup` once for every group. */
  constructor(store: StateStore, layout: Layout, onGroup: (name: GroupName) => void) {
    this.#store = store;
    this.#layout = layout;
    this.#onGroup = onGroup;
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
  async readAnew(): Promise<GroupEntries> {
    await this.#reading?.catch(() => undefined);
    return this.read();
  }

  async #read(): Promise<GroupEntries> {
    // Cleared before the read, so that a group that is added meanwhile sets it again.
    this.mayBeOutdated = false;
    try {
      return await this.#readAll();
    } catch (error) {
      this.mayBeOutdated = true;
      throw error;
    }
  }

  async #readAll(): Promise<GroupEntries> {
    const rest = new Map<string, KeyedEntry>();
    let count: KeyedEntry | undefined;
    // One scan for all, so that they come from the same state of the store.
    for (const entry of await this.#store.scan(this.#layout.groups())) {
      if (entry.key === this.#guard.key) count = entry;
      else if (Layout.isGroup(entry.key)) this.#add(entry.key, readRecord(entry.key, entry.value) as GroupRecord);
      else rest.set(entry.key, entry);
    }
    this.#set(count?.version ?? 'absent', count === undefined ? 0 : (readRecord(count.key, count.value) as number));
    return rest;
  }

  #add(key: string, { topic, group }: GroupName): void {
    if (this.#known.has(key)) return;
    const name = { topic, group };
    this.#known.set(key, name);
    this.#onGroup(name);
  }

  #set(version: Precondition['version'], count: number): void {
    this.#guard = { key: this.#guard.key, version };
    this.#count = count;
  }

  /**
   * Adds a group, which exists when this resolves. With `isUnfilled`, messages of the startup period may be kept for
   * it.
   */
  async add({ topic, group }: GroupName, isUnfilled: boolean): Promise<void> {
    const key = this.#layout.group(topic, group);
    while (!this.#known.has(key)) {
      const guard = this.#guard;
      const number = this.#count;
      const added: GroupRecord = { topic, group, number, ...(isUnfilled ? { isUnfilled } : {}) };
      const put = [
        { key, value: record(added) },
        { key: guard.key, value: record(number + 1) },
      ];
      try {
        const version = await this.#store.commit({ require: [guard], put });
        this.#add(key, added);
        if (this.#guard === guard) this.#set(version, number + 1);
      } catch (error) {
        if (!isConflict(error)) throw error;
        await this.read();
      }
    }
  }

  /** The group, if it has not received its messages of the startup period yet. */
  async unfilled({ topic, group }: GroupName): Promise<UnfilledGroup | undefined> {
    const key = this.#layout.group(topic, group);
    const entry = await this.#store.get(key);
    if (entry === undefined) return undefined;
    const { number, isUnfilled } = readRecord(key, entry.value) as GroupRecord;
    if (isUnfilled !== true || number === undefined) return undefined;
    const filled: GroupRecord = { topic, group, number };
    return { number, entry: { key, version: entry.version }, filled: { key, value: record(filled) } };
  }
}
