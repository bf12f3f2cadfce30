import assert from 'node:assert/strict';
import type { KeyValueStore, WriteOutcome } from '../components/key-value.ts';
import {
  bytes,
  jsonOf,
  type KeyValueCase,
  keysOf,
  onKeyValue,
  put,
  readOne,
  remove,
  statuses,
  valuesOf,
} from './key-value-case.ts';
import { outboxCases } from './key-value-outbox-cases.ts';

const ATOMIC = { atomic: true } as const;
const EACH = { atomic: false } as const;
const NEVER_GIVEN = 'no-etag-of-this-store';

function etagOf(outcome: WriteOutcome | undefined): string {
  assert.ok(outcome?.status === 'done' && outcome.etag !== undefined, 'a put has no ETag');
  return outcome.etag;
}

async function save(store: KeyValueStore, key: string, value: unknown): Promise<string> {
  const [outcome] = await store.write([put(key, value)], EACH);
  return etagOf(outcome);
}

const values: readonly KeyValueCase[] = [
  onKeyValue('returns what was saved, in the order of the keys, repeated keys repeated', async (store) => {
    await store.write([put('a', { n: 1 }), put('b', null)], EACH);
    assert.deepEqual(await valuesOf(store, 'b', 'never', 'a', 'b'), [null, undefined, { n: 1 }, null]);
    assert.deepEqual(await store.read([]), []);
    assert.deepEqual(await store.write([], ATOMIC), []);
  }),
  onKeyValue('replaces and removes; removing a key that does not exist is no error', async (store) => {
    await save(store, 'a', 1);
    assert.deepEqual(statuses(await store.write([put('a', 2), remove('b')], EACH)), ['done', 'done']);
    assert.deepEqual(await valuesOf(store, 'a', 'b'), [2, undefined]);
    await store.write([remove('a')], EACH);
    assert.deepEqual(await valuesOf(store, 'a'), [undefined]);
  }),
  onKeyValue('keeps every digit of a number and every character', async (store) => {
    const texts = ['0.1234567890123', '123456789012345678901234567890', '"ä😀\\"\\\\"', '[]', '{"__proto__":1}'];
    await store.write(
      texts.map((text, index) => ({ kind: 'put', key: `k${index}`, value: new TextEncoder().encode(text) })),
      EACH,
    );
    const found = await store.read(texts.map((_, index) => `k${index}`));
    const compact = found.map((one) => one && new TextDecoder().decode(one.bytes).replaceAll(' ', ''));
    assert.deepEqual(compact, texts);
  }),
  onKeyValue('tells keys apart exactly', async (store) => {
    const keys = ['a', 'A', 'a ', 'ä', 'a/b', "a'b", 'a"b', 'a%b', 'a_b', 'a\\b', '__proto__', 'constructor', '😀'];
    await store.write(
      keys.map((key) => put(key, `${key}!`)),
      ATOMIC,
    );
    assert.deepEqual(
      await valuesOf(store, ...keys),
      keys.map((key) => `${key}!`),
    );
  }),
  onKeyValue(
    'keeps bytes that are not JSON',
    async (store) => {
      const value = new Uint8Array([0, 255, 1, 128]);
      await store.write([{ kind: 'put', key: 'a', value, isBinary: true }], EACH);
      assert.deepEqual(new Uint8Array((await readOne(store, 'a')).bytes), value);
    },
    'binary',
  ),
];

