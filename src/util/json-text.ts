import { isUtf8 } from 'node:buffer';

/**
 * Extracts parts of JSON text without rewriting them, so that numbers keep every digit. The text must be valid JSON
 * (accepted by `JSON.parse`): nothing is validated again here.
 */

/** A member of a JSON object. */
export interface JsonMember {
  readonly key: string;
  /** The text of its value, unchanged. */
  readonly value: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** The members of a JSON object, in order. Repeated keys are all included. */
export function jsonMembers(text: string): JsonMember[] {
  const members: JsonMember[] = [];
  let at = skipSpace(text, text.indexOf('{') + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd, COLON));
    const valueEnd = skipValue(text, valueStart);
    members.push({ key: jsonString(text.slice(at, keyEnd)), value: text.slice(valueStart, valueEnd) });
    at = skipSpace(text, valueEnd, COMMA);
  }
  return members;
}

/** The texts of a JSON array's elements, in order. */
export function jsonElements(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, text.indexOf('[') + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = skipValue(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, end, COMMA);
  }
  return elements;
}

/** The value of a JSON string, from its text with the quotes. Most have no escapes, and then it takes a fifth of the time. */
export function jsonString(text: string): string {
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/** Skips whitespace, one optional `separator`, and whitespace. */
function skipSpace(text: string, from: number, separator?: number): number {
  let at = from;
  let seen = separator === undefined;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) at++;
    else if (!seen && code === separator) {
      seen = true;
      at++;
    } else return at;
  }
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    const end = text.indexOf('"', at);
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

function skipValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return skipString(text, from);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(text, from);
  let at = from;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at++;
  return at;
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= 0x20;
}

function skipNested(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at);
      continue;
    }
    at++;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at;
  }
}

/** JSON text with its parsed value. */
export interface ParsedJson {
  readonly text: string;
  readonly value: unknown;
}

/** Parses a body. If it is not UTF-8 or not JSON, throws the error that `refuse` makes of the problem and its cause. */
export function parseJsonBody(body: Buffer, refuse: (problem: string, cause?: unknown) => Error): ParsedJson {
  if (!isUtf8(body)) throw refuse('the body is not UTF-8');
  const text = body.toString();
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch (cause) {
    throw refuse('the body is not JSON', cause);
  }
}

/** As {@link parseJsonBody}, for a body that has to be a JSON object. */
export function parseJsonObject(
  body: Buffer,
  refuse: (problem: string, cause?: unknown) => Error,
): ParsedJson & { readonly value: JsonObject } {
  const { text, value } = parseJsonBody(body, refuse);
  if (isJsonObject(value)) return { text, value };
  throw refuse(`the body is ${kindOfJson(value)}`);
}

/** The text of a member of a JSON object; `undefined` if it is absent. As in `JSON.parse`, the last one of a name counts. */
export function jsonMember(text: string, key: string): string | undefined {
  return jsonMembers(text).findLast((member) => member.key === key)?.value;
}

/** A JSON object, or options that have the form of one. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kind of a JSON value for messages: `a string`, `an array`, `null`. */
export function kindOfJson(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return Array.isArray(value) ? 'an array' : 'an object';
}
