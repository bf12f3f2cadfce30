import type { StoredJob } from '../../../timed/job.ts';
import { parsePointInTime } from '../../../timed/planning/instants.ts';
import { formatGoDuration, formatInstant } from '../../../util/duration.ts';
import type { Wire } from '../../../wire.ts';
import type { Periods } from './period.ts';
import { tickNameOf } from './reminder-name.ts';

/** The body that the application gets with each call. `data` are spliced in as they were sent. */
export function tickBody(
  { dueTime = '', schedule: period = '' }: StoredJob,
  data: string | undefined,
  callback?: string,
): Buffer {
  const named = callback === undefined ? '' : `"callback":${JSON.stringify(callback)},`;
  const rest = JSON.stringify({ dueTime, period }).slice(1);
  return Buffer.from(data === undefined ? `{${named}${rest}` : `{${named}"data":${data},${rest}`);
}

/** The answer of a read. */
export function renderReminder(job: StoredJob, data: string | undefined, wire: Wire, periods: Periods): Buffer {
  const fields = wire.name === 'dapr' ? daprFields(job, periods) : fieldsAsSet(job);
  const text = JSON.stringify(fields);
  if (data === undefined) return Buffer.from(text);
  return Buffer.from(text === '{}' ? `{"data":${data}}` : `{"data":${data},${text.slice(1)}`);
}

function fieldsAsSet({ dueTime, schedule: period, ttl }: StoredJob): object {
  return { dueTime, period, ttl };
}

function daprFields({ name, dueTime, schedule, ttl, anchorAt }: StoredJob, periods: Periods): object {
  const { actorType, actorId: actorID } = tickNameOf(name);
  const endsAt = ttl === undefined ? undefined : parsePointInTime(ttl, anchorAt);
  return {
    ...{ actorID, actorType, dueTime },
    period: schedule && everyOf(schedule, periods),
    ttl: endsAt === undefined ? undefined : formatInstant(endsAt),
  };
}

function everyOf(period: string, periods: Periods): string {
  const { ms } = periods.get(period);
  return ms === undefined ? period : `@every ${formatGoDuration(ms)}`;
}
