import { compareKeys } from '../state/keys.ts';
import { Heap } from '../util/heap.ts';

/** The position of an entry: entries are ordered by `at`, those of one instant by `id`. */
export interface DuePosition {
  /** When the entry is due, in milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
}

/** A page of entries read from the store. */
export interface DuePage<E> {
  /** In order of position. */
  readonly entries: readonly E[];
  /** Whether no entries follow. */
  readonly isLast: boolean;
}

/** The dependencies of a {@link DueIndex}. */
export interface DueIndexDeps<E> {
  /** The ID of an entry. Of two entries with the same ID the later one counts. */
  readonly idOf: (entry: E) => string;
  /** Reads the next entries after a position: about `limit` of them. */
  readonly readAfter: (position: DuePosition | undefined, limit: number) => Promise<DuePage<E>>;
  /** Whether a stored entry belongs to this host and is not in progress. */
  readonly isWanted: (entry: E) => boolean;
  /** How many entries one read asks for. */
  readonly pageSize: number;
}

/** The next page is read when less than this share of a page is left. */
const LOW = 0.75;
/** The most pages held in memory: beyond that, the latest entries are dropped. */
const HIGH = 4;

/** Changes during a read, which may or may not have seen them. */
interface Meanwhile<E> {
  readonly arrived: Map<string, E>;
  readonly gone: Set<string>;
}

/**
 * The entries that are due next: in memory are all entries of the store up to a position, the frontier, and none beyond
 * it. However many the store has, the index holds some thousands. Pinned entries are kept whatever their position.
 */
export class DueIndex<E extends { readonly at: number }> {
  readonly #deps: DueIndexDeps<E>;
  readonly #byId = new Map<string, E>();
  readonly #pinned = new Set<string>();
  /** May hold entries that are not in `#byId` any more: they are skipped. */
  readonly #heap = new Heap<E>(
    ({ at }) => at,
    (entry) => this.#deps.idOf(entry),
  );
  #frontier: DuePosition | undefined;
  /** Whether no entries lie beyond the frontier. */
  #isWhole = false;
  #meanwhile: Meanwhile<E> | undefined;
  /** Counts how often entries were dropped: a read that began before is discarded. */
  #epoch = 0;

  constructor(deps: DueIndexDeps<E>) {
    this.#deps = deps;
  }

  /** Whether entries should be read. */
  get isLow(): boolean {
    return !this.#isWhole && this.#unpinned < this.#deps.pageSize * LOW;
  }

  get #unpinned(): number {
    return this.#byId.size - this.#pinned.size;
  }

  /** The entry of an ID, if it is in memory. */
  get(id: string): E | undefined {
    return this.#byId.get(id);
  }

  isPinned(id: string): boolean {
    return this.#pinned.has(id);
  }

  /** The earliest entry; `undefined` when none is in memory. */
  first(): E | undefined {
    for (let entry = this.#heap.first; entry !== undefined; entry = this.#heap.first) {
      if (this.#byId.get(this.#deps.idOf(entry)) === entry) return entry;
      this.#heap.pop();
    }
    return undefined;
  }

  /** Removes and returns the earliest entry. */
  shift(): E | undefined {
    const entry = this.first();
    if (entry === undefined) return undefined;
    this.#heap.pop();
    this.#forget(this.#deps.idOf(entry));
    return entry;
  }

  /** An entry has been written. */
  add(entry: E): void {
    const id = this.#deps.idOf(entry);
    this.#meanwhile?.arrived.set(id, entry);
    this.#forget(id);
    if (this.#isWithin(entry)) this.#keep(id, entry);
    if (this.#unpinned > this.#deps.pageSize * HIGH) this.#shrink();
  }

  /** Keeps an entry whatever its position, until it is shifted, removed or added again. */
  pin(entry: E): void {
    const id = this.#deps.idOf(entry);
    this.remove(id);
    this.#keep(id, entry);
    this.#pinned.add(id);
  }

  /** An entry has been removed. */
  remove(id: string): void {
    this.#meanwhile?.arrived.delete(id);
    this.#meanwhile?.gone.add(id);
    this.#forget(id);
  }

  /** Drops all entries that are not pinned; `read` loads them again. */
  reset(): void {
    this.#epoch++;
    for (const id of this.#byId.keys()) if (!this.#pinned.has(id)) this.#byId.delete(id);
    this.#heap.reset(this.#byId.values());
    this.#frontier = undefined;
    this.#isWhole = false;
  }

  /** Reads the next entries after the frontier. Only one read may run at a time. */
  async read(): Promise<void> {
    if (this.#isWhole) return;
    const { readAfter, pageSize } = this.#deps;
    const epoch = this.#epoch;
    const meanwhile: Meanwhile<E> = { arrived: new Map(), gone: new Set() };
    this.#meanwhile = meanwhile;
    try {
      const { entries, isLast } = await readAfter(this.#frontier, pageSize);
      if (epoch !== this.#epoch) return;
      const last = entries.at(-1);
      if (last !== undefined) this.#frontier = this.#positionOf(last);
      this.#isWhole = isLast;
      for (const entry of entries) this.#take(entry, !meanwhile.gone.has(this.#deps.idOf(entry)));
      for (const entry of meanwhile.arrived.values()) this.#take(entry, this.#isWithin(entry));
    } finally {
      this.#meanwhile = undefined;
    }
  }

  #take(entry: E, isCurrent: boolean): void {
    if (!isCurrent || !this.#deps.isWanted(entry)) return;
    const id = this.#deps.idOf(entry);
    if (!this.#pinned.has(id)) this.#keep(id, entry);
  }

  #keep(id: string, entry: E): void {
    this.#byId.set(id, entry);
    this.#heap.push(entry);
  }

  #forget(id: string): void {
    this.#byId.delete(id);
    this.#pinned.delete(id);
    // Entries removed early must not pile up in the heap.
    if (this.#heap.size > 2 * this.#byId.size + this.#deps.pageSize) this.#heap.reset(this.#byId.values());
  }

  #positionOf(entry: E): DuePosition {
    return { at: entry.at, id: this.#deps.idOf(entry) };
  }

  #isWithin(entry: E): boolean {
    if (this.#isWhole) return true;
    return this.#frontier !== undefined && comparePositions(this.#positionOf(entry), this.#frontier) <= 0;
  }

  /** Keeps the earliest page only. */
  #shrink(): void {
    this.#epoch++;
    const positions = [...this.#byId]
      .filter(([id]) => !this.#pinned.has(id))
      .map(([id, { at }]) => ({ at, id }))
      .sort(comparePositions);
    for (const { id } of positions.slice(this.#deps.pageSize)) this.#byId.delete(id);
    this.#heap.reset(this.#byId.values());
    this.#frontier = positions[this.#deps.pageSize - 1];
    this.#isWhole = false;
  }
}

function comparePositions(one: DuePosition, other: DuePosition): number {
  return one.at - other.at || compareKeys(one.id, other.id);
}
