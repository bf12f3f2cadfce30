/**
 * Keeps the order of the writes of a key over two connections. Writes that wait for replicas have a connection of their
 * own, on which a slow replica holds them up: a later write of the same key must not overtake them on the other one.
 */
export class StrongOrder {
  /** Resolves when the server has executed what was sent over the connection of plain writes to these keys. */
  readonly #plainDone: (keys: readonly string[]) => Promise<void>;
  /** The keys of strong writes without an answer, and how many each has. */
  readonly #keys = new Map<string, number>();
  #turn: Promise<void> = Promise.resolve();

  constructor(plainDone: (keys: readonly string[]) => Promise<void>) {
    this.#plainDone = plainDone;
  }

  /** Resolves when all strong writes that wait for earlier plain ones have been made. */
  get turn(): Promise<void> {
    return this.#turn;
  }

  /** Whether one of the keys has a strong write without an answer. What follows must then be a strong write, too. */
  has(operations: readonly { readonly key: string }[]): boolean {
    return this.#keys.size > 0 && operations.some(({ key }) => this.#keys.has(key));
  }

  /** Makes a strong write once all earlier writes of its keys have been sent. */
  async run<T>(operations: readonly { readonly key: string }[], write: () => Promise<T>): Promise<T> {
    const keys = operations.map(({ key }) => key);
    for (const key of keys) this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1);
    this.#turn = this.#turn.then(() => this.#plainDone(keys));
    try {
      await this.#turn;
      return await write();
    } finally {
      for (const key of keys) this.#forget(key);
    }
  }

  #forget(key: string): void {
    const left = (this.#keys.get(key) ?? 0) - 1;
    if (left > 0) this.#keys.set(key, left);
    else this.#keys.delete(key);
  }
}
