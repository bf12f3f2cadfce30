import { LAST_INSTANT } from './clock.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  // In code only. A day is 24 hours: changes of the clocks do not count.
  d: 86_400_000,
  w: 604_800_000,
};

const GO_DURATION = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const DURATION_PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|[smhdw])/g;
const LONGEST_TEXT = 64;

/**
 * Parses a Go duration (`1h30m`, `200ms`, `-1.5s`, `0`) to milliseconds, with fractions; `undefined` if it is invalid.
 * The grammar is that of Go's `time.ParseDuration`.
 */
export function parseGoDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  return text.length > LONGEST_TEXT || !GO_DURATION.test(text) ? undefined : sumOfParts(text);
}

/** The milliseconds of a text of amounts and units, which was checked. */
function sumOfParts(text: string): number {
  let totalMs = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(DURATION_PART))
    totalMs += Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  return text.startsWith('-') ? -totalMs : totalMs;
}

/**
 * A length of time: a number of milliseconds, or a text. The text has Go's form, in which `d` is 24 hours and `w` seven
 * days (`500ms`, `1h30m`, `3d`, `2w`), or that of ISO 8601, without years and months (`PT1.5H`, `P1D`).
 * What the compiler cannot tell is checked at run time; `parseDuration` reads a text that is known only then.
 *
 * @public
 */
export type Duration =
  | number
  | `${number}${'ns' | 'us' | 'µs' | 'ms' | 's' | 'm' | 'h' | 'd' | 'w'}`
  | `${number}${'w' | 'd' | 'h' | 'm' | 's'}${number}${'d' | 'h' | 'm' | 's' | 'ms'}`
  | `${number}${'w' | 'd' | 'h'}${number}${'d' | 'h' | 'm'}${number}${'h' | 'm' | 's'}`
  | `${number}d${number}h${number}m${number}s`
  | `P${number}${'W' | 'D'}`
  | `P${number}DT${number}${'H' | 'M' | 'S'}`
  | `PT${number}${'H' | 'M' | 'S'}`
  | `PT${number}${'H' | 'M'}${number}${'M' | 'S'}`
  | `PT${number}H${number}M${number}S`;

/**
 * An instant: a `Date`, a number of milliseconds since 1970, or a text of RFC 3339 such as `2026-05-01T12:00:00Z`.
 *
 * @public
 */
export type Instant = Date | number | string;

/** The forms of a duration, for messages. */
export const DURATION_FORMS =
  'a duration: a number of milliseconds, or a text such as 500ms, 1h30m, 3d, 2w, PT1H30M or P1D';
/** The forms of an instant, for messages. */
export const INSTANT_FORMS =
  'an instant: a Date, a number of milliseconds since 1970, or a text such as 2026-05-01T12:00:00Z';

const CODE_DURATION = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|[smhdw]))+$/;
const ISO_DURATION =
  /^(-)?P(?=[\dT])(?:(\d+(?:[.,]\d+)?)W)?(?:(\d+(?:[.,]\d+)?)D)?(?:T(?=\d)(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/;
const ISO_UNITS_MS: readonly number[] = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];

/** The milliseconds of a {@link Duration}, with fractions; `undefined` if it is none. */
export function readDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value;
  if (typeof value !== 'string' || value.length > LONGEST_TEXT) return undefined;
  return parseCodeDuration(value) ?? parseIsoDuration(value);
}

/** Go's form, with days and weeks. */
function parseCodeDuration(text: string): number | undefined {
  return CODE_DURATION.test(text) ? sumOfParts(text) : parseGoDuration(text);
}

function parseIsoDuration(text: string): number | undefined {
  const match = ISO_DURATION.exec(text);
  if (match === null) return undefined;
  const totalMs = ISO_UNITS_MS.reduce((sum, unitMs, index) => sum + unitMs * amountOf(match[index + 2]), 0);
  return match[1] === undefined ? totalMs : -totalMs;
}

function amountOf(text = '0'): number {
  return Number(text.replace(',', '.'));
}

/** Whether a value is a duration within bounds. */
export function isDurationWithin(value: unknown, minMs: number, maxMs: number): boolean {
  const ms = readDuration(value);
  return ms !== undefined && ms >= minMs && ms <= maxMs;
}

/** The whole milliseconds of a duration that was checked: never shorter. */
export function msOf(duration: Duration): number;
export function msOf(duration: Duration | undefined): number | undefined;
export function msOf(duration: Duration | undefined): number | undefined {
  const ms = readDuration(duration);
  return ms === undefined ? undefined : Math.ceil(ms);
}

/** The milliseconds since 1970 of an {@link Instant}, in whole ones; `undefined` if it is none. */
export function readInstant(value: unknown): number | undefined {
  const at = typeof value === 'string' ? parseInstant(value) : value instanceof Date ? value.getTime() : value;
  return typeof at === 'number' && Math.abs(at) <= LAST_INSTANT ? at : undefined;
}

/** Formats milliseconds as a Go duration: `1m30s`, `1.5s`, `500ms`. */
export function formatGoDuration(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const seconds = `${(ms % 60_000) / 1_000}s`;
  if (ms < 60_000) return seconds;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}

/** Formats an instant like all our timestamps: RFC 3339, UTC, milliseconds. */
export function formatInstant(at: number): string {
  return new Date(at).toISOString();
}

const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-](\d{2}):(\d{2}))$/;

/** Parses an RFC 3339 instant with an offset to milliseconds since 1970; `undefined` if it is invalid. */
export function parseInstant(text: string): number | undefined {
  const match = RFC_3339.exec(text);
  if (match === null || !isRealDate(match)) return undefined;
  const at = Date.parse(text.toUpperCase().replace(/:60(?=[.Z+-])/, ':59'));
  return Number.isNaN(at) ? undefined : at;
}

const DAYS_OF_MONTHS: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isRealDate(match: RegExpExecArray): boolean {
  const month = Number(match[2]);
  const day = Number(match[3]);
  return (
    day >= 1 &&
    day <= lastDayOf(Number(match[1]), month) &&
    Number(match[4]) <= 23 &&
    Number(match[5]) <= 59 &&
    Number(match[6]) <= 60 &&
    Number(match[9] ?? 0) <= 23 &&
    Number(match[10] ?? 0) <= 59
  );
}

/** The last day of a month, 1 to 12; 0 if there is no such month. */
function lastDayOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (DAYS_OF_MONTHS[month - 1] ?? 0);
}
