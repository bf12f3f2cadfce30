import assert from 'node:assert/strict';
import { isStateError, type StateErrorKind } from '../state/errors.ts';
import type { KeyedEntry, Scan, StateStore } from '../state/store.ts';

/** What only some stores can do. @public */
export type StoreNeed = 'durable';

/** One behaviour of a state store. @public */
export interface StoreCase {
  /** The behaviour, in words. */
  readonly name: string;
  /** What the store must be able to do for it: `durable`: closed and opened again, it has what it had. */
  readonly needs?: readonly StoreNeed[];
  /**
   * Rejects when the store behaves otherwise. `open` opens the store under test: empty at first, and when it is
   * called again (after a close) the same one again. The case closes what it opens.
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

/** A case on one open store, closed at its end. */
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

/** The keys that a scan answers. */
export async function keysOf(store: StateStore, scan: Scan): Promise<readonly string[]> {
  return (await store.scan(scan)).map((entry: KeyedEntry) => entry.key);
}

/** Checks that a call rejects with a `StateError` of a kind whose message matches. */
export function rejectsWith(promise: Promise<unknown>, kind: StateErrorKind, message: RegExp = /./): Promise<void> {
  return assert.rejects(promise, (error) => {
    assert.ok(isStateError(error), `a StateError was expected, not ${String(error)}`);
    assert.equal(error.kind, kind);
    assert.match(error.message, message);
    return true;
  });
}
