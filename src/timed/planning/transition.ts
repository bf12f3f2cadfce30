import { shortened } from '../../errors.ts';
import { backoffDelayMs } from '../../util/backoff.ts';
import { LAST_INSTANT } from '../../util/clock.ts';
import { isHopeless } from '../../util/crashes.ts';
import type { JobOutcome, StoredJob } from '../job.ts';
import { retriesOf } from './policy.ts';
import type { Schedule } from './schedule.ts';

/** How an attempt ended; `crashed`: with the process, once too often. */
export type AttemptStatus = 'done' | 'failed' | 'crashed';

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
  readonly outcome: AttemptStatus;
  /** Why it failed. */
  readonly reason?: string;
  /** Whether it has failed for good, whatever the policy says. */
  readonly isFinal: boolean;
  readonly startedAt: number;
  readonly now: number;
  /** The job's schedule, if it has one. */
  readonly schedule: Schedule | undefined;
  /** Missed ticks run one by one, not as a single run. */
  readonly everyTick: boolean;
  readonly maxCrashes: number;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  /** How long a job that runs once is kept after it has failed for good, in milliseconds; 0 for not at all. */
  readonly keepFailedMs: number;
}

/** The maximum length of a stored reason. */
const MAX_REASON_LENGTH = 300;

/** Decides what follows an attempt. Pure: this, `planJob` and the changes in `control.ts` define the life of a job. */
export function afterAttempt(job: StoredJob, end: AttemptEnd): Next {
  const next = following(withCrashes(job, end), end);
  if (next.kind === 'gone') return next;
  const held = next.job.resumeAt !== undefined && next.job.heldTickAt === undefined;
  const after = { ...next.job, lastRun: outcomeOf(job, end, next), basis: undefined };
  if (!held) return { kind: next.kind, job: after, at: next.at };
  return { kind: next.kind, job: { ...after, resumeAt: next.at }, at: pausedInstantOf(job) };
}

/** An attempt that ends by itself ends the count of crashes. After a crash, the next attempt is counted when it begins. */
function withCrashes(job: StoredJob, { outcome }: AttemptEnd): StoredJob {
  if (outcome === 'crashed') return { ...job, isBegun: false };
  return job.crashes === 0 ? job : { ...job, crashes: 0, isBegun: false };
}

function outcomeOf(job: StoredJob, { outcome, reason = '', startedAt, now }: AttemptEnd, next: Next): JobOutcome {
  const end = { endedAt: now, attempt: job.failures + 1, durationMs: Math.max(0, now - startedAt) };
  if (outcome === 'done') return { ...end, outcome };
  const failed = next.kind === 'retry' ? 'retrying' : isDropped(job) ? 'dropped' : 'failed';
  return { ...end, outcome: failed, reason: shortened(reason, MAX_REASON_LENGTH) };
}

function following(job: StoredJob, end: AttemptEnd): Next {
  const coveredTo = job.coveredTo ?? end.startedAt;
  // Set if the run was asked for: an additional run, or an earlier attempt of a run that has failed.
  const heldTickAt = job.heldTickAt === job.tickAt ? undefined : job.heldTickAt;
  if (end.outcome !== 'done' && !isFinal(job, end)) {
    const retries = retriesOf(job.policy);
    // Whole, as all instants of entries: the clock of a test may stand between two milliseconds.
    const at = Math.ceil(end.now + backoffDelayMs(retries, job.failures + 1, end.random));
    if (job.failures < retries.maxRetries && !isAfterExpiry(job, at))
      return { kind: 'retry', job: { ...job, failures: job.failures + 1, coveredTo, heldTickAt }, at };
  }
  if (heldTickAt === undefined) return afterRun({ ...job, heldTickAt }, end, coveredTo);
  const back = { ...job, tickAt: heldTickAt, failures: 0, coveredTo: undefined, heldTickAt: undefined };
  return { kind: 'next', job: back, at: firstInstantOf(back) };
}

function isFinal({ crashes }: StoredJob, end: AttemptEnd): boolean {
  return end.isFinal || (end.outcome === 'crashed' && isHopeless(crashes, end.maxCrashes));
}

/** Whether its policy is to drop it when a run fails. */
function isDropped({ policy }: StoredJob): boolean {
  return policy !== undefined && 'drop' in policy;
}

function isAfterExpiry({ expiresAt }: StoredJob, at: number): boolean {
  return expiresAt !== undefined && at > expiresAt;
}

function afterRun(job: StoredJob, end: AttemptEnd, coveredTo: number): Next {
  const { schedule, everyTick, now } = end;
  const runs = job.runs + 1;
  if (isKeptBy(job, end)) return kept({ ...job, runs }, now + end.keepFailedMs);
  if (schedule === undefined || (job.repeats !== undefined && runs >= job.repeats))
    return { kind: 'gone', reason: 'finished' };
  // The run covers ticks up to its begin; later ones are still due.
  const after = everyTick ? job.tickAt : Math.max(job.tickAt, coveredTo);
  const tickAt = schedule.next(after, job.anchorAt);
  if (tickAt === undefined) return { kind: 'gone', reason: 'finished' };
  const waiting: StoredJob = { ...job, tickAt, failures: 0, coveredTo: undefined, runs };
  if (job.expiresAt === undefined || tickAt <= job.expiresAt) return { kind: 'next', job: waiting, at: tickAt };
  if (now > job.expiresAt) return { kind: 'gone', reason: 'expired' };
  return { kind: 'next', job: { ...waiting, ended: true }, at: firstInstantOf(waiting) };
}

/** Its data would be lost, where those of a recurring job come again with the next run. */
function isKeptBy(job: StoredJob, { outcome, schedule, keepFailedMs }: AttemptEnd): boolean {
  return outcome !== 'done' && schedule === undefined && keepFailedMs > 0 && !isDropped(job);
}

/** The job without a run to make, until it expires. */
function kept(job: StoredJob, until: number): Next {
  const expiresAt = Math.min(Math.ceil(until), LAST_INSTANT - 1);
  const ended = { ...job, ended: true, expiresAt, failures: 0, coveredTo: undefined, resumeAt: undefined };
  return { kind: 'next', job: ended, at: expiresAt + 1 };
}

/** Whether a job that runs once has failed for good, and is kept with its data. */
export function isKeptFailure({ ended, schedule }: StoredJob): boolean {
  return ended && schedule === undefined;
}

/** The first instant of a new job: its first run, or its expiry if that is earlier. */
export function firstInstantOf({ tickAt, expiresAt }: StoredJob): number {
  return expiresAt === undefined || tickAt <= expiresAt ? tickAt : expiresAt + 1;
}

/** The instant of a paused job's entry: its expiry, as nothing else can happen to it. */
export function pausedInstantOf({ expiresAt }: StoredJob): number {
  return expiresAt === undefined ? LAST_INSTANT : expiresAt + 1;
}

/** Whether a job has had its last run, or is paused, and its time is over. */
export function isExpired(job: StoredJob, now: number): boolean {
  return isAtRest(job) && job.expiresAt !== undefined && now > job.expiresAt;
}

/** Whether a job has no run to make: if its entry is due nevertheless, it has expired. */
export function isAtRest({ ended, resumeAt, heldTickAt }: StoredJob): boolean {
  return (ended || resumeAt !== undefined) && heldTickAt === undefined;
}
