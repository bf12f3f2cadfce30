import { parseGoDuration, parseInstant } from '../../util/duration.ts';

const HAS_OFFSET = /(?:[Zz]|[+-]\d{2}:\d{2})$/;
const ISO_DURATION =
  /^(-)?P(?=[-\dT])(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?=[-\d])(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:[.,]\d+)?)S)?)?$/;
const LONGEST_TEXT = 64;
const DAYS_PER_WEEK = 7;
const MONTHS_PER_YEAR = 12;
/** The years that RFC 3339 can write. At the ends of what Date holds, clock times of zones cannot be computed. */
const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads a point in time: RFC 3339 (without an offset it is the server's local time), a Go duration or an ISO 8601
 * duration from `base` on, also a negative one. In whole milliseconds since 1970; `undefined` for another form, or if it
 * is not in the years 0 to 9999.
 */
export function parsePointInTime(text: string, base: number): number | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  const at = parseInstant(text) ?? parseLocalTime(text) ?? parseOffset(text, base);
  return at !== undefined && isInstant(at) ? Math.floor(at) : undefined;
}

/** Whether it is a duration, which is relative to a base. */
export function isDuration(text: string): boolean {
  return parseOffset(text, 0) !== undefined;
}

function parseOffset(text: string, base: number): number | undefined {
  const durationMs = parseGoDuration(text);
  if (durationMs !== undefined) return base + durationMs;
  const iso = parseIsoDuration(text);
  return iso && addIsoDuration(iso, base);
}

function isInstant(at: number): boolean {
  return at >= FIRST_INSTANT && at <= LAST_INSTANT;
}

function parseLocalTime(text: string): number | undefined {
  if (HAS_OFFSET.test(text) || parseInstant(`${text}Z`) === undefined) return undefined;
  // JavaScript reads a time without an offset as local.
  return Date.parse(text.toUpperCase().replace(/:60(?=\.|$)/, ':59'));
}

/** An ISO 8601 duration: what the calendar decides, and the rest. */
export interface IsoDuration {
  readonly months: number;
  readonly days: number;
  readonly ms: number;
}

/** Reads an ISO 8601 duration, also a negative one; `undefined` if it is none. */
export function parseIsoDuration(text: string): IsoDuration | undefined {
  const match = text.length > LONGEST_TEXT ? null : ISO_DURATION.exec(text);
  if (match === null) return undefined;
  const sign = match[1] === undefined ? 1 : -1;
  const [years, months, weeks, days, hours, minutes, seconds] = Array.from(
    { length: 7 },
    (_, index) => sign * Number((match[index + 2] ?? '0').replace(',', '.')),
  ) as [number, number, number, number, number, number, number];
  return {
    months: years * MONTHS_PER_YEAR + months,
    days: weeks * DAYS_PER_WEEK + days,
    ms: hours * 3_600_000 + minutes * 60_000 + seconds * 1_000,
  };
}

/** Years and months by the calendar, in UTC; a day that the month does not have runs over into the next. */
export function addIsoDuration({ months, days, ms }: IsoDuration, base: number): number {
  const from = new Date(base);
  // Date.UTC takes the years 0 to 99 for those of the last century.
  const day = new Date(0).setUTCFullYear(from.getUTCFullYear(), from.getUTCMonth() + months, from.getUTCDate() + days);
  const midnight = new Date(base).setUTCHours(0, 0, 0, 0);
  return day + (base - midnight) + ms;
}
