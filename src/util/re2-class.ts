/** Characters and character classes of RE2, for regular expressions of JavaScript with the flag `u`. */

/** Code points, both included. */
type Range = readonly [from: number, to: number];

/** A set of characters. */
export interface CharacterSet {
  readonly ranges: readonly Range[];
  /** Escapes of JavaScript. */
  readonly properties: readonly string[];
}

/** A set and the length of the text that it was read from. */
export interface ParsedSet {
  readonly set: CharacterSet;
  readonly length: number;
}

const LAST = 0x10ffff;
const UPPER: Range = [0x41, 0x5a];
const LOWER: Range = [0x61, 0x7a];
const DIGIT: Range = [0x30, 0x39];
/** What case folding adds to the letters of ASCII: ſ is an s, the sign of kelvin a k. */
const FOLDED_LETTERS: readonly Range[] = [
  [0x17f, 0x17f],
  [0x212a, 0x212a],
];

const PERL: Readonly<Record<string, readonly Range[]>> = {
  d: [DIGIT],
  w: [UPPER, LOWER, DIGIT, [0x5f, 0x5f]],
  s: [
    [0x09, 0x0a],
    [0x0c, 0x0d],
    [0x20, 0x20],
  ],
};
const POSIX: ReadonlyMap<string, readonly Range[]> = new Map([
  ['alnum', [UPPER, LOWER, DIGIT]],
  ['alpha', [UPPER, LOWER]],
  ['ascii', [[0, 0x7f]]],
  [
    'blank',
    [
      [0x09, 0x09],
      [0x20, 0x20],
    ],
  ],
  [
    'cntrl',
    [
      [0, 0x1f],
      [0x7f, 0x7f],
    ],
  ],
  ['digit', [DIGIT]],
  ['graph', [[0x21, 0x7e]]],
  ['lower', [LOWER]],
  ['print', [[0x20, 0x7e]]],
  [
    'punct',
    [
      [0x21, 0x2f],
      [0x3a, 0x40],
      [0x5b, 0x60],
      [0x7b, 0x7e],
    ],
  ],
  [
    'space',
    [
      [0x09, 0x0d],
      [0x20, 0x20],
    ],
  ],
  ['upper', [UPPER]],
  ['word', [UPPER, LOWER, DIGIT, [0x5f, 0x5f]]],
  ['xdigit', [DIGIT, [0x41, 0x46], [0x61, 0x66]]],
]);
const CONTROL: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };
/** Not `C` and `Cn`: engines differ in whether code points without a character belong to them. */
const CATEGORY = /^(?:[LMNPSZ][a-z]?|C[cfos])$/;

