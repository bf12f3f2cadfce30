import { keyAfter } from '../../state/keys.ts';
import type { StateStore } from '../../state/store.ts';
import type { KeyValueOutbox, OutboxPage } from '../key-value.ts';
import type { KeyValueLayout } from './layout.ts';

const PAGE = 1_000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** The events that transactions have left in the sidecar's own kind of store. */
export class EngineOutbox implements KeyValueOutbox {
  readonly #store: StateStore;
  readonly #layout: KeyValueLayout;

  constructor(store: StateStore, layout: KeyValueLayout) {
    this.#store = store;
    this.#layout = layout;
  }

  /** In the order of their IDs: a store's versions do not tell which of two commits was first. */
  async read(cursor?: string): Promise<OutboxPage> {
    const range = this.#layout.allEvents;
    const from = cursor === undefined ? range.from : keyAfter(this.#layout.event(cursor));
    const entries = await this.#store.scan({ ...range, from, limit: PAGE, maxBytes: PAGE_BYTES });
    const last = entries.at(-1);
    if (last === undefined) return { events: [] };
    const events = entries.map(({ key, value }) => ({ id: this.#layout.eventOf(key), bytes: value }));
    return { events, cursor: this.#layout.eventOf(last.key) };
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.commit({ delete: [...new Set(ids)].map((id) => this.#layout.event(id)) });
  }

  async lastId(): Promise<string | undefined> {
    const [last] = await this.#store.scan({ ...this.#layout.allEvents, reverse: true, limit: 1 });
    return last && this.#layout.eventOf(last.key);
  }
}
