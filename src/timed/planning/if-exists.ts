import { isDeepStrictEqual } from 'node:util';
import type { IfJobExists, StoredJob } from '../job.ts';
import { pausedInstantOf } from './transition.ts';

/** A job to be written, with all its data, and when there is something to do for it. */
export interface PlannedJob {
  readonly job: StoredJob;
  readonly at: number;
}

/** A job that has the name of one that is to be written. */
export interface PresentJob extends PlannedJob {
  /** Its data as JSON text; `undefined` when it has none. */
  readonly data: string | undefined;
  readonly version: number;
}

/** The replacement of an existing job; `undefined` to leave it as it is. */
export function replacementOf(planned: PlannedJob, present: PresentJob, ifExists: IfJobExists): PlannedJob | undefined {
  switch (ifExists) {
    case 'fail':
    case 'keep':
      return undefined;
    case 'replace':
      return planned;
    case 'update':
      return updateOf(planned, present);
  }
}

/**
 * Compares the options as they were set: values that follow from them, such as the next instant, differ in every process.
 * An update with the same times keeps the next run: an interval that restarted with every deploy might never end. A
 * paused job stays paused.
 */
function updateOf(planned: PlannedJob, present: PresentJob): PlannedJob | undefined {
  const { job } = planned;
  if (!hasSameTimes(job, present.job)) return present.job.resumeAt === undefined ? planned : pausedFrom(planned);
  if (isDeepStrictEqual(job.policy, present.job.policy) && isSameJson(job.data, present.data)) return undefined;
  // A run that is under way ends with it.
  const { basis = present.version } = present.job;
  return { job: { ...present.job, policy: job.policy, data: job.data, dataId: undefined, basis }, at: present.at };
}

function pausedFrom({ job, at }: PlannedJob): PlannedJob {
  return { job: { ...job, resumeAt: at }, at: pausedInstantOf(job) };
}

function hasSameTimes(one: StoredJob, other: StoredJob): boolean {
  return (
    one.schedule === other.schedule &&
    one.dueTime === other.dueTime &&
    one.repeats === other.repeats &&
    one.ttl === other.ttl
  );
}

/** The order of keys and white space make no difference. */
function isSameJson(one: string | undefined, other: string | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}
