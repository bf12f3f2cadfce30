/** What JSON writes as an empty object, though it holds something. */
const LOST_TAGS: ReadonlySet<string> = new Set(
  [
    ...['Map', 'Set', 'WeakMap', 'WeakSet', 'Promise', 'ArrayBuffer', 'SharedArrayBuffer', 'DataView'],
    ...['URLSearchParams', 'FormData', 'Blob', 'File', 'Headers', 'Error', 'DOMException', 'RegExp'],
  ].map((name) => `[object ${name}]`),
);

/** Something that JSON cannot hold, and where. */
interface Found {
  readonly kind: string;
  /** `items[2].price`; empty for the value itself. */
  readonly path: string;
}

/** Deeper than this nothing is looked for: what walks a value must not exhaust the stack before JSON does. */
const MAX_DEPTH = 1_000;

/**
 * The JSON text of a value of code; `undefined` for `undefined`.
 *
 * What `JSON.stringify` drops or empties without a word is refused: functions, symbols, NaN and infinities, invalid
 * dates, maps, sets, promises, errors without fields of their own, regular expressions. A property that is `undefined` is left out, as JSON does it.
 *
 * @throws Error saying what it is and where; the message goes on from the name of the value: `has NaN at items[2]: …`.
 */
export function jsonTextOf(value: unknown): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    // A BigInt, a cycle, or a toJSON or getter that throws.
    const found = find(value, []);
    throw found === undefined ? new Error('has no JSON form', { cause }) : notJson(found);
  }
  const found = find(value);
  if (found !== undefined) throw notJson(found);
  return text;
}

/** The value may have code of its own: what that throws is no message for whoever reads ours. */
function find(value: unknown, ancestors?: readonly object[]): Found | undefined {
  try {
    return lostIn(value, 0, ancestors);
  } catch (cause) {
    throw new Error('has no JSON form', { cause });
  }
}

function notJson({ kind, path }: Found): Error {
  return new Error(path === '' ? `is ${kind}: JSON cannot hold it` : `has ${kind} at ${path}: JSON cannot hold it`);
}

/** @param ancestors - those that hold the value, when it may be one of them */
function lostIn(value: unknown, depth: number, ancestors?: readonly object[]): Found | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : { kind: String(value), path: '' };
    case 'bigint':
      return { kind: 'a BigInt', path: '' };
    case 'function':
    case 'symbol':
      return { kind: `a ${typeof value}`, path: '' };
    case 'object':
      if (value === null || depth > MAX_DEPTH) return undefined;
      if (ancestors?.includes(value) === true) return { kind: 'a cycle', path: '' };
      return lostInObject(value, depth, ancestors && [...ancestors, value]);
    default:
      return undefined;
  }
}

function lostInObject(value: object, depth: number, ancestors?: readonly object[]): Found | undefined {
  const isList = Array.isArray(value);
  const kind = isList ? undefined : lostItself(value);
  if (kind !== undefined) return { kind, path: '' };
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === 'function') return undefined;
  const names = isList ? undefined : Object.keys(value);
  const { length } = names ?? (value as readonly unknown[]);
  for (let index = 0; index < length; index++) {
    const key = names?.[index] ?? index;
    const member: unknown = value[key as keyof typeof value];
    if (typeof member === 'string') continue;
    const found = lostIn(member, depth + 1, ancestors);
    if (found !== undefined) return { kind: found.kind, path: joined(key, found.path) };
  }
  return undefined;
}

function lostItself(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined;
  // By its tag: it may be of another realm, as under Jest.
  const tag = Object.prototype.toString.call(value);
  if (tag === '[object Date]' && Number.isNaN((value as Date).getTime())) return 'an invalid Date';
  if (!LOST_TAGS.has(tag) || 'toJSON' in value) return undefined;
  // One that has fields of its own, such as a failed task's error, says what it is by them.
  if (tag === '[object Error]' && Object.keys(value).length > 0) return undefined;
  const name = tag.slice('[object '.length, -1);
  return /^[AE]/.test(name) ? `an ${name}` : `a ${name}`;
}

const MAX_SHOWN_NAME = 64;

/** `[2].price` and `items` is `items[2].price`. */
function joined(key: string | number, rest: string): string {
  const shown = typeof key === 'number' ? key : key.slice(0, MAX_SHOWN_NAME);
  const first = typeof shown === 'string' && /^[\w$]+$/.test(shown) ? shown : `[${JSON.stringify(shown)}]`;
  return rest === '' || rest.startsWith('[') ? first + rest : `${first}.${rest}`;
}
