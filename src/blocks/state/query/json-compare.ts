import { jsonElements, jsonMember, jsonMembers } from '../../../util/json-text.ts';

/*
 * Comparisons of JSON values by their texts, so that numbers are compared with every digit.
 */

/** The kinds of JSON values, in the order in which different kinds are sorted. */
const KINDS = ['null', 'boolean', 'number', 'text', 'object', 'array'] as const;
type Kind = (typeof KINDS)[number];

/** Deeper values are equal only if their texts are. */
const MAX_DEPTH = 200;

const KIND_BY_FIRST: Readonly<Record<string, Kind>> = {
  n: 'null',
  t: 'boolean',
  f: 'boolean',
  '"': 'text',
  '{': 'object',
  '[': 'array',
};

/** The kind of a value. */
export function kindOf(text: string): Kind {
  return KIND_BY_FIRST[text.charAt(0)] ?? 'number';
}

/** The value at a path of member names; `undefined` if there is none. */
export function valueAt(text: string, path: readonly string[]): string | undefined {
  let value: string | undefined = text;
  for (const name of path) {
    if (value === undefined || kindOf(value) !== 'object') return undefined;
    value = jsonMember(value, name);
  }
  return value;
}

/** Whether two values are equal; numbers by their value, objects without regard to the order of members. */
export function isEqual(one: string, other: string): boolean {
  if (one === other) return true;
  const kind = kindOf(one);
  if (kind !== kindOf(other)) return false;
  switch (kind) {
    case 'number':
      return compareNumbers(one, other) === 0;
    case 'text':
      return JSON.parse(one) === JSON.parse(other);
    case 'object':
    case 'array':
      return canonical(one, 0) === canonical(other, 0);
    default:
      return false;
  }
}

function canonical(text: string, depth: number): string {
  if (depth > MAX_DEPTH) return text;
  switch (kindOf(text)) {
    case 'number': {
      const { isNegative, digits, magnitude } = decimalOf(text);
      return `${isNegative ? '-' : ''}${digits}e${magnitude}`;
    }
    case 'text':
      return JSON.stringify(JSON.parse(text));
    case 'array':
      return `[${jsonElements(text)
        .map((element) => canonical(element, depth + 1))
        .join()}]`;
    case 'object': {
      const members = new Map(jsonMembers(text).map(({ key, value }) => [JSON.stringify(key), value]));
      const names = [...members.keys()].sort();
      return `{${names.map((name) => `${name}:${canonical(members.get(name) ?? 'null', depth + 1)}`).join()}}`;
    }
    default:
      return text;
  }
}

/** A number as `0.<digits> × 10^magnitude`; 0 has no digits. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly magnitude: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;

function decimalOf(text: string): Decimal {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return { isNegative: false, digits: '', magnitude: 0 };
  return {
    isNegative: sign === '-',
    digits: significant,
    magnitude: whole.length - (all.length - digits.length) + Number(exponent),
  };
}

/** Compares two JSON numbers of any number of digits: negative, 0 or positive. */
export function compareNumbers(one: string, other: string): number {
  const [left, right] = [decimalOf(one), decimalOf(other)];
  if (left.digits === '' || right.digits === '') return signOf(left) - signOf(right);
  if (left.isNegative !== right.isNegative) return left.isNegative ? -1 : 1;
  const order = left.magnitude - right.magnitude || compareTexts(left.digits, right.digits);
  return left.isNegative ? -order : order;
}

function signOf({ digits, isNegative }: Decimal): number {
  if (digits === '') return 0;
  return isNegative ? -1 : 1;
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The order of two values for sorting: by kind, then by value; containers are equal. */
export function compareValues(one: string, other: string): number {
  const kind = kindOf(one);
  const byKind = KINDS.indexOf(kind) - KINDS.indexOf(kindOf(other));
  if (byKind !== 0) return byKind;
  if (kind === 'number') return compareNumbers(one, other);
  if (kind === 'text') return compareTexts(JSON.parse(one) as string, JSON.parse(other) as string);
  return kind === 'boolean' ? compareTexts(one, other) : 0;
}
