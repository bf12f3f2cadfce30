import { messageOf } from '../errors.ts';

/** Types with content that JSON writes as an empty object, or as one with a member for each number. */
const LOST_TAGS: ReadonlySet<string> = new Set(
  [
    ...['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array'],
    ...['Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'],
    ...['Map', 'Set', 'WeakMap', 'WeakSet', 'Promise', 'ArrayBuffer', 'SharedArrayBuffer', 'DataView'],
    ...['URLSearchParams', 'FormData', 'Blob', 'File', 'Headers', 'Error', 'DOMException', 'RegExp'],
  ].map((name) => `[object ${name}]`),
);

/** A value that JSON cannot represent, and its path. */
interface Found {
  readonly kind: string;
  /** Such as `items[2].price`; empty for the value itself. */
  readonly path: string;
}

/** Max search depth: the search must not overflow the stack before JSON does. */
const MAX_DEPTH = 1_000;

/**
 * The JSON text of a value; `undefined` for `undefined`.
 *
 * Rejects values that `JSON.stringify` silently drops or empties: functions, symbols, NaN and infinities, invalid
 * dates, maps, sets, promises, errors without own fields, regular expressions, and instances of classes with private
 * fields or getters. Like JSON, omits `undefined` properties.
 *
 * @throws Error with the kind and path of the value; its message follows the value's name: `has NaN at items[2]: …`.
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

/**
 * The JSON text of a value that must have one. Otherwise throws the error that `refuse` makes of the problem, which
 * follows the value's name (`is undefined: expected JSON`), and of its cause.
 *
 * @param expected - what may stand in place of `undefined`
 */
export function requiredJsonText(
  value: unknown,
  expected: string,
  refuse: (problem: string, cause?: unknown) => Error,
): string {
  let text: string | undefined;
  try {
    text = jsonTextOf(value);
  } catch (cause) {
    throw refuse(messageOf(cause), cause);
  }
  if (text === undefined) throw refuse(`is ${typeof value}: expected ${expected}`);
  return text;
}

/** The value may run code of its own: errors it throws would not be helpful messages. */
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

/** @param ancestors - the objects that contain the value, if cycles are possible */
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
    if (found !== undefined) return { kind: found.kind, path: joinedPath(key, found.path) };
  }
  return undefined;
}

function lostItself(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined;
  // By its tag: it may come from another realm, as under Jest.
  const tag = Object.prototype.toString.call(value);
  if (tag === '[object Date]' && Number.isNaN((value as Date).getTime())) return 'an invalid Date';
  if ('toJSON' in value || tag === '[object String]') return undefined;
  // An error with own fields, such as that of a failed task, is described by them.
  if (tag === '[object Error]' && Object.keys(value).length > 0) return undefined;
  const kind = tag.slice('[object '.length, -1);
  return LOST_TAGS.has(tag) ? withArticle(kind) : lostOfClass(prototype as object, kind);
}

function withArticle(name: string): string {
  return /^[AEIO]/.test(name) ? `an ${name}` : `a ${name}`;
}

/** What instances lose, by prototype; empty if they lose nothing. */
const lostOfClasses = new WeakMap<object, string>();

/** State of an instance that JSON does not see: getters, private fields, the items of a collection. */
function lostOfClass(prototype: object, kind: string): string | undefined {
  let lost = lostOfClasses.get(prototype);
  if (lost === undefined) {
    const state = stateOutsideFields(prototype);
    // What Node makes has a tag of its own, and constructors that differ from version to version.
    const name = kind === 'Object' ? prototype.constructor?.name : kind;
    lost = state === undefined ? '' : `${withArticle(name || 'object')} with ${state}`;
    lostOfClasses.set(prototype, lost);
  }
  return lost === '' ? undefined : lost;
}

/** A private field that code of a class reads or writes, but not a private method that it calls. */
const PRIVATE_FIELD = /\bthis\.(#[\p{ID_Continue}$]+)(?!\s*[(\p{ID_Continue}$])/u;

function stateOutsideFields(prototype: object): string | undefined {
  let one = prototype;
  // The last of the chain is `Object.prototype`, perhaps that of another realm.
  for (let next = parentOf(one); next !== null; one = next, next = parentOf(next)) {
    const members = Object.entries(Object.getOwnPropertyDescriptors(one));
    const getter = members.find(([, { get }]) => get !== undefined);
    if (getter !== undefined) return `the getter ${getter[0].slice(0, MAX_SHOWN_NAME)}`;
    if (Symbol.iterator in one) return 'items of its own';
    const source = typeof one.constructor === 'function' ? Function.prototype.toString.call(one.constructor) : '';
    const field = source.startsWith('class') ? PRIVATE_FIELD.exec(source) : null;
    if (field !== null) return `the private field ${field[1]?.slice(0, MAX_SHOWN_NAME)}`;
  }
  return undefined;
}

function parentOf(prototype: object): object | null {
  return Object.getPrototypeOf(prototype) as object | null;
}

const MAX_SHOWN_NAME = 64;

/** Joins `items` and `[2].price` to `items[2].price`. */
export function joinedPath(key: string | number, rest: string): string {
  const shown = typeof key === 'number' ? key : key.slice(0, MAX_SHOWN_NAME);
  const first = typeof shown === 'string' && /^[\w$]+$/.test(shown) ? shown : `[${JSON.stringify(shown)}]`;
  return rest === '' || rest.startsWith('[') ? first + rest : `${first}.${rest}`;
}
