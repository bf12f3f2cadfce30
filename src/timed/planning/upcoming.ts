import type { StoredJob } from '../job.ts';
import type { Schedule } from './schedule.ts';

/** A job, and what decides about its runs. */
export interface UpcomingDeps {
  /** When it runs next. */
  readonly nextRunAt: number;
  readonly now: number;
  /** Its schedule, if it has one. */
  readonly schedule: Schedule | undefined;
  /** Missed ticks run one by one, not as a single run. */
  readonly everyTick: boolean;
}

/** The next instants at which a job runs, in order, if nothing fails: at most so many. */
export function upcomingRuns(job: StoredJob, limit: number, deps: UpcomingDeps): readonly number[] {
  const { nextRunAt, now, schedule, everyTick } = deps;
  const { heldTickAt, tickAt, repeats, runs, expiresAt, anchorAt, ended } = job;
  // An additional run, which was asked for: the schedule goes on from the held tick.
  const isAdditional = heldTickAt !== undefined && heldTickAt !== tickAt;
  if (ended && !isAdditional) return [];
  const instants = [nextRunAt];
  let left = ended ? 0 : repeats === undefined ? Number.POSITIVE_INFINITY : repeats - runs;
  if (isAdditional && left > 0) instants.push(heldTickAt);
  const last = isAdditional ? heldTickAt : tickAt;
  let after = everyTick ? last : Math.max(last, nextRunAt, now);
  for (left--; left > 0 && instants.length < limit; left--) {
    const next = schedule?.next(after, anchorAt);
    if (next === undefined) break;
    instants.push(next);
    after = next;
  }
  return instants.filter((at) => expiresAt === undefined || at <= expiresAt).slice(0, limit);
}
