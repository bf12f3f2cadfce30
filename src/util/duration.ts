const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const GO_DURATION = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const GO_DURATION_PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/**
 * Parses a Go duration (`1h30m`, `200ms`, `-1.5s`, `0`) to milliseconds, with fractions; `undefined` if it is invalid.
 * The grammar is that of Go's `time.ParseDuration`.
 */
export function parseGoDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  if (text.length > 64 || !GO_DURATION.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(GO_DURATION_PART)) {
    totalMs += Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  }
  return text.startsWith('-') ? -totalMs : totalMs;
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
