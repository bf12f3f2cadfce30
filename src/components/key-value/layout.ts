import { createHash } from 'node:crypto';
import { instantOf, instantPart, keyOf, partsOf, rangeOf, textAfter } from '../../state/keys.ts';
import type { KeyRange } from '../../state/store.ts';
import { KEY_SEPARATOR } from '../key-value-options.ts';

/*
 * An entry has room for every key that requests may have, because keys are not escaped: they are the last part, which
 * needs no end. The longest entry is one of `kv-due`, of 1,006 bytes: 7 of the word, 66 of the store's name, 15 of the
 * instant, 1 of the mark, and the key: an owner of 400 bytes, 2 of the separator, 512 of a request. An owner that is
 * longer is replaced by its digest.
 */
const MAX_NAME_BYTES = 64;
const MAX_OWNER_BYTES = 400;
const WHOLE = '=';
const DIGEST = '#';
const DIGEST_LENGTH = 43;
const MAX_BYTES_PER_UNIT = 3;

/**
 * Where a key-value store keeps what: values below `kv`; for each value that expires an entry below `kv-due`, from which
 * it is found when its time is over; events below `kv-outbox`. Nothing of the sidecar's own begins so.
 */
export class KeyValueLayout {
  readonly #name: string;
  readonly #values: string;
  readonly #due: string;

  constructor(storeName: string) {
    const escapedBytes = Buffer.byteLength(keyOf(storeName)) - keyOf('').length;
    this.#name = escapedBytes < MAX_NAME_BYTES ? WHOLE + storeName : DIGEST + digestOf(storeName);
    this.#values = keyOf('kv', this.#name);
    this.#due = keyOf('kv-due', this.#name);
  }

  /** The entry of a value. */
  value(key: string): string {
    return this.#values + placeOf(key);
  }

  /** The key of a value that was found in the range of a prefix. */
  keyOf(entry: string, prefix: string): string {
    const place = entry.slice(this.#values.length);
    if (place.startsWith(WHOLE)) return place.slice(WHOLE.length);
    return prefix.slice(0, ownerLength(prefix)) + place.slice(DIGEST.length + DIGEST_LENGTH);
  }

  /** The values whose keys begin with a prefix. Those of an owner with a digest are found if the prefix has all of it. */
  values(prefix: string): KeyRange {
    const from = this.value(prefix);
    return { from, to: textAfter(from) };
  }

  /** The entry from which a value is found at an instant. */
  due(at: number, key: string): string {
    return this.#due + keyOf(instantPart(at)) + placeOf(key);
  }

  /** All entries from which expired values are found. */
  get allDue(): KeyRange {
    return rangeOf('kv-due', this.#name);
  }

  /** The entry of an event that a transaction has left. */
  event(id: string): string {
    return keyOf('kv-outbox', this.#name, id);
  }

  /** All of them, in the order of their IDs. */
  get allEvents(): KeyRange {
    return rangeOf('kv-outbox', this.#name);
  }

  /** The ID of an event, by its entry. */
  eventOf(entry: string): string {
    return partsOf(entry)[2] ?? '';
  }

  /** The instant of one of those that expire, and the entry of its value. */
  dueOf(due: string): { readonly at: number; readonly entry: string } {
    const placeAt = this.#due.length + INSTANT_LENGTH;
    const [instant = ''] = partsOf(due.slice(this.#due.length, placeAt));
    return { at: instantOf(instant), entry: this.#values + due.slice(placeAt) };
  }
}

const INSTANT_LENGTH = keyOf(instantPart(0)).length;

/** The place of a key in entry keys: the key itself, with a digest for its owner if that is long. */
function placeOf(key: string): string {
  if (key.length * MAX_BYTES_PER_UNIT <= MAX_OWNER_BYTES) return WHOLE + key;
  const end = ownerLength(key);
  const owner = key.slice(0, end);
  if (Buffer.byteLength(owner) <= MAX_OWNER_BYTES) return WHOLE + key;
  return DIGEST + digestOf(owner) + key.slice(end);
}

/**
 * The length of what stands before the last separator: the application or what else the keys belong to, as no key of a
 * request contains a separator. Of three bars, the first two are the separator.
 */
function ownerLength(key: string): number {
  let end = key.lastIndexOf(KEY_SEPARATOR);
  while (end > 0 && key[end - 1] === KEY_SEPARATOR[0]) end--;
  return Math.max(end, 0);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
