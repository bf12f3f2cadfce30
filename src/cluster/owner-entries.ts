import type { KeyedEntry, KeyRange, StateStore } from '../state/store.ts';

/**
 * The entries of an app ID's shards. They change only when hosts come and go, so they are read again only if something
 * has changed. A store without hints is read every time.
 */
export class OwnerEntries {
  readonly #store: StateStore;
  readonly #range: KeyRange;
  #entries: readonly KeyedEntry[] | undefined;

  constructor(store: StateStore, range: KeyRange) {
    this.#store = store;
    this.#range = range;
  }

  /** The entries may have changed. */
  changed(): void {
    this.#entries = undefined;
  }

  async read(): Promise<readonly KeyedEntry[]> {
    if (this.#entries !== undefined) return this.#entries;
    // Kept from before the read, so that a change during the read has an effect.
    const kept = this.#store.hints === 'all' ? [] : undefined;
    this.#entries = kept;
    const entries = await this.#store.scan(this.#range);
    if (kept !== undefined && this.#entries === kept) this.#entries = entries;
    return entries;
  }
}
