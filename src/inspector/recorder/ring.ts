/** An item of a ring. */
export interface Kept {
  /** Grows with every one that is added. */
  id: number;
  /** Grows with every change of any. */
  seq: number;
  /** The memory that its data take. */
  readonly bytes: number;
}

export interface RingLimits {
  readonly records: number;
  readonly bytes: number;
}

/** Keeps the newest: at most so many, and so many bytes. */
export class Ring<K extends Kept> {
  readonly #limits: RingLimits;
  /** Called with what is dropped for want of space. */
  readonly #onDrop: (kept: K) => void;
  /** By ID, modulo the limit. */
  #slots: (K | undefined)[] = [];
  /** The ID of the oldest that is kept. IDs and changes are above those of earlier processes, which pages still show. */
  #first = Date.now() * 100;
  #next = this.#first;
  #seq = this.#first;
  #bytes = 0;
  #hasDropped = false;

  constructor(limits: RingLimits, onDrop: (kept: K) => void) {
    this.#limits = limits;
    this.#onDrop = onDrop;
  }

  /** The last change. */
  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#next - this.#first;
  }

  get capacity(): number {
    return this.#limits.records;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get hasDropped(): boolean {
    return this.#hasDropped;
  }

  add(kept: K): void {
    const { records, bytes } = this.#limits;
    while (this.size > 0 && (this.size >= records || this.#bytes + kept.bytes > bytes)) this.#drop();
    if (this.#slots.length === 0) this.#slots = Array.from({ length: records }, () => undefined);
    kept.id = this.#next++;
    this.#slots[kept.id % records] = kept;
    this.#bytes += kept.bytes;
    this.touch(kept);
  }

  /** Tells that it has changed; of one that is no longer kept, this means nothing. */
  touch(kept: K): void {
    kept.seq = ++this.#seq;
  }

  get(id: number): K | undefined {
    return id >= this.#first && id < this.#next ? this.#slots[id % this.#limits.records] : undefined;
  }

  /** The newest first; before an ID, if one is given. */
  *newest(before: number = this.#next): IterableIterator<K> {
    for (let id = Math.min(before, this.#next) - 1; id >= this.#first; id--) {
      const kept = this.get(id);
      if (kept !== undefined) yield kept;
    }
  }

  /** Forgets all. Numbers go on, so that no two have the same. */
  clear(): void {
    this.#slots = [];
    this.#first = this.#next;
    this.#bytes = 0;
    this.#hasDropped = false;
  }

  #drop(): void {
    const slot = this.#first++ % this.#limits.records;
    const kept = this.#slots[slot];
    this.#slots[slot] = undefined;
    if (kept === undefined) return;
    this.#bytes -= kept.bytes;
    this.#hasDropped = true;
    this.#onDrop(kept);
  }
}
