import { DueIndex } from '../../../kernel/due-index.ts';
import type { PageSize } from '../../../state/page.ts';
import type { Due, JobStore } from './job-store.ts';

const PAGE: PageSize = { limit: 256, maxBytes: 4 * 1024 * 1024 };

/** The jobs that are due next. */
export class DueJobs extends DueIndex<Due> {
  readonly #store: JobStore;
  /** Entries that somebody works on: they are left out. */
  readonly #isTaken: (due: Due) => boolean;

  constructor(store: JobStore, isTaken: (due: Due) => boolean, page: PageSize = PAGE) {
    super({
      idOf: ({ key }) => key,
      readAfter: (position) => store.readDue(position?.id, page),
      isWanted: (due) => !isTaken(due),
      pageSize: page.limit,
    });
    this.#store = store;
    this.#isTaken = isTaken;
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
    const unknown = keys.filter((key) => this.get(key) === undefined);
    for (const entry of await Promise.all(unknown.map((key) => this.#store.entry(key))))
      if (entry !== undefined && !this.#isTaken(entry)) this.add(entry);
  }
}
