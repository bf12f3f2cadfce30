import { isConflict } from '../../state/errors.ts';
import { namePart } from '../../state/keys.ts';
import type { Precondition, Put, StateStore } from '../../state/store.ts';
import type { Layout } from './layout.ts';
import { readRecord, record } from './records.ts';

/** The name of a group. */
export interface GroupName {
  readonly topic: string;
  readonly group: string;
}

/** What is kept of a group. Those of earlier releases have a name only. */
interface GroupRecord extends GroupName {
  /** How many groups of the component there were before it. */
  readonly number?: number;
  /** It is to begin with what was kept for it, and has not got it yet. */
  readonly isUnfilled?: boolean;
}

/** A group that has not got yet what was kept for it. */
export interface UnfilledGroup {
  readonly number: number;
  /** The entry as it is now. */
  readonly entry: Precondition;
  /** What says that it has. */
  readonly filled: Put;
}

/**
 * Which groups there are. Other hosts may add some, and a message published after that must be in them too: so every
 * publish requires that no group has come since they were read.
 */
export class ConsumerGroups {
  readonly #store: StateStore;
  readonly #layout: Layout;
  readonly #onGroup: (name: GroupName) => void;
  /** By key. */
  readonly #known = new Map<string, GroupName>();
  #guard: Precondition;
  #count = 0;
  #reading: Promise<void> | undefined;

  /** `onGroup` is called for every group that there is, once. */
  constructor(store: StateStore, layout: Layout, onGroup: (name: GroupName) => void) {
    this.#store = store;
    this.#layout = layout;
    this.#onGroup = onGroup;
    this.#guard = { key: layout.groupCount(), version: 'absent' };
  }

  /** Others may have added groups that were not read. */
  mayBeOutdated = false;

  /** What must hold for a publish to have all groups. */
  get guard(): Precondition {
    return this.#guard;
  }

  /** How many groups have come, as of the guard. */
  get count(): number {
    return this.#count;
  }

  /** The topics that have groups, as parts of keys. */
  topicParts(): ReadonlySet<string> {
    return new Set([...this.#known.values()].map(({ topic }) => namePart(topic)));
  }

  /** Reads them. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    // First, and again when reading fails: what others add meanwhile sets it anew.
    this.mayBeOutdated = false;
    try {
      await this.#readAll();
    } catch (error) {
      this.mayBeOutdated = true;
      throw error;
    }
  }

  async #readAll(): Promise<void> {
    const { key } = this.#guard;
    // First: what comes after it is noticed by the guard.
    const entry = await this.#store.get(key);
    for (const { key: at, value } of await this.#store.scan(this.#layout.groups()))
      this.#add(at, readRecord(at, value) as GroupRecord);
    this.#set(entry?.version ?? 'absent', entry === undefined ? 0 : (readRecord(key, entry.value) as number));
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

  /** Adds one, which exists when this resolves; `isUnfilled`: something may be kept for it. */
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

  /** A group, if it has not got yet what was kept for it. */
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
