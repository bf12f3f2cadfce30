/** The values that were used last, by key, at most `limit` of them. */
export class LruCache<T> {
  readonly #limit: number;
  readonly #onEvict: ((value: T) => void) | undefined;
  /** In the order of their last use. */
  readonly #values = new Map<string, T>();

  /** @param onEvict - called with a value that made room for a newer one */
  constructor(limit: number, onEvict?: (value: T) => void) {
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  /** The value of a key, which counts as used now. */
  get(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** The value of a key, made when there is none. */
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

  /** Takes all values out. */
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
