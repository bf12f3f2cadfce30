import assert from 'node:assert/strict';
import type {
  KeyValueOperation,
  KeyValueStore,
  StoredValue,
  WriteCondition,
  WriteOutcome,
} from '../components/key-value.ts';

/**
 * Optional capabilities of key-value stores. `list`: it lists its keys. `outbox`: it keeps events. `durable`: it keeps its
 * values when closed and opened again. `shared`: it can be open several times at once. `binary`: it stores bytes that are
 * not JSON.
 *
 * @public
 */
export type KeyValueNeed = 'list' | 'outbox' | 'durable' | 'shared' | 'binary';

/** A key-value store under test. @public */
export interface KeyValueUnderTest {
  /** Opens it: empty at first, then (after a close, or beside another one) the same one again. */
  open(): Promise<KeyValueStore>;
  /** Lets this much time pass by its clock. */
  pass(ms: number): Promise<void>;
}

/** One behaviour of a key-value store. @public */
export interface KeyValueCase {
  /** A description of the behaviour. */
  readonly name: string;
  /** The capabilities that it needs. */
  readonly needs?: readonly KeyValueNeed[];
  /** Rejects if the store behaves differently. The case closes the stores it opens. */
  run(store: KeyValueUnderTest): Promise<void>;
}

/** The text of a JSON value as bytes. */
export function bytes(value: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify(value)));
}

/** Saves a value. */
export function put(
  key: string,
  value: unknown = key,
  more: { readonly condition?: WriteCondition; readonly ttlMs?: number } = {},
): KeyValueOperation {
  return { kind: 'put', key, value: bytes(value), ...more };
}

/** Removes a key. */
export function remove(key: string, condition?: WriteCondition): KeyValueOperation {
  return { kind: 'remove', key, ...(condition === undefined ? {} : { condition }) };
}

/** The JSON value of what was read. */
export function jsonOf(stored: StoredValue | undefined): unknown {
  return stored && (JSON.parse(Buffer.from(stored.bytes).toString()) as unknown);
}

/** The statuses of outcomes. */
export function statuses(outcomes: readonly WriteOutcome[]): readonly string[] {
  return outcomes.map(({ status }) => status);
}

/** The value and the ETag of a key that must exist. */
export async function readOne(store: KeyValueStore, key: string): Promise<StoredValue & { readonly etag: string }> {
  const [found] = await store.read([key]);
  assert.ok(found !== undefined, `${key} does not exist`);
  assert.ok(found.etag !== undefined, `${key} has no ETag`);
  return { ...found, etag: found.etag };
}

/** The values of keys; `undefined` for those that do not exist. */
export async function valuesOf(store: KeyValueStore, ...keys: readonly string[]): Promise<readonly unknown[]> {
  return (await store.read(keys)).map(jsonOf);
}

/** All keys with a prefix, page by page. */
export async function keysOf(store: KeyValueStore, prefix: string, limit = 100): Promise<readonly string[]> {
  const keys: string[] = [];
  for (;;) {
    const after = keys.at(-1);
    const page = await store.list?.(prefix, { limit, ...(after === undefined ? {} : { after }) });
    if (page === undefined || page.length === 0) return keys;
    assert.ok(page.length <= limit);
    keys.push(...page.map(({ key }) => key));
  }
}

/** A case on one open store. */
export function onKeyValue(
  name: string,
  run: (store: KeyValueStore, under: KeyValueUnderTest) => Promise<void>,
  ...needs: readonly KeyValueNeed[]
): KeyValueCase {
  return {
    name,
    needs,
    async run(under) {
      const store = await under.open();
      try {
        await run(store, under);
      } finally {
        await store.close();
      }
    },
  };
}