const PROPERTY = /^\\([pP])(?:\{(\^?)(\w+)\}|(\w))/;
const HEX = /^\\x(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/;
const POSIX_CLASS = /^\[:(\^?)(\w+):\]/;

/**
 * Reads an escape that stands for characters.
 *
 * @throws Error naming it, if RE2 does not know it or JavaScript has nothing like it.
 */
export function parseEscape(text: string, isFolded: boolean): ParsedSet {
  const letter = text[1] ?? '';
  const perl = Object.hasOwn(PERL, letter.toLowerCase()) ? PERL[letter.toLowerCase()] : undefined;
  if (perl !== undefined) return named(perl, { isNegated: letter < 'a', isFolded, length: 2 });
  if (letter === 'p' || letter === 'P') return property(text, isFolded);
  const control = Object.hasOwn(CONTROL, letter) ? CONTROL[letter] : undefined;
  if (control !== undefined) return character(control, 2);
  const [hex, braced, plain] = HEX.exec(text) ?? [];
  if (hex !== undefined) return character(Number.parseInt(braced ?? plain ?? '', 16), hex.length);
  if (/^[!-/:-@[-`{-~]/.test(letter)) return character(letter.charCodeAt(0), 2);
  throw new Error(unknownEscape(letter));
}

/** Reads a class in brackets. @throws Error naming the part that cannot be read. */
export function parseClass(text: string, isFolded: boolean): ParsedSet & { readonly isNegated: boolean } {
  const isNegated = text[1] === '^';
  const first = isNegated ? 2 : 1;
  const ranges: Range[] = [];
  const properties: string[] = [];
  let at = first;
  // A bracket in the first place is a character.
  while (text[at] !== ']' || at === first) {
    if (at >= text.length) throw new Error(`${text} is not closed: expected ]`);
    const { set, length } = parseMember(text.slice(at), isFolded);
    ranges.push(...set.ranges);
    properties.push(...set.properties);
    at += length;
  }
  return { set: { ranges, properties }, isNegated, length: at + 1 };
}

/** A named set, or a character, or a range of them. */
function parseMember(text: string, isFolded: boolean): ParsedSet {
  const [posix, not, name = ''] = POSIX_CLASS.exec(text) ?? [];
  if (posix !== undefined) {
    const ranges = POSIX.get(name);
    if (ranges === undefined) throw new Error(`${posix} is unknown: expected ${[...POSIX.keys()].join(', ')}`);
    return named(ranges, { isNegated: not === '^', isFolded, length: posix.length });
  }
  const low = parseOne(text, isFolded);
  const [from, to] = low.set.ranges[0] ?? [];
  const isCharacter = from !== undefined && from === to && low.set.ranges.length === 1;
  const rest = text.slice(low.length);
  if (!isCharacter || rest[0] !== '-' || rest[1] === ']' || rest[1] === undefined) return low;
  const high = parseOne(rest.slice(1), isFolded);
  const [end, last] = high.set.ranges[0] ?? [];
  const length = low.length + 1 + high.length;
  if (end === undefined || end !== last || end < from || high.set.ranges.length > 1)
    throw new Error(`${text.slice(0, length)} is no range`);
  return { set: { ranges: [[from, end]], properties: [] }, length };
}

function parseOne(text: string, isFolded: boolean): ParsedSet {
  if (text[0] === '\\') return parseEscape(text, isFolded);
  const code = text.codePointAt(0) ?? 0;
  return character(code, code > 0xffff ? 2 : 1);
}

function property(text: string, isFolded: boolean): ParsedSet {
  const [all = text.slice(0, 3), letter, not, inBraces, single] = PROPERTY.exec(text) ?? [];
  const name = inBraces ?? single ?? '';
  const isNegated = (letter === 'P') !== (not === '^');
  if (isNegated && isFolded) throw new Error(`${all} goes not with (?i): name what it is instead of what it is not`);
  const value = name === 'Any' ? name : CATEGORY.test(name) ? `gc=${name}` : `sc=${name}`;
  const written = `\\${isNegated ? 'P' : 'p'}{${value}}`;
  if (!isKnown(written))
    throw new Error(`${all} is unknown: expected a category such as \\pL or a script such as \\p{Greek}`);
  return { set: { ranges: [], properties: [written] }, length: all.length };
}

function isKnown(written: string): boolean {
  try {
    return new RegExp(written, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function unknownEscape(letter: string): string {
  if (/\d/.test(letter))
    return `\\${letter} is no reference, which RE2 has not: write \\x{…} for a character by its code`;
  if (letter === 'u') return '\\u is unknown: write \\x{…} for a character by its code';
  if (letter === 'Z') return '\\Z is unknown: write \\z for the end of the text';
  return `\\${letter} is unknown`;
}

interface Naming {
  readonly isNegated: boolean;
  readonly isFolded: boolean;
  readonly length: number;
}

function named(ranges: readonly Range[], { isNegated, isFolded, length }: Naming): ParsedSet {
  if (!isNegated) return { set: { ranges, properties: [] }, length };
  // Case is folded first. Otherwise ſ, which is not in \w, would make \W match an s.
  const hasLetters = isFolded && ranges.some(([from]) => from === UPPER[0] || from === LOWER[0]);
  return { set: { ranges: complement(hasLetters ? [...ranges, ...FOLDED_LETTERS] : ranges), properties: [] }, length };
}

function complement(ranges: readonly Range[]): readonly Range[] {
  const others: Range[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from > next) others.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  return next > LAST ? others : [...others, [next, LAST]];
}

function character(code: number, length: number): ParsedSet {
  if (code > LAST) throw new Error(`\\x{${code.toString(16)}} is no character: expected at most \\x{10ffff}`);
  return { set: { ranges: [[code, code]], properties: [] }, length };
}

/** A set as JavaScript's text. */
export function textOf({ ranges, properties }: CharacterSet, isNegated: boolean): string {
  const [one, ...more] = ranges;
  if (one !== undefined && one[0] === one[1] && more.length + properties.length === 0 && !isNegated)
    return escaped(one[0]);
  const parts = ranges.map(([from, to]) => (from === to ? escaped(from) : `${escaped(from)}-${escaped(to)}`));
  return `[${isNegated ? '^' : ''}${parts.join('')}${properties.join('')}]`;
}

function escaped(code: number): string {
  const text = String.fromCodePoint(code);
  return /[\w ]/.test(text) ? text : `\\u{${code.toString(16)}}`;
}

/** The set with both cases of its letters, or a wider one: beyond ASCII, everything. */
export function widened({ ranges, properties }: CharacterSet): CharacterSet {
  if (properties.length > 0 || ranges.some(([, to]) => to > 0x7f)) return { ranges: [[0, LAST]], properties: [] };
  const both = ranges.flatMap((range) => [range, ...shifted(range, UPPER, 0x20), ...shifted(range, LOWER, -0x20)]);
  const hasAny = (letters: string): boolean =>
    both.some(([from, to]) =>
      [...letters].some((letter) => letter.charCodeAt(0) >= from && letter.charCodeAt(0) <= to),
    );
  return { ranges: hasAny('kKsS') ? [...both, ...FOLDED_LETTERS] : both, properties: [] };
}

/** The part of a range that lies in another one, in the other case. */
function shifted([from, to]: Range, [first, last]: Range, by: number): readonly Range[] {
  const [low, high] = [Math.max(from, first), Math.min(to, last)];
  return low > high ? [] : [[low + by, high + by]];
}
