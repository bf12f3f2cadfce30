/** A double-ended queue on an array; amortised constant time at both ends. */
export class Deque<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The first item, which stays. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Adds an item at the front. */
  unshift(item: T): void {
    if (this.#head === 0) this.#items.unshift(item);
    else this.#items[--this.#head] = item;
  }

  /** The items, the first one first. */
  values(): readonly T[] {
    return this.#items.slice(this.#head) as T[];
  }

  /** Removes the items for which `isMeant` is true; returns them in order. */
  extract(isMeant: (item: T) => boolean): readonly T[] {
    const taken: T[] = [];
    const kept = this.values().filter((item) => !isMeant(item) || taken.push(item) === 0);
    if (taken.length === 0) return taken;
    this.#items = kept;
    this.#head = 0;
    return taken;
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head >= 1024 && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
