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
/**
 * In front of the event: until when it is claimed, in milliseconds since 1970, and by which process, which its start tells
 * (two float64).
 */
const LEASE_BYTES = 16;
const OWNER_AT = 8;

/** The entry of an event. */
export function encodeEvent(bytes: Uint8Array, claimedUntil: number): Buffer {
  const entry = Buffer.allocUnsafe(LEASE_BYTES + bytes.length);
  entry.writeDoubleBE(claimedUntil, 0);
  entry.writeDoubleBE(performance.timeOrigin, OWNER_AT);
  entry.set(bytes, LEASE_BYTES);
  return entry;
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
      const free = entries.filter((entry) => this.#isFree(entry, now)).slice(0, limit);
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

  /** No other process has an exclusive store open: what a former one has claimed is free. */
  #isFree({ value }: KeyedEntry, now: number): boolean {
    const lease = new DataView(value.buffer, value.byteOffset, LEASE_BYTES);
    if (lease.getFloat64(0) <= now) return true;
    return this.#store.isExclusive === true && lease.getFloat64(OWNER_AT) !== performance.timeOrigin;
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.commit({ delete: [...new Set(ids)].map((id) => this.#layout.event(id)) });
  }
}
