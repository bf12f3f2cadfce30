import { countEntries } from '../state/count-entries.ts';
import type { OnChange } from '../state/local-watch.ts';
import { readTogether } from '../state/read-together.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Scan, StateDurability, StateStore } from '../state/store.ts';

/** Access to a store that passes every call on. Its subclasses change some of them. */
export class StoreView implements StateStore {
  readonly #store: StateStore;

  constructor(store: StateStore) {
    this.#store = store;
  }

  get failure(): Error | undefined {
    return this.#store.failure;
  }

  get isExclusive(): boolean {
    return this.#store.isExclusive === true;
  }

  get hints(): 'all' | 'own' {
    return this.#store.hints ?? 'own';
  }

  get durability(): StateDurability {
    return this.#store.durability ?? 'unknown';
  }

  get(key: string): Promise<Entry | undefined> {
    return this.#store.get(key);
  }

  getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return this.#store.getAll?.(keys) ?? readTogether(this.#store, keys);
  }

  scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#store.scan(scan);
  }

  count(range: KeyRange, limit: number): Promise<number> {
    return countEntries(this.#store, range, limit);
  }

  commit(batch: Batch): Promise<number> {
    return this.#store.commit(batch);
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    return this.#store.watch(prefix, onChange);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
