import { createHash } from 'node:crypto';
import { checkWellFormed } from './checks.ts';
import { quote, StateError } from './errors.ts';
import type { KeyRange } from './store.ts';

/*
 * Keys encode tuples of strings and sort like the tuples: ('a', 'z') before ('ab', 'a').
 *
 * Each part ends with '!'. Characters up to '"' (controls, space, '!' and '"' itself) are written as '"' followed by
 * the character 64 places further up. So an end sorts before every character, an escaped character before every other,
 * and the usual characters of names (letters, digits, '-', '.', '/') stay readable in the stored key.
 */
const END = '!';
const ESCAPE = '"';
const SHIFT = 64;
const HIGHEST_ESCAPED = '"'.charCodeAt(0);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be found
const TO_ESCAPE = /[\u0000-"]/g;
const HAS_TO_ESCAPE = new RegExp(TO_ESCAPE.source);
const ESCAPED = /"([@-b])/g;
const MALFORMED = /"(?![@-b])/;

/** Instants are shifted so that negative ones sort first, then split: bit shifts cannot handle 54 bits. */
const HALF_BITS = 28;
const HALF = 2 ** HALF_BITS;
const HIGH_OFFSET = 2 ** 53 / HALF;
const HALF_DIGITS = HALF_BITS / 4;
const INSTANT = /^[0-9a-f]{14}$/;
const COUNTER = /^[1-9a-e](0|[1-9a-f][0-9a-f]*)$/;
const HEX = 16;

/**
 * The key of a tuple. Parts are strings without unpaired surrogates; encode instants and counters with {@link
 * instantPart} and {@link counterPart}. Keys sort like their tuples, part by part.
 */
export function keyOf(...parts: readonly string[]): string {
  let key = '';
  for (const part of parts) key += escapePart(part) + END;
  return key;
}

function escapePart(part: string): string {
  checkWellFormed(part);
  // Few names contain such characters: a test is several times cheaper than a replacement without a match.
  if (!HAS_TO_ESCAPE.test(part)) return part;
  return part.replace(TO_ESCAPE, (character) => ESCAPE + String.fromCharCode(character.charCodeAt(0) + SHIFT));
}

/** The longest name that is stored unhashed, in bytes: a key has room for three, every character escaped. */
const MAX_NAME_BYTES = 150;

/** A name of any length as a key part; long names are replaced by their digest. */
export function namePart(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return `=${name}`;
  return `#${createHash('sha256').update(name).digest('base64url')}`;
}

/** The name in a part made by {@link namePart}; the digest of a long one. */
export function nameOfPart(part: string): string {
  return part.startsWith('=') ? part.slice(1) : part;
}

/** The tuple of a key made by {@link keyOf}. Throws a `StateError` of kind `invalid` for any other key. */
export function partsOf(key: string): readonly string[] {
  const parts = key.split(END);
  if (parts.pop() !== '' || parts.some(isMalformed)) {
    throw new StateError('invalid', `The key ${quote(key)} was not made by keyOf.`);
  }
  return parts.map(unescapePart);
}

function isMalformed(part: string): boolean {
  if (MALFORMED.test(part)) return true;
  const found = HAS_TO_ESCAPE.exec(part.replaceAll(ESCAPED, ''));
  return found !== null;
}

function unescapePart(part: string): string {
  if (!part.includes(ESCAPE)) return part;
  return part.replace(ESCAPED, (_match, shifted: string) => String.fromCharCode(shifted.charCodeAt(0) - SHIFT));
}

/** The range of all keys whose tuples begin with these parts, including exactly these; without parts, all keys. */
export function rangeOf(...parts: readonly string[]): KeyRange {
  if (parts.length === 0) return { from: '' };
  const from = keyOf(...parts);
  return { from, to: from.slice(0, -END.length) + String.fromCharCode(HIGHEST_ESCAPED) };
}

/** The range of all keys whose last part begins with a text, after some parts. */
export function rangeOfPrefix(parts: readonly string[], prefix: string): KeyRange {
  if (prefix === '') return rangeOf(...parts);
  const from = keyOf(...parts, prefix).slice(0, -END.length);
  return { from, to: textAfter(from) };
}

const LAST_CODE_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** The first text after all that begin with this one. */
export function textAfter(text: string): string {
  const characters = [...text];
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point === LAST_CODE_POINT) continue;
    return characters.join('') + String.fromCodePoint(point === BEFORE_SURROGATES ? AFTER_SURROGATES : point + 1);
  }
  return text;
}

