import { formatGoDuration, parseGoDuration, readDuration } from '../../util/duration.ts';

/** The fields of a cron expression, checked by our own grammar and written out in numbers. */
export interface CronFields {
  /** Six fields in a form that croner reads as intended. */
  readonly pattern: string;
  /** Second, minute and hour are single values or lists of them: it names wall times, not distances. */
  readonly isFixed: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const NO_NAMES: readonly string[] = [];
const MONTHS = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const FIELDS: readonly Field[] = [
  { name: 'seconds', min: 0, max: 59, names: NO_NAMES },
  { name: 'minutes', min: 0, max: 59, names: NO_NAMES },
  { name: 'hours', min: 0, max: 23, names: NO_NAMES },
  { name: 'day of month', min: 1, max: 31, names: NO_NAMES },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 6, names: WEEKDAYS },
];
const TIME_FIELDS = 3;

const NUMBER = /^\d+$/;
const SINGLE_VALUES = /^\d+(?:,\d+)*$/;

/**
 * Reads six fields of numbers, names, lists, ranges and steps.
 *
 * @throws Error naming the field, its text and what was expected.
 */
export function parseCronFields(text: string): CronFields {
  const parts = text.trim().split(/[ \t]+/);
  if (parts.length !== FIELDS.length) {
    const found = text.trim() === '' ? 0 : parts.length;
    throw new Error(
      `expected ${FIELDS.length} fields (seconds to day of week) or an @ period, found ${found}${hintFor(parts)}`,
    );
  }
  const fields = FIELDS.map((field, index) => parseField(parts[index] ?? '', field));
  const isFixed = fields.slice(0, TIME_FIELDS).every((field) => SINGLE_VALUES.test(field));
  return { pattern: fields.join(' '), isFixed };
}

/** A list with `*` in it is `*`: that also decides whether the two day fields are joined by OR. */
function parseField(text: string, field: Field): string {
  const elements = text.split(',').map((element) => parseElement(element, text, field));
  return elements.includes('*') ? '*' : elements.join(',');
}

function parseElement(element: string, text: string, field: Field): string {
  const [base = '', step, ...rest] = element.split('/');
  if (rest.length > 0) throw problem(text, field, `${quoted(element)} has more than one step`);
  const stepSize = step === undefined ? 1 : numberOf(step, text, field);
  if (stepSize === 0) throw problem(text, field, 'a step must be at least 1');
  if (base === '*' || base === '?') return stepSize === 1 ? '*' : withStep(field.min, field.max, stepSize);
  const [first = '', last, ...more] = base.split('-');
  if (more.length > 0) throw problem(text, field, `${quoted(base)} is not a range`);
  const from = numberAt(first, text, field);
  const to = last === undefined ? (step === undefined ? from : field.max) : numberAt(last, text, field);
  if (from > to) throw problem(text, field, `the range ${quoted(base)} begins after its end`);
  if (last === undefined && step === undefined) return String(from);
  return withStep(from, to, stepSize);
}

/** croner refuses a step that leaves only the first value. */
function withStep(from: number, to: number, step: number): string {
  if (from + step > to) return String(from);
  return step === 1 ? `${from}-${to}` : `${from}-${to}/${step}`;
}

function numberAt(text: string, whole: string, field: Field): number {
  const named = text === '' ? -1 : field.names.indexOf(text.toLowerCase());
  const value = named === -1 ? numberOf(text, whole, field) : named;
  if (value >= field.min && value <= field.max) return value;
  throw problem(whole, field, `${value} is outside of ${field.min}-${field.max}`);
}

function numberOf(text: string, whole: string, field: Field): number {
  if (NUMBER.test(text)) {
    const value = Number(text);
    if (Number.isSafeInteger(value)) return value;
    throw problem(whole, field, `${quoted(text)} is too large: expected at most ${Number.MAX_SAFE_INTEGER}`);
  }
  const names = field.names.filter((name) => name !== '');
  const expected = names.length === 0 ? 'a number' : `a number or ${names[0]}-${names.at(-1)}`;
  throw problem(whole, field, `${quoted(text)} is not ${expected}`);
}

function problem(text: string, field: Field, what: string): Error {
  return new Error(`${field.name} ${quoted(text)}: ${what}`);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** What was probably meant: five fields, as crontab has them, or an interval. */
function hintFor(parts: readonly string[]): string {
  if (parts.length === FIELDS.length - 1) return `: put 0 for the seconds in front, ${quoted(`0 ${parts.join(' ')}`)}`;
  const [interval = ''] = parts;
  const ms = parts.length === 1 ? readDuration(interval) : undefined;
  if (ms === undefined || ms <= 0) return '';
  return `: for an interval, ${quoted(`@every ${parseGoDuration(interval) === undefined ? formatGoDuration(ms) : interval}`)}`;
}
