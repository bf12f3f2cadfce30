import type { Due } from '../../../timed/running/stored-jobs.ts';
import type { Logger } from '../../../util/logger.ts';
import { Tally } from '../../../util/tally.ts';

/** A job that was due without a handler, and the number of its runs affected. */
export interface UnhandledJob {
  readonly name: string;
  readonly count: number;
}

/** Max jobs tracked by name; others are not counted. */
const MAX_JOBS = 1_000;

/** Counts runs without a handler by job, and warns once per job. The runs wait; none is lost. */
export class UnhandledJobs {
  readonly #logger: Logger;
  readonly #jobs: Tally<{ readonly name: string; readonly version: number }>;

  constructor(logger: Logger) {
    this.#logger = logger;
    const onFull = (): void =>
      logger.warn({ jobs: MAX_JOBS }, 'more jobs that nobody handles are not warned of and not counted');
    this.#jobs = new Tally({ limit: MAX_JOBS, onFull });
  }

  /** The scheduler skipped the entry, perhaps repeatedly. */
  add({ version, job: { name } }: Due): void {
    if (this.#jobs.get(name)?.version === version) return;
    this.#jobs.add(name, { name, version }, 1, () =>
      this.#logger.warn(
        { job: name },
        'a job is due and nobody handles it: it waits. Register a function (defineJob) or set the option app (--app-port of the command); delete the job if it is not wanted any more',
      ),
    );
  }

  list(): readonly UnhandledJob[] {
    return this.#jobs.list().map(({ name, count }) => ({ name, count }));
  }
}
