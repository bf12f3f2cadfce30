import type { Attributes, Counter } from '@opentelemetry/api';

/** Attribute sets that recur, and a count for each. */
interface Entry {
  readonly attributes: Attributes;
  counter: Counter | undefined;
  pending: number;
}

/** More sets than that are unusual: names of topics and routes are few. */
const MAX_ENTRIES = 2_000;

/**
 * Attribute sets by key: to make one takes longer than all else about a message. Counts go to the counters from time to
 * time, because the SDK takes 3 µs to find the series of a set.
 */
export class AttributeCache {
  readonly #entries = new Map<string, Entry>();

  /** The set of a key. It must not be changed. */
  of(key: string, make: () => Attributes): Attributes {
    return this.#entry(key, make).attributes;
  }

  /** Counts for the set of a key. */
  count(counter: Counter, key: string, make: () => Attributes, by = 1): void {
    const entry = this.#entry(key, make);
    entry.counter = counter;
    entry.pending += by;
  }

  #entry(key: string, make: () => Attributes): Entry {
    let entry = this.#entries.get(key);
    if (entry !== undefined) return entry;
    if (this.#entries.size >= MAX_ENTRIES) {
      this.flush();
      this.#entries.clear();
    }
    entry = { attributes: make(), counter: undefined, pending: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Tells the counters what was counted since the last time. */
  flush(): void {
    for (const entry of this.#entries.values()) {
      if (entry.pending === 0) continue;
      entry.counter?.add(entry.pending, entry.attributes);
      entry.pending = 0;
    }
  }
}