/** Encodes an instant as a part that sorts by time: milliseconds since 1970, any safe integer, also negative. */
export function instantPart(instantMs: number): string {
  if (!Number.isSafeInteger(instantMs)) {
    throw new StateError('invalid', `The instant ${String(instantMs)} must be a whole number of milliseconds.`);
  }
  const high = Math.floor(instantMs / HALF);
  return hexHalf(high + HIGH_OFFSET) + hexHalf(instantMs - high * HALF);
}

function hexHalf(half: number): string {
  return half.toString(HEX).padStart(HALF_DIGITS, '0');
}

/** Decodes a part made by {@link instantPart}: milliseconds since 1970. */
export function instantOf(part: string): number {
  if (!INSTANT.test(part)) throw new StateError('invalid', `The key part ${quote(part)} is not an instant.`);
  const high = Number.parseInt(part.slice(0, HALF_DIGITS), HEX) - HIGH_OFFSET;
  return high * HALF + Number.parseInt(part.slice(HALF_DIGITS), HEX);
}

/** Encodes a safe integer of 0 or more as a part that sorts by value: one digit of length, then the digits. */
export function counterPart(counter: number): string {
  if (!Number.isSafeInteger(counter) || counter < 0) {
    throw new StateError('invalid', `The counter ${String(counter)} must be a safe integer of 0 or more.`);
  }
  const digits = counter.toString(HEX);
  return digits.length.toString(HEX) + digits;
}

/** Whether a part is one that {@link counterPart} makes. */
export function isCounter(part: string): boolean {
  return COUNTER.test(part) && Number.parseInt(part.charAt(0), HEX) === part.length - 1;
}

/** Decodes a part made by {@link counterPart}. */
export function counterOf(part: string): number {
  if (!isCounter(part)) throw new StateError('invalid', `The key part ${quote(part)} is not a counter.`);
  return Number.parseInt(part.slice(1), HEX);
}

const FIRST_SURROGATE = 0xd800;
const FIRST_AFTER_SURROGATES = 0xe000;
const CODE_UNITS = 0x10000;
/** Nothing that JavaScript would sort otherwise: true for most keys. */
const PLAIN = /^[^\ud800-\uffff]*$/;
const FROM_FIRST_SURROGATE = /[\ud800-\uffff]/g;

/**
 * A form of the key for which `<` gives the order of its UTF-8 bytes; for most keys the key itself. Code units from
 * U+E000 on swap places with the surrogates, which encode greater code points but are smaller units.
 */
export function sortFormOf(key: string): string {
  if (PLAIN.test(key)) return key;
  return key.replace(FROM_FIRST_SURROGATE, (unit) => {
    const code = unit.charCodeAt(0);
    const isSurrogate = code < FIRST_AFTER_SURROGATES;
    return String.fromCharCode(
      isSurrogate ? code + CODE_UNITS - FIRST_AFTER_SURROGATES : code - FIRST_AFTER_SURROGATES + FIRST_SURROGATE,
    );
  });
}

/** Compares two keys in key order: negative, 0 or positive. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return sortFormOf(a) < sortFormOf(b) ? -1 : 1;
}

/** The next possible key after a key. */
export function keyAfter(key: string): string {
  return `${key}\u0000`;
}
