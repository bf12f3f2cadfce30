import { harmlessLines } from './harmless-text.ts';
import { messageOfLogged } from './logged-error.ts';

/** A line of the log for a terminal: time of day, level, message, and the details as `name=value`. */
export function readableLine(level: string, details: object, message: string, now: number): string {
  return `${timeOfDay(now)} ${level} ${harmlessLines(`${message}${wordsOf(details)}`)}`;
}

/** Readers watch such a log live: they know the day. */
function timeOfDay(instant: number): string {
  const time = new Date(instant);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

function wordsOf(details: object): string {
  return Object.entries(details)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${wordOf(value)}`)
    .join('');
}

/** Quotes a value unless it is one word, so that its content cannot look like other fields. */
function wordOf(value: unknown): string {
  const words = typeof value === 'string' ? value : messageOfLogged(value);
  const text = words ?? asJson(value);
  const isData = words === undefined && typeof value === 'object';
  return isData || /^[\w./:@+*#-]+$/.test(text) ? text : JSON.stringify(text);
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
