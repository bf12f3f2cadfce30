import { keyAfter } from '../../state/keys.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
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

  /**
   * A page has the events with the least IDs, in the order of their commits: the clocks of processes, which IDs begin
   * with, may differ.
   */
  async read(cursor?: string): Promise<OutboxPage> {
    const range = this.#layout.allEvents;
    const from = cursor === undefined ? range.from : keyAfter(this.#layout.event(cursor));
    const entries = await this.#store.scan({ ...range, from, limit: PAGE, maxBytes: PAGE_BYTES });
    const last = entries.at(-1);
    if (last === undefined) return { events: [] };
    const events = [...entries]
      .sort(byCommit)
      .map(({ key, value }) => ({ id: this.#layout.eventOf(key), bytes: value }));
    return { events, cursor: this.#layout.eventOf(last.key) };
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.commit({ delete: [...new Set(ids)].map((id) => this.#layout.event(id)) });
  }
}

/** Those of one commit stay in the order of their IDs. */
function byCommit(one: KeyedEntry, other: KeyedEntry): number {
  return one.version - other.version;
}
