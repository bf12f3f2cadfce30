/** A least-recently-used cache of at most `limit` values by key. */
export class LruCache<T> {
  readonly #limit: number;
  readonly #onEvict: ((value: T) => void) | undefined;
  /** In order of last use. */
  readonly #values = new Map<string, T>();

  /** @param onEvict - called with each evicted value */
  constructor(limit: number, onEvict?: (value: T) => void) {
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  /** The value of a key; counts as a use. */
  get(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** The value of a key, created if missing. */
  getOrMake(key: string, make: () => T): T {
    const present = this.get(key);
    if (present !== undefined) return present;
    const made = make();
    this.set(key, made);
    return made;
  }

  set(key: string, value: T): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size > this.#limit) this.#evict();
  }

  delete(key: string): void {
    this.#values.delete(key);
  }

  /** All values, the least recently used first. */
  values(): readonly T[] {
    return [...this.#values.values()];
  }

  /** Removes and returns all values. */
  take(): readonly T[] {
    const values = [...this.#values.values()];
    this.#values.clear();
    return values;
  }

  #evict(): void {
    for (const [key, value] of this.#values) {
      this.#values.delete(key);
      this.#onEvict?.(value);
      return;
    }
  }
}
