import type { JobOutcome, StoredJob } from '../../../timed/job.ts';
import { retryInfoOfPolicy } from '../../../timed/planning/policy.ts';
import type { RetryInfo } from '../../../util/retry-options.ts';
import { tickNameOf } from './reminder-name.ts';

/** A reminder without its data: its options as they were set, and its progress. @public */
export interface ActorReminderInfo {
  /** The type of its actor. */
  readonly actorType: string;
  /** The ID of its actor. */
  readonly actorId: string;
  /** Its name. */
  readonly name: string;
  /** As set. */
  readonly dueTime?: string;
  /** As set. */
  readonly period?: string;
  /** How many calls there are in all; not the number of those left. */
  readonly repeats?: number;
  /** As set. */
  readonly ttl?: string;
  /** The retries of a call; absent if they were not set. */
  readonly retry?: RetryInfo;
  /** When it is due next or retried, in milliseconds since 1970; in the past while it waits or runs. */
  readonly nextRunAt: number;
  /** How many of its calls have ended, whatever their outcome; without those that were asked for. */
  readonly runs: number;
  /** How its last attempt ended; absent before that. */
  readonly lastRun?: JobOutcome;
}

/** A reminder. @public */
export interface ActorReminder<T = unknown> extends ActorReminderInfo {
  /** As set; absent if it has none. */
  readonly data?: T;
}

/** A reminder as it is shown. */
export function reminderInfo(job: StoredJob, nextRunAt: number): ActorReminderInfo {
  const { name, dueTime, schedule: period, repeats, ttl, policy, runs, lastRun } = job;
  return {
    ...tickNameOf(name),
    ...(dueTime === undefined ? undefined : { dueTime }),
    ...(period === undefined ? undefined : { period }),
    ...(repeats === undefined ? undefined : { repeats }),
    ...(ttl === undefined ? undefined : { ttl }),
    ...(policy === undefined ? undefined : { retry: retryInfoOfPolicy(policy) }),
    ...{ nextRunAt, runs },
    ...(lastRun === undefined ? undefined : { lastRun }),
  };
}

/** A reminder with its data, which are JSON text. */
export function reminderWithData(info: ActorReminderInfo, data: string | undefined): ActorReminder {
  return data === undefined ? info : { ...info, data: JSON.parse(data) as unknown };
}
