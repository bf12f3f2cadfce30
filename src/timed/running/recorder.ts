import { isConflictError } from '../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import type { StoredJob } from '../job.ts';
import { isContinued } from '../planning/control.ts';
import type { Next } from '../planning/transition.ts';
import type { JobOwners } from './attempt.ts';
import type { JobStore } from './job-store.ts';
import type { RunRules } from './run-rules.ts';
import type { Due } from './stored-jobs.ts';

/** Backoff after a failed write. */
const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };

/** The dependencies of a {@link RunRecorder}. */
export interface RunRecorderDeps extends Pick<RunRules, 'clock' | 'logger' | 'random'> {
  readonly store: JobStore;
  readonly owners: JobOwners;
  readonly stopRequested: AbortSignal;
  /** An entry was replaced by the next one, or by none. */
  readonly onRecorded: (due: Due, following: Due | undefined) => void;
  /** Another host owns the job now: it repeats the run. */
  readonly onLost: (due: Due) => void;
  /** An entry is not in the store any more, but a write of which it is uncertain may have put another there. */
  readonly onUncertain: (due: Due) => void;
  readonly onReadFailure: (error: unknown) => void;
}

/** Records how runs end. */
export class RunRecorder {
  readonly #deps: RunRecorderDeps;

  constructor(deps: RunRecorderDeps) {
    this.#deps = deps;
  }

  /**
   * Records what follows; retries until written or obsolete. Returns what was written. `mayBeWritten`: a commit that
   * has failed may have recorded it.
   */
  async record(due: Due, nextOf: (job: StoredJob) => Next, mayBeWritten = false): Promise<Next | undefined> {
    const { owners, stopRequested, onLost } = this.#deps;
    let tries = 1;
    for (let current: Due | undefined = due; current !== undefined; ) {
      const next = nextOf(current.job);
      try {
        await this.#write(current, next);
        return next;
      } catch (error) {
        if (owners.isFenced(error)) return void onLost(due);
        if (isConflictError(error)) current = await this.#continued(current, mayBeWritten || tries > 1);
        else {
          await this.#afterFailure(error, due, tries++);
          if (stopRequested.aborted) return undefined;
        }
      }
    }
    return undefined;
  }

  async #write(due: Due, next: Next): Promise<void> {
    const { store, onRecorded } = this.#deps;
    onRecorded(due, await store.end(due, next));
  }

  /** The entry of a job that was paused, resumed or updated during its run; `undefined` if it was replaced or removed. */
  async #continued(due: Due, mayBeWritten: boolean): Promise<Due | undefined> {
    const { store, onUncertain, onReadFailure } = this.#deps;
    try {
      const present = await continuationOf(due, store);
      if (present !== undefined) return present;
      // An earlier try that failed may have committed.
      if (mayBeWritten) onUncertain(due);
    } catch (error) {
      onReadFailure(error);
    }
    return undefined;
  }

  async #afterFailure(error: unknown, { job }: Due, tries: number): Promise<void> {
    const { stopRequested, logger, clock, random } = this.#deps;
    if (stopRequested.aborted) return;
    logger.error({ job: job.name, error }, 'the end of a run could not be recorded: will be tried again');
    await sleep(clock, backoffDelayMs(BACKOFF, tries, random), stopRequested).catch(() => undefined);
  }
}

/** The entry of a job as it is now, if it was only paused, resumed or updated since. */
export async function continuationOf(due: Due, { stored }: JobStore): Promise<Due | undefined> {
  const present = (await stored.find(due.job.name))?.due;
  return present !== undefined && isContinued(due, present) ? present : undefined;
}
