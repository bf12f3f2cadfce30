import { compareKeys } from '../../../state/keys.ts';
import { Heap } from '../../../util/heap.ts';
import type { Due, JobStore } from './job-store.ts';

/** How many entries one scan reads at most, and how many bytes of them. */
export interface PageSize {
  readonly entries: number;
  readonly bytes: number;
}

const PAGE: PageSize = { entries: 256, bytes: 4 * 1024 * 1024 };
/** The share of a page that is left when the next one is read. */
const LOW = 0.75;
/** So many pages are the most that is held: then the latest entries are let go. */
const HIGH = 4;

/** What has changed while a scan is under way, which may or may not have seen it. */
interface Meanwhile {
  readonly arrived: Map<string, Due>;
  readonly gone: Set<string>;
}

/**
 * The earliest due entries in memory: all up to a key, the frontier, and none behind it. However many jobs wait, it
 * holds some thousands.
 */
export class DueWindow {
  readonly #store: JobStore;
  readonly #page: PageSize;
  /** Entries that somebody works on: a scan leaves them out. */
  readonly #isTaken: (due: Due) => boolean;
  readonly #byKey = new Map<string, Due>();
  /** May hold entries that are not in `#byKey` any more: they are skipped. */
  readonly #heap = new Heap<Due>((due) => due.at);
  #frontier: string | undefined;
  /** Nothing is behind the frontier. */
  #isWhole = false;
  #meanwhile: Meanwhile | undefined;
  /** Counts how often entries were let go: a scan from before that is thrown away. */
  #epoch = 0;

  constructor(store: JobStore, isTaken: (due: Due) => boolean, page: PageSize = PAGE) {
    this.#store = store;
    this.#page = page;
    this.#isTaken = isTaken;
  }

  /** Whether entries should be read. */
  get isLow(): boolean {
    return !this.#isWhole && this.#byKey.size < this.#page.entries * LOW;
  }

  /** The earliest entry; `undefined` when none is in memory. */
  first(): Due | undefined {
    for (let due = this.#heap.first; due !== undefined; due = this.#heap.first) {
      if (this.#byKey.get(due.key) === due) return due;
      this.#heap.pop();
    }
    return undefined;
  }

  /** Takes the earliest entry out. */
  shift(): Due | undefined {
    const due = this.first();
    if (due === undefined) return undefined;
    this.#heap.pop();
    this.#byKey.delete(due.key);
    return due;
  }

  /** Whether an entry is in the store as it was; when it has been changed, that is what counts from now on. */
  async isCurrent(due: Due): Promise<boolean> {
    const entry = await this.#store.entry(due.key);
    if (entry?.version === due.version) return true;
    if (entry !== undefined && !this.#isTaken(entry)) this.add(entry);
    return false;
  }

  /** Others may have written entries: takes in those that it does not know. */
  async look(keys: readonly string[]): Promise<void> {
    const unknown = keys.filter((key) => !this.#byKey.has(key));
    for (const entry of await Promise.all(unknown.map((key) => this.#store.entry(key))))
      if (entry !== undefined && !this.#isTaken(entry)) this.add(entry);
  }

  /** An entry has been written. */
  add(due: Due): void {
    this.#meanwhile?.arrived.set(due.key, due);
    if (this.#isWithin(due)) this.#keep(due);
    if (this.#byKey.size > this.#page.entries * HIGH) this.#shrink();
  }

  /** An entry has been removed. */
  remove(key: string): void {
    this.#meanwhile?.arrived.delete(key);
    this.#meanwhile?.gone.add(key);
    this.#byKey.delete(key);
    // Those that were removed before their time must not add up.
    if (this.#heap.size > 2 * this.#byKey.size + this.#page.entries) this.#heap.reset(this.#byKey.values());
  }

  /** Forgets everything, to be read anew. */
  reset(): void {
    this.#epoch++;
    this.#byKey.clear();
    this.#heap.reset();
    this.#frontier = undefined;
    this.#isWhole = false;
  }

  /** Reads the next entries behind the frontier. */
  async read(): Promise<void> {
    if (this.#isWhole) return;
    const epoch = this.#epoch;
    const meanwhile: Meanwhile = { arrived: new Map(), gone: new Set() };
    this.#meanwhile = meanwhile;
    try {
      const { dues, isLast } = await this.#store.readDue(this.#frontier, this.#page.entries, this.#page.bytes);
      if (epoch !== this.#epoch) return;
      this.#frontier = dues.at(-1)?.key ?? this.#frontier;
      this.#isWhole = isLast;
      for (const due of dues) if (!meanwhile.gone.has(due.key) && !this.#isTaken(due)) this.#keep(due);
      for (const due of meanwhile.arrived.values()) if (this.#isWithin(due) && !this.#isTaken(due)) this.#keep(due);
    } finally {
      this.#meanwhile = undefined;
    }
  }

  #isWithin(due: Due): boolean {
    return this.#isWhole || (this.#frontier !== undefined && compareKeys(due.key, this.#frontier) <= 0);
  }

  #keep(due: Due): void {
    this.#byKey.set(due.key, due);
    this.#heap.push(due);
  }

  /** Keeps the earliest quarter. */
  #shrink(): void {
    this.#epoch++;
    const kept = [...this.#byKey.values()]
      .sort((a, b) => a.at - b.at || compareKeys(a.key, b.key))
      .slice(0, this.#page.entries);
    this.#byKey.clear();
    for (const due of kept) this.#byKey.set(due.key, due);
    this.#heap.reset(kept);
    this.#frontier = kept.at(-1)?.key;
    this.#isWhole = false;
  }
}
