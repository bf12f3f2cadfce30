/** A binary min-heap by rank; equal ranks are ordered by a second rank. */
export class Heap<T> {
  readonly #rank: (item: T) => number;
  readonly #second: (item: T) => number | string;
  #items: T[] = [];

  constructor(rank: (item: T) => number, second: (item: T) => number | string = rank) {
    this.#rank = rank;
    this.#second = second;
  }

  #isBefore(a: T, b: T): boolean {
    const difference = this.#rank(a) - this.#rank(b);
    return difference < 0 || (difference === 0 && this.#second(a) < this.#second(b));
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let at = this.#items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.#isBefore(item, above)) break;
      this.#items[at] = above;
      at = parent;
    }
    this.#items[at] = item;
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.#sink(last);
    return first;
  }

  /** Replaces all items. */
  reset(items: Iterable<T> = []): void {
    this.#items = [];
    for (const item of items) this.push(item);
  }

  /** Sifts an item down from the top. */
  #sink(item: T): void {
    const items = this.#items;
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      const right = items[child + 1];
      if (right !== undefined && this.#isBefore(right, items[child] as T)) child++;
      const below = items[child] as T;
      if (!this.#isBefore(below, item)) break;
      items[at] = below;
      at = child;
    }
    items[at] = item;
  }
}
