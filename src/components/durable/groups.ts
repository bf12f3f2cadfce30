import { isConflict } from '../../state/errors.ts';
import type { Precondition, StateStore } from '../../state/store.ts';
import type { Layout } from './layout.ts';
import { readRecord, record } from './records.ts';

/** The name of a group. */
export interface GroupName {
  readonly topic: string;
  readonly group: string;
}

/**
 * Which groups there are. Other hosts may add some, and a message published after that must be in them too: so every
 * publish requires that no group has come since they were read.
 */
export class Groups {
  readonly #store: StateStore;
  readonly #layout: Layout;
  readonly #onGroup: (name: GroupName) => void;
  #guard: Precondition;
  #reading: Promise<void> | undefined;

  /** `onGroup` is called for every group that there is, whenever they are read. */
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
      this.#onGroup(readRecord(at, value) as GroupName);
    this.#guard = { key, version: entry?.version ?? 'absent' };
  }

  /** Adds one, which exists when this resolves. */
  async add({ topic, group }: GroupName): Promise<void> {
    const put = [
      { key: this.#layout.group(topic, group), value: record({ topic, group }) },
      { key: this.#guard.key, value: record(0) },
    ];
    for (;;) {
      const guard = this.#guard;
      try {
        const version = await this.#store.commit({ require: [guard], put });
        this.#onGroup({ topic, group });
        if (this.#guard === guard) this.#guard = { key: guard.key, version };
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
        await this.read();
      }
    }
  }
}
