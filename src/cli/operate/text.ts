/** Characters that take no column of their own. */
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}])$/u;
const ELLIPSIS = '…';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY } as const;

/** The columns that text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += widthOfOne(character);
  return width;
}

function widthOfOne(character: string): number {
  if (character < '\u0300') return 1;
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Text that takes at most so many columns; its end becomes `…` if it is longer. */
export function cut(text: string, columns: number): string {
  if (text.length <= columns && widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += widthOfOne(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}

/** A length of time in one unit or two, such as `4s`, `90s`, `12m`, `3h20m`, `5d`. */
export function lasting(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 2 * MINUTE) return `${Math.round(ms / SECOND)}s`;
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)}m`;
  if (ms < 10 * HOUR) {
    const minutes = Math.round(ms / MINUTE);
    return `${Math.floor(minutes / 60)}h${minutes % 60 === 0 ? '' : `${minutes % 60}m`}`;
  }
  return ms < 2 * DAY ? `${Math.round(ms / HOUR)}h` : `${Math.round(ms / DAY)}d`;
}

/** An instant, seen from now: `4m ago`, `in 2h`. */
export function relative(at: number, now: number): string {
  return at <= now ? `${lasting(now - at)} ago` : `in ${lasting(at - now)}`;
}

/** An instant with its date, in UTC. */
export function instant(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
}

/** The instant that a text means: a length of time before now (`90s`, `2h`, `7d`), or a date; `undefined` if neither. */
export function instantMeant(text: string, now: number): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (digits !== undefined) return now - Number(digits) * UNITS[unit as keyof typeof UNITS];
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** `1 message`, `2 messages`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
