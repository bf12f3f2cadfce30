/** The values that were used last, by name, at most `limit` of them. */
export class Recent<T> {
  readonly #limit: number;
  readonly #values = new Map<string, T>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The value of a name, made when there is none. */
  get(name: string, make: () => T): T {
    const present = this.#values.get(name);
    // Put at the end, where the newest are.
    if (present !== undefined) this.#values.delete(name);
    const value = present ?? make();
    this.#values.set(name, value);
    if (this.#values.size > this.#limit) {
      for (const [oldest] of this.#values) {
        this.#values.delete(oldest);
        break;
      }
    }
    return value;
  }
}
