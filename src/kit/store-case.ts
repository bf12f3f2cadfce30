import assert from 'node:assert/strict';
import { isStateError, type StateErrorKind } from '../state/errors.ts';
import type { KeyedEntry, Scan, StateStore } from '../state/store.ts';

/** Optional capabilities of stores. @public */
export type StoreNeed = 'durable' | 'shared';

/** One behaviour of a state store. @public */
export interface StoreCase {
  /** A description of the behaviour. */
  readonly name: string;
  /**
   * The capabilities that it needs. `durable`: the store keeps its data when closed and opened again. `shared`: it can be
   * open several times at once.
   */
  readonly needs?: readonly StoreNeed[];
  /**
   * Rejects if the store behaves differently. `open` opens the store under test: empty at first, then (after a close)
   * the same one again. The case closes the stores it opens.
   */
  run(open: () => Promise<StateStore>): Promise<void>;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
/** The text of a value. */
export const textOf = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);
/** A put of a key, by default with its own name as the value. */
export const put = (key: string, text: string = key): { key: string; value: Uint8Array } => ({
  key,
  value: bytesOf(text),
});

/** A case with one open store, closed at its end. */
export function onStore(name: string, run: (store: StateStore) => Promise<void>): StoreCase {
  return {
    name,
    async run(open) {
      const store = await open();
      try {
        await run(store);
      } finally {
        await store.close();
      }
    },
  };
}

/** The keys that a scan returns. */
export async function keysOf(store: StateStore, scan: Scan): Promise<readonly string[]> {
  return (await store.scan(scan)).map((entry: KeyedEntry) => entry.key);
}

/** Checks that a call rejects with a `StateError` of this kind with a matching message. */
export function rejectsWith(promise: Promise<unknown>, kind: StateErrorKind, message: RegExp = /./): Promise<void> {
  return assert.rejects(promise, (error) => {
    assert.ok(isStateError(error), `a StateError was expected, not ${String(error)}`);
    assert.equal(error.kind, kind);
    assert.match(error.message, message);
    return true;
  });
}
