/** Up to where a unit is used, and how many of it make the next. */
const UNITS_OF_TIME = [
  ['ms', 1000, 1000],
  ['s', 60, 60],
  ['min', 60, 60],
  ['h', 48, 24],
  ['d', Number.POSITIVE_INFINITY, 1],
] as const;

/** `412 ms`, `3.2 s`, `4 min`, `2 h`, `3 d`. */
export function duration(ms: number): string {
  if (ms < 1) return '<1 ms';
  let value = ms;
  for (const [unit, end, size] of UNITS_OF_TIME) {
    const text = unit === 's' && value < 9.95 ? value.toFixed(1) : String(Math.round(value));
    if (Number(text) < end) return `${text} ${unit}`;
    value /= size;
  }
  return '';
}

/** How long ago or ahead an instant is: `4 min ago`, `in 2 h`, `now`. */
export function relative(at: number, now: number): string {
  const ms = now - at;
  if (Math.abs(ms) < 1000) return 'now';
  const text = duration(Math.floor(Math.abs(ms) / 1000) * 1000).replace(/\.0/, '');
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

/** `10,000`; with `isCapped`, `10,000+`. */
export function count(value: number, isCapped = false): string {
  return value.toLocaleString('en') + (isCapped ? '+' : '');
}

/** `3 messages`, `1 message`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `2.1 kB` */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1e6) return `${(value / 1e3).toFixed(1)} kB`;
  return `${(value / 1e6).toFixed(1)} MB`;
}

/** The time of day with milliseconds, and the whole of it: in the zone of the browser. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** `2026-11-22 10:02:11.123` in the zone of the browser. */
export function fullTime(at: number): string {
  const date = new Date(at);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return `${day.map((part) => String(part).padStart(2, '0')).join('-')} ${clockTime(at)}`;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The instant that `15m`, `1h` or `7d` ago was, to the minute; `undefined` for what is not one of these. */
export function sinceOf(text: string | undefined, now: number): number | undefined {
  const match = /^(\d+)([mhd])$/.exec(text ?? '');
  const unit = UNITS[match?.[2] ?? ''];
  if (match === null || unit === undefined) return undefined;
  return Math.floor((now - Number(match[1]) * unit) / 60_000) * 60_000;
}

/** The address of a trace. A message may have any text in its place: only an ID becomes a part of the address. */
export function traceUrl(template: string | undefined, traceparent: string | undefined): string | undefined {
  const [, traceId] = /^[\da-f]{2}-([\da-f]{32})-/i.exec(traceparent ?? '') ?? [];
  return traceId === undefined ? undefined : template?.replace('{traceId}', traceId);
}
