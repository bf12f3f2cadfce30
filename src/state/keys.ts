import { createHash } from 'node:crypto';
import { checkWellFormed, isPlain } from './checks.ts';
import { quote, StateError } from './errors.ts';
import type { KeyRange } from './store.ts';

/*
 * Keys are tuples of strings whose order is the order of the tuples: ('a', 'z') before ('ab', 'a').
 *
 * Each part ends with '!'. The characters up to '"' (controls, space, '!' and '"' itself) are written as '"' and a
 * character 64 places further up. So an end sorts before any character, an escaped character before any other, and
 * what people put into names (letters, digits, '-', '.', '/') stays readable in the stored key.
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

/** Instants are moved by this much so that negative ones sort first, then split: 54 bits do not fit into shifts. */
const HALF_BITS = 28;
const HALF = 2 ** HALF_BITS;
const HIGH_OFFSET = 2 ** 53 / HALF;
const HALF_DIGITS = HALF_BITS / 4;
const INSTANT = /^[0-9a-f]{14}$/;
const COUNTER = /^[1-9a-e](0|[1-9a-f][0-9a-f]*)$/;
const HEX = 16;

/**
 * The key of a tuple. Any strings without unpaired surrogates; instants and counters go through
 * {@link instantPart} and {@link counterPart}. Keys sort like their tuples, part by part.
 */
export function keyOf(...parts: readonly string[]): string {
  let key = '';
  for (const part of parts) key += escapePart(part) + END;
  return key;
}

function escapePart(part: string): string {
  checkWellFormed(part);
  // Names rarely contain any: a test is several times cheaper than a replacement that finds nothing.
  if (!HAS_TO_ESCAPE.test(part)) return part;
  return part.replace(TO_ESCAPE, (character) => ESCAPE + String.fromCharCode(character.charCodeAt(0) + SHIFT));
}

/** The longest name that stands in keys as it is, in bytes: a key has room for three, every character escaped. */
const MAX_NAME_BYTES = 150;

/** A name of any length as a part: long ones by their digest. */
export function namePart(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return `=${name}`;
  return `#${createHash('sha256').update(name).digest('base64url')}`;
}

/** The name of a part that {@link namePart} made; of a long one its digest. */
export function nameOfPart(part: string): string {
  return part.startsWith('=') ? part.slice(1) : part;
}

/** The tuple of a key that {@link keyOf} made. Throws a `StateError` of kind `invalid` for any other. */
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

/** All keys whose tuples begin with these parts (the key of exactly these parts among them); without parts, all keys. */
export function rangeOf(...parts: readonly string[]): KeyRange {
  if (parts.length === 0) return { from: '' };
  const from = keyOf(...parts);
  return { from, to: from.slice(0, -END.length) + String.fromCharCode(HIGHEST_ESCAPED) };
}

/** An instant as a part that sorts by time: milliseconds since 1970, any safe integer, also negative. */
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

/** The instant of a part that {@link instantPart} made, in milliseconds since 1970. */
export function instantOf(part: string): number {
  if (!INSTANT.test(part)) throw new StateError('invalid', `The key part ${quote(part)} is no instant.`);
  const high = Number.parseInt(part.slice(0, HALF_DIGITS), HEX) - HIGH_OFFSET;
  return high * HALF + Number.parseInt(part.slice(HALF_DIGITS), HEX);
}

/** A number as a part that sorts by size: a safe integer of 0 or more. One digit of length, then the digits. */
export function counterPart(counter: number): string {
  if (!Number.isSafeInteger(counter) || counter < 0) {
    throw new StateError('invalid', `The counter ${String(counter)} must be a safe integer of 0 or more.`);
  }
  const digits = counter.toString(HEX);
  return digits.length.toString(HEX) + digits;
}

/** The number of a part that {@link counterPart} made. */
export function counterOf(part: string): number {
  const digits = part.slice(1);
  if (!COUNTER.test(part) || Number.parseInt(part.charAt(0), HEX) !== digits.length) {
    throw new StateError('invalid', `The key part ${quote(part)} is no counter.`);
  }
  return Number.parseInt(digits, HEX);
}

const FIRST_SURROGATE = 0xd800;
const FIRST_AFTER_SURROGATES = 0xe000;
const CODE_UNITS = 0x10000;
const FROM_FIRST_SURROGATE = /[\ud800-\uffff]/g;

/**
 * A string that sorts with `<` as the key does in UTF-8; for most keys the key itself. Code units from U+E000 on
 * change places with the surrogates, which stand for greater code points but are smaller units.
 */
export function sortFormOf(key: string): string {
  if (isPlain(key)) return key;
  return key.replace(FROM_FIRST_SURROGATE, (unit) => {
    const code = unit.charCodeAt(0);
    const isSurrogate = code < FIRST_AFTER_SURROGATES;
    return String.fromCharCode(
      isSurrogate ? code + CODE_UNITS - FIRST_AFTER_SURROGATES : code - FIRST_AFTER_SURROGATES + FIRST_SURROGATE,
    );
  });
}

/** Less than, equal to or greater than 0 as `a` stands before, at or after `b` in the order of keys. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return sortFormOf(a) < sortFormOf(b) ? -1 : 1;
}

/** The first key behind another. */
export function keyAfter(key: string): string {
  return `${key}\u0000`;
}
