import { isConflict } from '../../state/errors.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import type { Clock } from '../../util/clock.ts';
import type { KeyValueOutbox, OutboxEvent } from '../key-value.ts';
import type { KeyValueLayout } from './layout.ts';

/** Behind this many claimed events, none is looked for. */
const MAX_LOOKED_AT = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** How often a claim is tried against others that claim at the same time. */
const MAX_TRIES = 10;
/** In front of the event: until when it is claimed, in milliseconds since 1970 (float64). */
const LEASE_BYTES = 8;

/** The entry of an event. */
export function encodeEvent(bytes: Uint8Array, claimedUntil: number): Buffer {
  const entry = Buffer.allocUnsafe(LEASE_BYTES + bytes.length);
  entry.writeDoubleBE(claimedUntil, 0);
  entry.set(bytes, LEASE_BYTES);
  return entry;
}

function claimedUntil({ value }: KeyedEntry): number {
  return new DataView(value.buffer, value.byteOffset, LEASE_BYTES).getFloat64(0);
}

/** The events that transactions have left in the sidecar's own kind of store. */
export class EngineOutbox implements KeyValueOutbox {
  readonly #store: StateStore;
  readonly #layout: KeyValueLayout;
  readonly #clock: Clock;

  constructor(store: StateStore, layout: KeyValueLayout, clock: Clock) {
    this.#store = store;
    this.#layout = layout;
    this.#clock = clock;
  }

  async claim(limit: number, leaseMs: number): Promise<readonly OutboxEvent[]> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const now = this.#clock.now();
      const entries = await this.#store.scan({
        ...this.#layout.allEvents,
        limit: MAX_LOOKED_AT,
        maxBytes: MAX_BYTES,
      });
      const free = entries.filter((entry) => claimedUntil(entry) <= now).slice(0, limit);
      if (free.length === 0) return [];
      const events = free.map(({ key, value }) => ({
        id: this.#layout.eventOf(key),
        bytes: value.subarray(LEASE_BYTES),
      }));
      try {
        await this.#store.commit({
          require: free.map(({ key, version }) => ({ key, version })),
          put: free.map(({ key }, index) => ({
            key,
            value: encodeEvent(events[index]?.bytes ?? new Uint8Array(), now + leaseMs),
          })),
        });
        return events;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    return [];
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.commit({ delete: [...new Set(ids)].map((id) => this.#layout.event(id)) });
  }
}
