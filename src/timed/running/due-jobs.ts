import { DueIndex } from '../../kernel/due-index.ts';
import type { PageSize } from '../../state/page.ts';
import type { Clock } from '../../util/clock.ts';
import type { Due, StoredJobs } from './stored-jobs.ts';

const PAGE: PageSize = { limit: 256, maxBytes: 4 * 1024 * 1024 };
/** Limits of one read of the jobs that are due next, and how long its result is used. */
const GLIMPSE: PageSize = { limit: 64, maxBytes: 1024 * 1024 };
const GLIMPSE_MS = 50;

/** Versions of the entries that were due at an instant, by key. */
interface Glimpse {
  readonly at: number;
  readonly versions: Promise<ReadonlyMap<string, number>>;
}

/** The dependencies of {@link DueJobs}. */
export interface DueJobsDeps {
  readonly stored: StoredJobs;
  readonly clock: Clock;
  /** Is called before each read. Default: nothing. */
  readonly prepare?: () => Promise<void>;
  /** Whether to skip an entry: it is being handled, or is not this host's. */
  readonly isTaken: (due: Due) => boolean;
}

/** The jobs that are due next. */
export class DueJobs extends DueIndex<Due> {
  readonly #stored: StoredJobs;
  readonly #clock: Clock;
  #glimpse: Glimpse | undefined;
  readonly #isTaken: (due: Due) => boolean;

  constructor({ stored, clock, prepare, isTaken }: DueJobsDeps, page: PageSize = PAGE) {
    super({
      idOf: ({ key }) => key,
      readAfter: async (position) => {
        await prepare?.();
        return stored.readDue(position?.id, page);
      },
      isWanted: (due) => !isTaken(due),
      pageSize: page.limit,
    });
    this.#stored = stored;
    this.#clock = clock;
    this.#isTaken = isTaken;
  }

  /** Whether an entry is unchanged in the store. If it changed, adds the new version to the index. */
  async isCurrent(due: Due): Promise<boolean> {
    if (await this.#isSeen(due)) return true;
    const entry = await this.#stored.entry(due.key);
    if (entry?.version === due.version) return true;
    if (entry !== undefined && !this.#isTaken(entry)) this.add(entry);
    return false;
  }

  /** Whether a read shared by all due entries shows the entry unchanged. It may be unchanged even if not shown. */
  async #isSeen(due: Due): Promise<boolean> {
    const now = this.#clock.now();
    let asked: Glimpse | undefined;
    // Another read may start during the wait.
    for (let glimpse = this.#glimpse; glimpse !== asked; glimpse = this.#glimpse) {
      if (glimpse === undefined || Math.abs(now - glimpse.at) >= GLIMPSE_MS) break;
      if (await isIn(glimpse, due)) return true;
      asked = glimpse;
    }
    const own = { at: now, versions: this.#stored.versionsFrom(due.key, now, GLIMPSE) };
    this.#glimpse = own;
    return isIn(own, due);
  }

  override reset(): void {
    this.#glimpse = undefined;
    super.reset();
  }

  /** Other hosts may have written or removed entries: reads them, and changes the index accordingly. */
  async rereadEntries(keys: readonly string[]): Promise<void> {
    this.#glimpse = undefined;
    const before = keys.map((key) => this.get(key));
    const found = await Promise.all(keys.map((key) => this.#stored.entry(key)));
    for (const [index, key] of keys.entries()) this.#onReread(key, before[index], found[index]);
  }

  /** An entry was read; `before` is what the index had of it when the read began. */
  #onReread(key: string, before: Due | undefined, entry: Due | undefined): void {
    const present = this.get(key);
    // This host has written it during the read.
    if (present !== undefined && present !== before) return;
    if (entry === undefined) return present && this.remove(key);
    // Gone from the index: already being handled.
    if (entry.version !== before?.version && !this.#isTaken(entry)) this.add(entry);
  }
}

async function isIn({ versions }: Glimpse, { key, version }: Due): Promise<boolean> {
  return (await versions).get(key) === version;
}
