import { messageOf } from '../../../errors.ts';
import type { PolicyFields, StoredJob } from '../../../timed/job.ts';
import type { PlannedJob } from '../../../timed/planning/if-exists.ts';
import { isDuration, parsePointInTime } from '../../../timed/planning/instants.ts';
import { policyProblem } from '../../../timed/planning/policy.ts';
import { firstInstantOf } from '../../../timed/planning/transition.ts';
import { formatInstant, parseInstant } from '../../../util/duration.ts';
import { shown } from '../../../util/shown.ts';
import type { TimerFields } from './fields.ts';
import type { Period, Periods } from './period.ts';

/** Makes the error for a field that cannot be as it was set. */
export type RefuseTick = (problem: string, field: 'dueTime' | 'period' | 'ttl' | 'retry', cause?: unknown) => Error;

/** The inputs of planning, besides the fields. */
export interface PlanTickRules {
  readonly periods: Periods;
  readonly now: number;
  readonly refuse: RefuseTick;
}

/** What is planned: the times, and for a reminder its failure policy. */
type PlannedFields = Omit<TimerFields, 'callback'> & {
  readonly failurePolicy?: PolicyFields | undefined;
};

const POINT_IN_TIME =
  'an instant in RFC 3339, a Go duration such as 1h30m, or an ISO 8601 duration such as PT1H30M; in the years 0 to 9999';

/** Decides when a reminder or timer is due first, and when it ends. `name` is its text. */
export function planTick(name: string, fields: PlannedFields, rules: PlanTickRules): PlannedJob {
  const { now, refuse } = rules;
  const { failurePolicy: policy } = fields;
  const [dueTime, period, ttl] = [fields.dueTime, fields.period, fields.ttl].map(unlessEmpty);
  const repeated = period === undefined ? undefined : readPeriod(period, rules);
  const problem = policyProblem(policy);
  if (problem !== undefined) throw refuse(problem, 'retry');
  // One in the past is due at once, and has missed nothing.
  const dueAt = dueTime === undefined ? now : Math.max(now, readInstant('dueTime', dueTime, now, rules));
  const endsAt = ttl === undefined ? undefined : readInstant('ttl', ttl, dueAt, rules);
  if (endsAt !== undefined && endsAt < dueAt) {
    const ends = `ttl ${shown(ttl)} ends at ${formatInstant(endsAt)}`;
    throw refuse(`${ends}: expected not before the first due instant, which is ${formatInstant(dueAt)}`, 'ttl');
  }
  const job: StoredJob = {
    ...{
      name,
      schedule: period,
      dueTime,
      repeats: fields.repeats ?? repeated?.repeats,
      ttl,
      policy,
      data: fields.data,
    },
    ...{ dataId: undefined, anchorAt: dueAt, tickAt: dueAt },
    // One call comes, whatever the ttl.
    expiresAt: repeated === undefined ? undefined : endsAt,
    ...{ failures: 0, crashes: 0, isBegun: false, coveredTo: undefined, runs: 0, ended: false },
    ...{ lastRun: undefined, resumeAt: undefined, heldTickAt: undefined, basis: undefined, trace: undefined },
  };
  return { job, at: firstInstantOf(job) };
}

function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function readPeriod(text: string, { periods, refuse }: PlanTickRules): Period {
  try {
    return periods.get(text);
  } catch (error) {
    throw refuse(`period ${shown(text)}: ${messageOf(error)}`, 'period', error);
  }
}

/** Unlike those of jobs, an instant has an offset. */
function readInstant(field: 'dueTime' | 'ttl', text: string, base: number, { refuse }: PlanTickRules): number {
  const isKnown = parseInstant(text) !== undefined || isDuration(text);
  const at = isKnown ? parsePointInTime(text, base) : undefined;
  if (at === undefined) throw refuse(`${field} ${shown(text)} cannot be read: expected ${POINT_IN_TIME}`, field);
  return at;
}
