import { messageOf } from '../../errors.ts';
import { formatInstant } from '../../util/duration.ts';
import type { JobFields, StoredJob } from '../job.ts';
import { isDuration, parsePointInTime } from './instants.ts';
import { policyProblem } from './policy.ts';
import { isZeroInterval, type Schedule } from './schedule.ts';
import type { Schedules } from './schedule-cache.ts';

/** Six fields with all their values and a zone are shorter. */
const MAX_SCHEDULE_LENGTH = 1_000;

/** The errors of planning. */
export interface PlanErrors {
  /** For a job with neither schedule nor due time. */
  scheduleEmpty(): Error;
  /** For a job that can never run as it was set. */
  invalidTimes(problem: string, field: 'schedule' | 'repeats' | 'dueTime' | 'ttl' | 'retry', cause?: unknown): Error;
}

/** How the times of a job are read. */
export interface TimeRules {
  /** A `ttl` that is a duration counts from `dueTime`, if there is one; else from the creation. */
  readonly ttlFromDueTime: boolean;
  /** A job with a `dueTime` in the past has missed its ticks since then; else it begins now. */
  readonly keepsPastDueTime: boolean;
  /** `@every 0s` with `repeats` means so many runs at once; else it is refused. */
  readonly zeroIntervalIsNow: boolean;
}

/** The inputs of planning, besides the job. */
export interface PlanRules {
  readonly schedules: Schedules;
  readonly times: TimeRules;
  readonly errors: PlanErrors;
}

/**
 * Decides when a new job runs first and when it ends.
 *
 * @throws SidecarError of status 400 for what has no meaning.
 */
export function planJob(name: string, fields: JobFields, now: number, rules: PlanRules): StoredJob {
  const { schedule: scheduleText, dueTime, ttl, repeats, failurePolicy } = fields;
  const { errors } = rules;
  if (scheduleText === undefined && dueTime === undefined) throw errors.scheduleEmpty();
  const schedule = scheduleText === undefined ? undefined : readSchedule(scheduleText, repeats, rules);
  if (schedule === undefined) refuseWithoutSchedule(fields, errors);
  checkPolicy(fields, errors);
  const dueAt = dueTime === undefined ? undefined : readInstant('dueTime', dueTime, now, errors);
  // A past due time that is not kept counts as now: one run at once, then the schedule from now on.
  const startAt = dueAt === undefined || (dueAt < now && !rules.times.keepsPastDueTime) ? now : dueAt;
  const nextAt = schedule?.next(startAt, startAt);
  if (schedule !== undefined && nextAt === undefined)
    throw errors.invalidTimes(`schedule ${JSON.stringify(scheduleText)} never comes due`, 'schedule');
  const base = rules.times.ttlFromDueTime ? (dueAt ?? now) : now;
  const expiresAt = ttl === undefined ? undefined : readInstant('ttl', ttl, base, errors);
  if (expiresAt !== undefined && dueAt !== undefined) checkOrder(fields, expiresAt, dueAt, rules);
  const startsAtOnce = dueAt !== undefined || (scheduleText !== undefined && isZeroInterval(scheduleText));
  const tickAt = startsAtOnce ? startAt : (nextAt ?? startAt);
  return {
    name,
    schedule: scheduleText,
    dueTime,
    ttl,
    repeats,
    policy: failurePolicy,
    data: fields.data,
    dataId: undefined,
    anchorAt: startAt,
    expiresAt,
    tickAt,
    failures: 0,
    crashes: 0,
    isBegun: false,
    coveredTo: undefined,
    runs: 0,
    ended: expiresAt !== undefined && tickAt > expiresAt,
    lastRun: undefined,
    resumeAt: undefined,
    heldTickAt: undefined,
    basis: undefined,
    trace: undefined,
  };
}

/** Applies to new jobs only: earlier releases have stored longer schedules. */
function readSchedule(text: string, repeats: number | undefined, { schedules, errors, times }: PlanRules): Schedule {
  if (text.length > MAX_SCHEDULE_LENGTH)
    throw errors.invalidTimes(
      `schedule has ${text.length} characters: expected at most ${MAX_SCHEDULE_LENGTH}`,
      'schedule',
    );
  try {
    // Without an end, an interval of zero would never rest.
    return times.zeroIntervalIsNow && repeats !== undefined ? schedules.getStored(text) : schedules.get(text);
  } catch (error) {
    throw errors.invalidTimes(`schedule ${JSON.stringify(text)}: ${messageOf(error)}`, 'schedule', error);
  }
}

function refuseWithoutSchedule({ repeats, ttl }: JobFields, errors: PlanErrors): void {
  if (repeats !== undefined && repeats > 1)
    throw errors.invalidTimes(`repeats is ${repeats} without a schedule: expected 1, or a schedule`, 'repeats');
  if (ttl !== undefined)
    throw errors.invalidTimes(`ttl ${JSON.stringify(ttl)} without a schedule: expected a schedule`, 'ttl');
}

function checkPolicy({ failurePolicy }: JobFields, errors: PlanErrors): void {
  const problem = policyProblem(failurePolicy);
  if (problem !== undefined) throw errors.invalidTimes(problem, 'retry');
}

function readInstant(field: 'dueTime' | 'ttl', text: string, base: number, errors: PlanErrors): number {
  const at = parsePointInTime(text, base);
  if (at !== undefined) return at;
  const expected =
    'an instant in RFC 3339, a Go duration such as 1h30m, or an ISO 8601 duration such as P1D; in the years 0 to 9999';
  throw errors.invalidTimes(`${field} ${JSON.stringify(text)} cannot be read: expected ${expected}`, field);
}

function checkOrder({ ttl = '', dueTime = '' }: JobFields, expiresAt: number, dueAt: number, rules: PlanRules): void {
  if (expiresAt > dueAt) return;
  // A ttl of zero from the due time expires at the due time.
  if (rules.times.ttlFromDueTime && isDuration(ttl) && expiresAt === dueAt) return;
  const [end, due] = [formatInstant(expiresAt), formatInstant(dueAt)];
  throw rules.errors.invalidTimes(
    `ttl ${JSON.stringify(ttl)} ends at ${end}: expected after dueTime ${JSON.stringify(dueTime)}, which is ${due}`,
    'ttl',
  );
}
