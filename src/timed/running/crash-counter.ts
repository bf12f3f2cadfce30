import type { OwnedChange, OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import { crashReason, isSuspect } from '../../util/crashes.ts';
import { begunJob, isContinued, uncountedJob } from '../planning/control.ts';
import type { JobOffers } from './job-offers.ts';
import type { JobStore } from './job-store.ts';
import type { RunRules } from './run-rules.ts';
import type { Due } from './stored-jobs.ts';
import type { AttemptOutcome } from './target.ts';

/** The dependencies of a {@link CrashCounter}. */
export interface CrashCounterDeps extends Pick<RunRules, 'clock' | 'logger' | 'work' | 'maxCrashes'> {
  readonly store: JobStore;
  readonly owned: OwnedShards;
  readonly offers?: JobOffers | undefined;
}

/**
 * Counts how often the process ends while a job runs.
 *
 * Only runs that another process may have begun are recorded before they begin: those of the jobs that were due when
 * this host began to own them, and of jobs with a count. All others cost nothing: if one of them ends the process, the
 * next process finds it due. Jobs that were under way together are all counted. So after two crashes they run one after
 * the other, and only the one that ends the process reaches the limit.
 */
export class CrashCounter {
  readonly #deps: CrashCounterDeps;
  /** When this host began to run the jobs of its shards; some have been gained since. */
  #ownedSince = 0;
  readonly #gainedAt = new Map<OwnedShard, number>();
  /** The attempts under way that are recorded, by job. */
  readonly #recorded = new Map<string, Due>();
  /** The suspect that runs, and the keys of those that wait for its end. */
  #suspect: string | undefined;
  readonly #waiting = new Set<string>();

  constructor(deps: CrashCounterDeps) {
    this.#deps = deps;
  }

  /** This host begins to run jobs. */
  start(): void {
    this.#ownedSince = this.#deps.clock.now();
  }

  /** Shards came or went. Attempts in shards that go end in order. */
  onChange({ gained, kept, lost }: OwnedChange): void {
    const now = this.#deps.clock.now();
    for (const shard of gained) if (!kept.has(shard)) this.#gainedAt.set(shard, now);
    void this.uncount(lost);
  }

  /** Whether the begin of a run has to be recorded. */
  isCareful({ job, at, isFound }: Due): boolean {
    if (this.#deps.maxCrashes === 0) return false;
    if (job.crashes > 0) return true;
    if (isFound !== true) return false;
    const { owned, offers } = this.#deps;
    return at <= (offers?.takenAt(job.name) ?? this.#gainedAt.get(owned.of(job.name)) ?? this.#ownedSince);
  }

  /** Whether a job may run now. A suspect that may not is read again when the one that runs has ended. */
  admits({ key, job }: Due): boolean {
    const { maxCrashes } = this.#deps;
    if (maxCrashes === 0 || !isSuspect(job.crashes, maxCrashes) || this.#hasReached(job)) return true;
    if (this.#suspect === undefined) this.#suspect = key;
    else this.#waiting.add(key);
    return this.#suspect === key;
  }

  /** Whether an entry waits for the end of another suspect. */
  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** The handling of a job has ended. Returns the keys of those that may run now. */
  onHandled(key: string): readonly string[] {
    if (this.#suspect !== key) return [];
    this.#suspect = undefined;
    const free = [...this.#waiting];
    this.#waiting.clear();
    return free;
  }

  /** The outcome of an attempt that is not made again, since the process has ended during it too often. */
  verdict({ job }: Due): (AttemptOutcome & { readonly kind: 'failed' }) | undefined {
    return this.#hasReached(job) ? { kind: 'failed', reason: crashReason(job.crashes) } : undefined;
  }

  #hasReached({ isBegun, crashes }: Due['job']): boolean {
    const { maxCrashes } = this.#deps;
    return maxCrashes > 0 && isBegun && crashes >= maxCrashes;
  }

  /** Records that an attempt begins; returns the new entry. @throws ConflictError if the entry is not the current one. */
  async begin(due: Due): Promise<Due> {
    const { store, logger } = this.#deps;
    const { name, isBegun, crashes, failures } = due.job;
    if (isBegun)
      logger.warn(
        { job: name, attempt: failures + 1, crashes },
        'a job runs again: the process ended during its last run',
      );
    const begun = await store.advance(due, begunJob(due.job), due.at);
    this.#recorded.set(name, begun);
    return begun;
  }

  /** An attempt has ended. */
  onEnd({ job }: Due): void {
    this.#recorded.delete(job.name);
  }

  /**
   * Attempts that were recorded are no crashes, whatever comes: the process is about to end in order, hands shards over,
   * or the attempt was not made after all. Without shards: all attempts.
   */
  async uncount(shards?: ReadonlySet<OwnedShard>): Promise<void> {
    const { owned } = this.#deps;
    const attempts = [...this.#recorded.values()].filter(({ job }) => shards?.has(owned.of(job.name)) ?? true);
    await Promise.all(attempts.map((due) => this.uncountOne(due)));
  }

  async uncountOne(due: Due): Promise<void> {
    const { store, work, logger } = this.#deps;
    const { name } = due.job;
    if (this.#recorded.get(name) !== due) return;
    this.#recorded.delete(name);
    const done = work.begin(`end of the watch over job ${name}`);
    const isSame = (present: Due): boolean => present.version === due.version || isContinued(due, present);
    try {
      await store.change(name, (present) => (isSame(present) ? uncountedJob(present) : undefined));
    } catch (error) {
      logger.debug({ job: name, error }, 'an end in order could not be recorded: it may count as a crash');
    } finally {
      done();
    }
  }
}
