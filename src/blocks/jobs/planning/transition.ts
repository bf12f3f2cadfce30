import type { StoredJob } from '../model/job.ts';
import { retriesOf } from './policy.ts';
import type { Schedule } from './schedule.ts';

/** How an attempt ended. */
export type Attempt = 'done' | 'failed';

/** The transition after an attempt. */
export type Next =
  /** Try again at an instant. */
  | { readonly kind: 'retry'; readonly job: StoredJob; readonly at: number }
  /** The run has ended; the job waits for its next run or its expiry. */
  | { readonly kind: 'next'; readonly job: StoredJob; readonly at: number }
  /** The run and the job have ended. */
  | { readonly kind: 'gone'; readonly reason: 'finished' | 'expired' };

/** An attempt, and the inputs of the decision. */
export interface AttemptEnd {
  readonly outcome: Attempt;
  readonly startedAt: number;
  readonly now: number;
  /** The job's schedule, if it has one. */
  readonly schedule: Schedule | undefined;
  /** Missed ticks run one by one, not as a single run. */
  readonly everyTick: boolean;
}

/** Decides what follows an attempt. Pure: this and `planJob` define the life of a job. */
export function afterAttempt(job: StoredJob, end: AttemptEnd): Next {
  const coveredTo = job.coveredTo ?? end.startedAt;
  if (end.outcome === 'failed') {
    const { maxRetries, intervalMs } = retriesOf(job.policy);
    const at = end.now + intervalMs;
    if (job.failures < maxRetries && !isAfterExpiry(job, at))
      return { kind: 'retry', job: { ...job, failures: job.failures + 1, coveredTo }, at };
  }
  return afterRun(job, end, coveredTo);
}

function isAfterExpiry({ expiresAt }: StoredJob, at: number): boolean {
  return expiresAt !== undefined && at > expiresAt;
}

function afterRun(job: StoredJob, { schedule, everyTick, now }: AttemptEnd, coveredTo: number): Next {
  const runs = job.runs + 1;
  if (schedule === undefined || (job.repeats !== undefined && runs >= job.repeats))
    return { kind: 'gone', reason: 'finished' };
  // The run covers ticks up to its begin; later ones are still due.
  const after = everyTick ? job.tickAt : Math.max(job.tickAt, coveredTo);
  const tickAt = schedule.next(after, job.anchorAt);
  if (tickAt === undefined) return { kind: 'gone', reason: 'finished' };
  const following: StoredJob = { ...job, tickAt, failures: 0, coveredTo: undefined, runs };
  if (job.expiresAt === undefined || tickAt <= job.expiresAt) return { kind: 'next', job: following, at: tickAt };
  if (now > job.expiresAt) return { kind: 'gone', reason: 'expired' };
  return { kind: 'next', job: { ...following, ended: true }, at: firstInstantOf(following) };
}

/** The first instant of a new job: its first run, or its expiry if that is earlier. */
export function firstInstantOf({ tickAt, expiresAt }: StoredJob): number {
  return expiresAt === undefined || tickAt <= expiresAt ? tickAt : expiresAt + 1;
}
