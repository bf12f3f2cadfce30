import type { StoredJob } from '../job.ts';
import type { PlannedJob } from './if-exists.ts';
import { firstInstantOf, isKeptFailure, pausedInstantOf } from './transition.ts';

/** A job in the store. */
export interface StoredEntry {
  readonly job: StoredJob;
  /** When it is due. */
  readonly at: number;
  readonly version: number;
}

/** The job when it is paused; `undefined` if it is already, or has no runs left. A run that was asked for still comes. */
export function pausedJob({ job, at, version }: StoredEntry): PlannedJob | undefined {
  const { heldTickAt, basis = version } = job;
  if (job.resumeAt !== undefined || job.ended) return undefined;
  if (heldTickAt === undefined) return { job: { ...job, resumeAt: at, basis }, at: pausedInstantOf(job) };
  return { job: { ...job, resumeAt: firstInstantOf({ ...job, tickAt: heldTickAt }), basis }, at };
}

/** The job when it is resumed; `undefined` if it is not paused. Missed ticks make one run, as after a stop. */
export function resumedJob({ job, at, version }: StoredEntry): PlannedJob | undefined {
  const { resumeAt, basis = version } = job;
  if (resumeAt === undefined) return undefined;
  return { job: { ...job, resumeAt: undefined, basis }, at: job.heldTickAt === undefined ? resumeAt : at };
}

/**
 * The job when it is to run now: a run that has failed is retried now, a job that has failed for good runs anew, else one
 * more run is made.
 */
export function askedJob({ job }: StoredEntry, now: number): PlannedJob {
  if (isKeptFailure(job))
    return { job: { ...job, ended: false, expiresAt: undefined, tickAt: now, basis: undefined }, at: now };
  const { heldTickAt = job.tickAt } = job;
  if (job.failures > 0) return { job: { ...job, heldTickAt, basis: undefined }, at: now };
  return { job: { ...job, heldTickAt, tickAt: now, coveredTo: undefined, basis: undefined }, at: now };
}

/** The job during an attempt that counts as a crash unless it ends. */
export function begunJob(job: StoredJob): StoredJob {
  return { ...job, crashes: job.crashes + 1, isBegun: true };
}

/** The job without the attempt that it counts, before an orderly end of the process; `undefined` if it counts none. */
export function uncountedJob({ job, at, version }: StoredEntry): PlannedJob | undefined {
  const { basis = version } = job;
  return job.isBegun ? { job: { ...job, crashes: job.crashes - 1, isBegun: false, basis }, at } : undefined;
}

/** Whether an entry is another one that was only paused, resumed or updated since: a run that began with the other ends with it. */
export function isContinued(of: StoredEntry, by: StoredEntry): boolean {
  const { basis } = by.job;
  return basis !== undefined && (basis === of.version || basis === of.job.basis);
}
