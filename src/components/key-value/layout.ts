import { instantOf, instantPart, keyOf, namePart, partsOf, rangeOf, rangeOfPrefix } from '../../state/keys.ts';
import type { KeyRange } from '../../state/store.ts';

/**
 * Where a key-value store keeps what: values below `kv`; for each value that expires an entry below `kv-due`, from which
 * it is found when its time is over; events below `kv-outbox`. Nothing of the sidecar's own begins so.
 */
export class KeyValueLayout {
  readonly #name: string;
  readonly #values: string;

  constructor(storeName: string) {
    this.#name = namePart(storeName);
    this.#values = keyOf('kv', this.#name);
  }

  /** The entry of a value. */
  value(key: string): string {
    return this.#values + keyOf(key);
  }

  /** The key of a value, by its entry. */
  keyOf(entry: string): string {
    return partsOf(entry.slice(this.#values.length))[0] ?? '';
  }

  /** The values whose keys begin with a prefix. */
  values(prefix: string): KeyRange {
    return rangeOfPrefix(['kv', this.#name], prefix);
  }

  /** The entry from which a value is found at an instant. */
  due(at: number, key: string): string {
    return keyOf('kv-due', this.#name, instantPart(at), key);
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

  /** The instant and the key of one of those that expire. */
  dueOf(entry: string): { readonly at: number; readonly key: string } {
    const [, , instant = '', key = ''] = partsOf(entry);
    return { at: instantOf(instant), key };
  }
}