const conditions: readonly KeyValueCase[] = [
  onKeyValue('gives every write an ETag that the key never had', async (store) => {
    const seen: string[] = [await save(store, 'a', 1)];
    assert.equal((await readOne(store, 'a')).etag, seen[0]);
    seen.push(await save(store, 'a', 1));
    await store.write([remove('a')], EACH);
    seen.push(await save(store, 'a', 1));
    const [outcome] = await store.write([put('a', 1)], ATOMIC);
    seen.push(etagOf(outcome));
    assert.equal((await readOne(store, 'a')).etag, seen.at(-1));
    assert.equal(new Set(seen).size, seen.length, `an ETag was used twice: ${seen.join()}`);
  }),
  onKeyValue('writes with the present ETag, and refuses any other', async (store) => {
    const first = await save(store, 'a', 1);
    const second = etagOf((await store.write([put('a', 2, { condition: { etag: first } })], EACH))[0]);
    for (const etag of [first, NEVER_GIVEN, '', `${second}x`, `${second}\0`, '0', '-1', '99999999999999999999']) {
      const condition = { etag };
      assert.deepEqual(statuses(await store.write([put('a', 3, { condition })], EACH)), ['refused'], etag);
      assert.deepEqual(statuses(await store.write([remove('a', condition)], EACH)), ['refused'], etag);
    }
    assert.equal(jsonOf(await readOne(store, 'a')), 2);
    assert.deepEqual(statuses(await store.write([remove('a', { etag: second })], EACH)), ['done']);
    assert.deepEqual(await valuesOf(store, 'a'), [undefined]);
  }),
  onKeyValue('refuses an ETag for a key that does not exist', async (store) => {
    const etag = await save(store, 'a', 1);
    await store.write([remove('a')], EACH);
    for (const key of ['a', 'never']) {
      assert.deepEqual(statuses(await store.write([put(key, 2, { condition: { etag } })], EACH)), ['refused']);
      assert.deepEqual(statuses(await store.write([remove(key, { etag })], EACH)), ['refused']);
    }
    assert.deepEqual(await valuesOf(store, 'a', 'never'), [undefined, undefined]);
  }),
  onKeyValue('writes a key that must not exist once', async (store) => {
    const condition = 'absent';
    assert.deepEqual(statuses(await store.write([put('a', 1, { condition })], EACH)), ['done']);
    assert.deepEqual(statuses(await store.write([put('a', 2, { condition })], EACH)), ['refused']);
    assert.deepEqual(statuses(await store.write([remove('a', condition)], EACH)), ['refused']);
    assert.deepEqual(statuses(await store.write([remove('b', condition)], EACH)), ['done']);
    // It leaves no mark.
    await save(store, 'a', 3);
    assert.deepEqual(await valuesOf(store, 'a', 'b'), [3, undefined]);
  }),
  onKeyValue('does one of many writes with one ETag, or for one absent key', async (store) => {
    const etag = await save(store, 'a', 0);
    const writers = Array.from({ length: 20 }, (_, index) => index + 1);
    const once = async (key: string, condition: 'absent' | { readonly etag: string }): Promise<void> => {
      const outcomes = await Promise.all(writers.map((n) => store.write([put(key, n, { condition })], ATOMIC)));
      const done = outcomes.flatMap((one, index) => (one[0]?.status === 'done' ? [index + 1] : []));
      assert.equal(done.length, 1);
      assert.deepEqual(await valuesOf(store, key), done);
    };
    await once('a', { etag });
    await once('b', 'absent');
  }),
];

const together: readonly KeyValueCase[] = [
  onKeyValue('writes all or nothing, if it is to', async (store) => {
    const etag = await save(store, 'a', 1);
    await save(store, 'b', 1);
    const condition = { etag: NEVER_GIVEN };
    const operations = [put('a', 2, { condition: { etag } }), put('b', 2, { condition }), put('c', 2), remove('d')];
    const outcomes = statuses(await store.write(operations, ATOMIC));
    assert.ok(outcomes.includes('refused') && !outcomes.includes('done'), outcomes.join());
    assert.equal(outcomes[1], 'refused');
    assert.deepEqual(await valuesOf(store, 'a', 'b', 'c'), [1, 1, undefined]);
    const right = [put('a', 2, { condition: { etag } }), remove('b'), put('c', 2, { condition: 'absent' })];
    assert.deepEqual(statuses(await store.write(right, ATOMIC)), ['done', 'done', 'done']);
    assert.deepEqual(await valuesOf(store, 'a', 'b', 'c'), [2, undefined, 2]);
  }),
  onKeyValue('writes each by itself, if it may', async (store) => {
    await save(store, 'a', 1);
    const condition = { etag: NEVER_GIVEN };
    const operations = [put('x', 1), put('a', 2, { condition }), put('y', 1, { condition: 'absent' }), remove('z')];
    assert.deepEqual(statuses(await store.write(operations, EACH)), ['done', 'refused', 'done', 'done']);
    assert.deepEqual(await valuesOf(store, 'x', 'a', 'y'), [1, 1, 1]);
  }),
  onKeyValue('never shows half of what was written together', async (store) => {
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    const writes = Array.from({ length: 10 }, (_, n) =>
      store.write(
        keys.map((key) => put(key, n)),
        ATOMIC,
      ),
    );
    for (let reads = 0; reads < 10; reads++) {
      const found: readonly unknown[] = await valuesOf(store, ...keys);
      assert.equal(new Set(found).size, 1, `a read shows several states: ${found.join()}`);
    }
    await Promise.all(writes);
  }),
  onKeyValue('writes thousands of keys together', async (store) => {
    const keys = Array.from({ length: 3_000 }, (_, index) => `k${index}`);
    const outcomes = await store.write(
      keys.map((key) => put(key, 'x'.repeat(50))),
      ATOMIC,
    );
    assert.equal(new Set(outcomes.map(({ status }) => status)).size, 1);
    assert.equal((await store.read(keys)).filter((one) => one !== undefined).length, keys.length);
    await store.write(
      keys.map((key) => remove(key)),
      EACH,
    );
    assert.equal((await store.read(keys)).filter((one) => one !== undefined).length, 0);
  }),
];

