/** Max keys of a leaf before it is split: balances moving keys on an insert with finding the leaf. */
const MAX_IN_LEAF = 512;

interface Leaf<V> {
  readonly keys: string[];
  readonly values: V[];
}

/** A range of keys, in the order of `<`. */
export interface SortedRange {
  /** Inclusive. */
  readonly from: string;
  /** Exclusive; absent: no end. */
  readonly to?: string | undefined;
  /** Whether to start at the end. */
  readonly reverse?: boolean | undefined;
}

/**
 * A map with string keys ordered by `<`: a list of sorted leaves, found by binary search. A million keys take a few
 * thousand leaves, so an insert moves a few hundred pointers at most, and appending at one end, as queues do, moves
 * none.
 */
export class SortedMap<V> {
  readonly #leaves: Leaf<V>[] = [{ keys: [], values: [] }];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const leaf = this.#leafAt(this.#leafIndexOf(key));
    const index = lowerBound(leaf.keys, key);
    return leaf.keys[index] === key ? leaf.values[index] : undefined;
  }

  set(key: string, value: V): void {
    const leafIndex = this.#leafIndexOf(key);
    const leaf = this.#leafAt(leafIndex);
    const index = lowerBound(leaf.keys, key);
    if (leaf.keys[index] === key) {
      leaf.values[index] = value;
      return;
    }
    leaf.keys.splice(index, 0, key);
    leaf.values.splice(index, 0, value);
    this.#size++;
    if (leaf.keys.length > MAX_IN_LEAF) this.#split(leafIndex, index);
  }

  /** Returns whether the key existed. */
  delete(key: string): boolean {
    const leafIndex = this.#leafIndexOf(key);
    const leaf = this.#leafAt(leafIndex);
    const index = lowerBound(leaf.keys, key);
    if (leaf.keys[index] !== key) return false;
    leaf.keys.splice(index, 1);
    leaf.values.splice(index, 1);
    this.#size--;
    this.#join(leafIndex);
    return true;
  }

  /** Calls back with each entry of the range in order, until the callback returns false. */
  visit(range: SortedRange, onEntry: (key: string, value: V) => boolean): void {
    if (range.reverse) this.#visitBackwards(range, onEntry);
    else this.#visitForwards(range, onEntry);
  }

  #visitForwards({ from, to }: SortedRange, onEntry: (key: string, value: V) => boolean): void {
    const start = this.#leafIndexOf(from);
    let index = lowerBound(this.#leafAt(start).keys, from);
    for (let at = start; at < this.#leaves.length; at++, index = 0) {
      const { keys, values } = this.#leafAt(at);
      for (; index < keys.length; index++) {
        const key = keys[index] as string;
        if (to !== undefined && key >= to) return;
        if (!onEntry(key, values[index] as V)) return;
      }
    }
  }

  #visitBackwards({ from, to }: SortedRange, onEntry: (key: string, value: V) => boolean): void {
    const start = to === undefined ? this.#leaves.length - 1 : this.#leafIndexOf(to);
    const last = this.#leafAt(start).keys;
    let index = (to === undefined ? last.length : lowerBound(last, to)) - 1;
    for (let at = start; at >= 0; at--) {
      const { keys, values } = this.#leafAt(at);
      if (at < start) index = keys.length - 1;
      for (; index >= 0; index--) {
        const key = keys[index] as string;
        if (key < from) return;
        if (!onEntry(key, values[index] as V)) return;
      }
    }
  }

  /** The index of the last leaf that starts at or before the key; 0 if there is none. */
  #leafIndexOf(key: string): number {
    let low = 0;
    let high = this.#leaves.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const first = this.#leafAt(middle).keys[0];
      if (first !== undefined && first <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The cast is safe: indexes are computed from the list, which is never empty. */
  #leafAt(index: number): Leaf<V> {
    return this.#leaves[index] as Leaf<V>;
  }

  /** Splits in the middle; with ascending keys only the newest key moves, so that leaves stay full. */
  #split(leafIndex: number, insertedAt: number): void {
    const leaf = this.#leafAt(leafIndex);
    const isAppend = insertedAt === leaf.keys.length - 1;
    const cut = isAppend ? insertedAt : leaf.keys.length >>> 1;
    this.#leaves.splice(leafIndex + 1, 0, { keys: leaf.keys.splice(cut), values: leaf.values.splice(cut) });
  }

  /** Merges a small leaf with the next one, so that no run of small leaves remains. */
  #join(leafIndex: number): void {
    const leaf = this.#leafAt(leafIndex);
    const next = this.#leaves[leafIndex + 1];
    if (leaf.keys.length === 0 && this.#leaves.length > 1) {
      this.#leaves.splice(leafIndex, 1);
    } else if (next !== undefined && leaf.keys.length + next.keys.length < MAX_IN_LEAF / 4) {
      leaf.keys.push(...next.keys);
      leaf.values.push(...next.values);
      this.#leaves.splice(leafIndex + 1, 1);
    }
  }
}

/** The index of the first key at or after `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
