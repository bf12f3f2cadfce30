import { Heap } from '../../../util/heap.ts';
import type { InstanceStore } from '../storage/instance-store.ts';

interface Entry {
  readonly at: number;
  readonly id: string;
  /** The instance is not in memory. */
  readonly isAsleep: boolean;
}

const PAGE = 1_000;
/** So many entries of instances that are not in memory are the most that is held. */
const HIGH = 8 * PAGE;
const LOW = PAGE / 2;

/**
 * When instances have something to do: those in memory, and of all others the earliest, up to a frontier behind which
 * the store has to be read. However many instances sleep, it holds some thousands of them.
 */
export class Wakeups {
  readonly #store: InstanceStore;
  readonly #byId = new Map<string, Entry>();
  /** May hold entries that count no more: they are skipped. */
  readonly #heap = new Heap<Entry>(({ at }) => at);
  /** The store is known up to here. */
  #frontier: { readonly at: number; readonly id: string } | undefined;
  #isWhole = false;
  /** Those that fell asleep beyond the frontier while the store is read: what is read may be older than they are. */
  #missed: Entry[] | undefined;
  #asleep = 0;
  #epoch = 0;

  constructor(store: InstanceStore) {
    this.#store = store;
  }

  /** Whether the store should be read. */
  get isLow(): boolean {
    return !this.#isWhole && this.#asleep < LOW;
  }

  /** An instance in memory has something to do at an instant, or has nothing to do. */
  set(id: string, at: number | undefined): void {
    const present = this.#byId.get(id);
    if (present !== undefined && present.at === at && !present.isAsleep) return;
    this.delete(id);
    if (at !== undefined) this.#keep({ at, id, isAsleep: false });
  }

  /** An instance is no longer in memory; this is what its entry in the store says. */
  sleep(id: string, at: number | undefined): void {
    this.delete(id);
    if (at === undefined) return;
    const entry = { at, id, isAsleep: true };
    if (!this.#isKnown(at, id)) return void this.#missed?.push(entry);
    this.#keep(entry);
    if (this.#asleep > HIGH) this.#shrink();
  }

  #isKnown(at: number, id: string): boolean {
    if (this.#isWhole) return true;
    const frontier = this.#frontier;
    return frontier !== undefined && (at < frontier.at || (at === frontier.at && id <= frontier.id));
  }

  #keep(entry: Entry): void {
    this.#byId.set(entry.id, entry);
    this.#heap.push(entry);
    if (entry.isAsleep) this.#asleep++;
    if (this.#heap.size > 2 * this.#byId.size + PAGE) this.#heap.reset(this.#byId.values());
  }

  /** Forgets an instance. */
  delete(id: string): void {
    if (this.#byId.get(id)?.isAsleep === true) this.#asleep--;
    this.#byId.delete(id);
  }

  /** The earliest instant. */
  get nextAt(): number | undefined {
    for (let entry = this.#heap.first; entry !== undefined; entry = this.#heap.first) {
      if (this.#byId.get(entry.id) === entry) return entry.at;
      this.#heap.pop();
    }
    return undefined;
  }

  /** Takes the earliest instance that is due. */
  shiftDue(now: number): string | undefined {
    const at = this.nextAt;
    if (at === undefined || at > now) return undefined;
    const id = this.#heap.pop()?.id ?? '';
    this.delete(id);
    return id;
  }

  /** Forgets what is not in memory, to be read anew. */
  reset(): void {
    this.#epoch++;
    for (const { id, isAsleep } of this.#byId.values()) if (isAsleep) this.delete(id);
    this.#frontier = undefined;
    this.#isWhole = false;
  }

  /** Reads the next entries from the store; `isOurs` says which concern this host and are not in memory. */
  async read(isOurs: (id: string) => boolean): Promise<void> {
    if (this.#isWhole) return;
    const epoch = this.#epoch;
    const missed: Entry[] = [];
    this.#missed = missed;
    const entries = await this.#store.dueAfter(this.#frontier, PAGE).finally(() => {
      this.#missed = undefined;
    });
    if (epoch !== this.#epoch) return;
    this.#frontier = entries.at(-1) ?? this.#frontier;
    this.#isWhole = entries.length < PAGE;
    for (const { id, at } of [...entries, ...missed.filter((entry) => this.#isKnown(entry.at, entry.id))])
      if (!this.#byId.has(id) && isOurs(id)) this.#keep({ id, at, isAsleep: true });
  }

  /** Keeps the earliest of those that are not in memory; the rest is read again when its time comes. */
  #shrink(): void {
    this.#epoch++;
    const asleep = [...this.#byId.values()].filter(({ isAsleep }) => isAsleep).sort((a, b) => a.at - b.at);
    const last = asleep[PAGE];
    if (last === undefined) return;
    for (const { id, at } of asleep) if (at >= last.at) this.delete(id);
    this.#frontier = { at: last.at, id: '' };
    this.#isWhole = false;
    this.#heap.reset(this.#byId.values());
  }
}
