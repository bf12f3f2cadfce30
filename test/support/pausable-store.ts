import { keepLocalHosts, localHostsOf } from '../../src/cluster/local-hosts.ts';
import type { Batch, Entry, KeyedEntry, Scan, StateDefinition, StateStore } from '../../src/kit/index.ts';
import type { OnChange } from '../../src/state/local-watch.ts';

/** Calls of a store, by kind. */
export interface StoreCalls {
  gets: number;
  scans: number;
  commits: number;
}

function noCalls(): StoreCalls {
  return { gets: 0, scans: 0, commits: 0 };
}

/** One host's access to a store. While it is paused nothing goes through, as when the process of the host stands still. */
export class PausableStore implements StateStore, StateDefinition {
  readonly type = 'pausable';
  readonly failure: undefined = undefined;
  /** Nobody is told what others change. */
  losesHints = false;
  #calls = noCalls();
  /** May keep the answer of a scan back, after it has been read. */
  keepsBack: (entries: readonly KeyedEntry[]) => Promise<void> | undefined = () => undefined;
  /** May keep a commit back, before it is written. */
  holdsUp: (batch: Batch) => Promise<void> | undefined = () => undefined;
  /** Conflicts that were answered. */
  readonly conflicts: unknown[] = [];
  readonly #store: StateStore;
  #open: Promise<void> | undefined;
  #resume: () => void = () => undefined;

  readonly isExclusive: boolean;
  /** Whose changes it tells, as far as its user knows. */
  hints: 'all' | 'own' = 'own';

  /** @param isApart - the sidecars of this process do not know that it is the same store, as if they were in several. */
  constructor(store: StateStore, isExclusive = store.isExclusive === true, isApart = false) {
    this.#store = store;
    this.isExclusive = isExclusive;
    if (!isApart) keepLocalHosts(this, localHostsOf(store));
  }

  pause(): void {
    this.#open ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    this.#open = undefined;
    this.#resume();
  }

  open(): Promise<StateStore> {
    return Promise.resolve(this);
  }

  /** What was asked for since the last time. */
  takeCalls(): StoreCalls {
    const calls = this.#calls;
    this.#calls = noCalls();
    return calls;
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#calls.gets++;
    await this.#open;
    return this.#store.get(key);
  }

  async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    this.#calls.scans++;
    await this.#open;
    const entries = await this.#store.scan(scan);
    await this.keepsBack(entries);
    return entries;
  }

  async commit(batch: Batch): Promise<number> {
    this.#calls.commits++;
    await this.#open;
    await this.holdsUp(batch);
    try {
      return await this.#store.commit(batch);
    } catch (error) {
      this.conflicts.push(error);
      throw error;
    }
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    return this.#store.watch(prefix, (keys, by) => {
      if (this.losesHints) return;
      if (this.#open === undefined) onChange(keys, by);
      else void this.#open.then(() => onChange(keys, by));
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