const expiring: readonly KeyValueCase[] = [
  onKeyValue('a value exists until its time is over', async (store, under) => {
    await store.write([put('a', 1, { ttlMs: 2_000 }), put('b', 1)], EACH);
    const { expiresAt, etag } = await readOne(store, 'a');
    assert.ok(expiresAt !== undefined && (await readOne(store, 'b')).expiresAt === undefined);
    await under.pass(3_100);
    assert.deepEqual(await valuesOf(store, 'a', 'b'), [undefined, 1]);
    assert.deepEqual(statuses(await store.write([put('a', 2, { condition: { etag } })], ATOMIC)), ['refused']);
    assert.deepEqual(statuses(await store.write([remove('a', { etag })], EACH)), ['refused']);
    assert.deepEqual(statuses(await store.write([remove('a', 'absent')], EACH)), ['done']);
    assert.deepEqual(statuses(await store.write([put('a', 3, { condition: 'absent' })], ATOMIC)), ['done']);
    assert.deepEqual(await valuesOf(store, 'a'), [3]);
  }),
  onKeyValue('a write without a TTL removes an earlier one, and a new one replaces it', async (store, under) => {
    await store.write([put('a', 1, { ttlMs: 2_000 }), put('b', 1, { ttlMs: 2_000 }), put('c')], EACH);
    await store.write([put('a', 2), put('b', 2, { ttlMs: 60_000 }), put('c', 2, { ttlMs: 2_000 })], ATOMIC);
    assert.equal((await readOne(store, 'a')).expiresAt, undefined);
    await under.pass(3_100);
    assert.deepEqual(await valuesOf(store, 'a', 'b', 'c'), [2, 2, undefined]);
  }),
];

const listing: readonly KeyValueCase[] = [
  onKeyValue(
    'lists the keys with a prefix in order, page by page, without expired ones',
    async (store, under) => {
      const keys = ['p||a', 'p||a/b', 'p||b', 'p||c', 'p||%', 'p||_x', 'p||ä'];
      await store.write(
        [...keys, 'p', 'p|', 'q||a', 'pp||a', 'P||a'].map((key) => put(key)),
        EACH,
      );
      await store.write([put('p||gone', 1, { ttlMs: 1_000 })], EACH);
      await under.pass(2_100);
      const sorted = [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      for (const limit of [1, 2, 100]) assert.deepEqual(await keysOf(store, 'p||', limit), sorted);
      assert.deepEqual(await keysOf(store, 'never||'), []);
      assert.equal((await keysOf(store, '')).length, keys.length + 5);
      const [first] = (await store.list?.('p||b', { limit: 1 })) ?? [];
      assert.deepEqual([first?.key, jsonOf(first)], ['p||b', 'p||b']);
      assert.equal(first?.etag, (await readOne(store, 'p||b')).etag);
    },
    'list',
  ),
];

const ending: readonly KeyValueCase[] = [
  {
    name: 'keeps its values after a close',
    needs: ['durable'],
    async run({ open }) {
      const store = await open();
      const etag = await save(store, 'a', 1);
      await store.close();
      await store.close();
      const again = await open();
      try {
        assert.equal((await readOne(again, 'a')).etag, etag);
        assert.deepEqual(statuses(await again.write([put('a', 2, { condition: { etag } })], EACH)), ['done']);
      } finally {
        await again.close();
      }
    },
  },
  {
    name: 'is the same for all that have it open',
    needs: ['shared'],
    async run({ open }) {
      const [one, other] = [await open(), await open()];
      try {
        const etag = await save(one, 'a', 1);
        assert.equal((await readOne(other, 'a')).etag, etag);
        await other.write([put('a', 2, { condition: { etag } })], EACH);
        assert.deepEqual(statuses(await one.write([put('a', 3, { condition: { etag } })], EACH)), ['refused']);
        assert.deepEqual(await valuesOf(one, 'a'), [2]);
      } finally {
        await Promise.all([one.close(), other.close()]);
      }
    },
  },
  {
    name: 'completes the calls in flight on close, and rejects later ones',
    async run({ open }) {
      const store = await open();
      const writes = Array.from({ length: 50 }, (_, index) => store.write([put(`k${index}`)], EACH));
      await Promise.all([store.close(), Promise.allSettled(writes)]);
      await store.close();
      await assert.rejects(store.read(['a']));
      await assert.rejects(store.write([{ kind: 'put', key: 'a', value: bytes(1) }], ATOMIC));
    },
  },
];

/**
 * The behaviour required of every `KeyValueStore`, as plain data for any test runner.
 *
 * @example
 * ```ts
 * const pass = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
 * for (const { name, run } of keyValueConformance)
 *   test(name, () => run({ open: () => openMyKeyValueStore('./empty'), pass }));
 * ```
 * @public
 */
export const keyValueConformance: readonly KeyValueCase[] = [
  ...values,
  ...conditions,
  ...together,
  ...expiring,
  ...listing,
  ...outboxCases,
  ...ending,
];
