import type { StoredJob } from '../job.ts';
import type { Next } from '../planning/transition.ts';
import type { JobStore, Prepared } from './job-store.ts';
import { continuationOf } from './recorder.ts';
import type { Due } from './stored-jobs.ts';

/** An end of an attempt that was recorded. */
export interface RecordedEnd {
  /** The entry that it has replaced. */
  readonly due: Due;
  readonly next: Next;
  /** The entry of what follows. */
  readonly following: Due | undefined;
}

/** The dependencies of a {@link JointEnd}. */
export interface JointEndDeps {
  readonly store: JobStore;
  /** What follows a success. `isLast`: the job ends with this run. */
  readonly nextOf: (job: StoredJob, isLast: boolean) => Next;
}

/** The successful end of an attempt, which its target commits together with changes of its own. */
export class JointEnd {
  readonly #deps: JointEndDeps;
  readonly #begun: Due;
  #isFirst = true;
  /** What was recorded; `undefined` as long as no commit is known to have done so. */
  recorded: RecordedEnd | undefined;

  constructor(begun: Due, deps: JointEndDeps) {
    this.#begun = begun;
    this.#deps = deps;
  }

  /** Prepares the record; once more after each conflict. `undefined` if the job was replaced or removed meanwhile. */
  async prepare(isLast: boolean): Promise<Prepared<void> | undefined> {
    const { store, nextOf } = this.#deps;
    const due = this.#isFirst ? this.#begun : await continuationOf(this.#begun, store);
    this.#isFirst = false;
    if (due === undefined) return undefined;
    const next = nextOf(due.job, isLast);
    const { written, ...batch } = store.prepareEnd(due, next);
    return {
      ...batch,
      written: (version) => {
        this.recorded = { due, next, following: written(version) };
      },
    };
  }
}
