import { LruCache } from '../util/lru.ts';

/** The period in which an entry is valid; also correct if the clock is set back. */
interface Validity {
  readonly from: number;
  readonly until: number;
}

/** Keeps a limited number of values while they are valid; evicts the least recently used. */
export class TokenCache<Value> {
  readonly #entries: LruCache<Validity & { readonly value: Value }>;

  constructor(limit: number) {
    this.#entries = new LruCache(limit);
  }

  get(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now >= entry.from && now < entry.until) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, { from, until }: Validity): void {
    this.#entries.set(key, { value, from, until });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
