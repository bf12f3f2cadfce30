import { formatGoDuration, parseGoDuration, readDuration } from '../util/duration.ts';
import { field, type OptionField } from '../util/option-fields.ts';
import { isDuration, parsePointInTime } from './planning/instants.ts';

/** As a duration it would be more than thirty years: it is an instant that was meant. */
const SURELY_INSTANT = 1e12;

/** A point in time as code may give it. */
export const POINT_IN_TIME: OptionField = field((value) => {
  if (typeof value === 'number' && !(Math.abs(value) < SURELY_INSTANT)) return false;
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  const text = timeText(value);
  return typeof text !== 'string' || parsePointInTime(text, 0) !== undefined;
}, 'a duration from now on, such as 3d or a number of milliseconds; a valid Date; or a text such as 2026-05-01T12:00:00Z');

const EVERY = '@every ';

/** `@every` with a duration in one of the forms that code may use. */
export function scheduleText<T>(schedule: T): T | string {
  if (typeof schedule !== 'string' || !schedule.startsWith(EVERY)) return schedule;
  const every = schedule.slice(EVERY.length);
  return parseGoDuration(every) === undefined ? EVERY + inGoForm(every) : schedule;
}

/** A point in time in code as the API has it. */
export function timeText<T>(value: T): T | string {
  return value instanceof Date ? value.toISOString() : durationText(value);
}

/** A duration in code as the API has it. */
export function durationText<T>(value: T): T | string {
  return typeof value === 'string' && isDuration(value) ? value : inGoForm(value);
}

/** A duration that only code may write so, in the form of the API: days, weeks, fractions of ISO 8601, numbers. */
function inGoForm<T>(value: T): T | string {
  const ms = readDuration(value);
  if (ms === undefined) return value;
  return ms > 0 ? formatGoDuration(ms) : `${ms}ms`;
}
