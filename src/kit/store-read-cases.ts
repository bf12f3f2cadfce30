import assert from 'node:assert/strict';
import { countEntries } from '../state/count-entries.ts';
import { type KeyRange, MAX_KEY_BYTES, MAX_VALUE_BYTES } from '../state/store.ts';
import { keysOf, onStore, put, rejectsWith, type StoreCase, textOf } from './store-case.ts';

/** Cases about reads. */
export const reading: readonly StoreCase[] = [
  onStore('returns stored entries, and nothing for other keys', async (store) => {
    await store.commit({ put: [put('a', 'one'), put('b', '')] });
    assert.equal(textOf((await store.get('a'))?.value), 'one');
    assert.equal((await store.get('b'))?.value.byteLength, 0);
    assert.equal(await store.get('c'), undefined);
  }),
  onStore('returns the entries of many keys from one state of the store', async (store) => {
    if (store.getAll === undefined) return;
    assert.deepEqual(await store.getAll([]), []);
    const version = await store.commit({ put: [put('a', 'one'), put('b', ''), put('\uffff', 'last')] });
    const found = await store.getAll(['b', 'never', '\uffff', 'a']);
    assert.deepEqual(
      found.map((entry) => entry && [textOf(entry.value), entry.version]),
      [['', version], undefined, ['last', version], ['one', version]],
    );
    const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
    const writers = Array.from({ length: 20 }, (_, round) =>
      store.commit({ put: keys.map((key) => put(key, String(round))) }),
    );
    for (let reads = 0; reads < 20; reads++) {
      const texts: readonly unknown[] = (await store.getAll(keys)).map((entry) => entry && textOf(entry.value));
      assert.equal(new Set(texts).size, 1, `a read shows several states: ${texts.join()}`);
    }
    await Promise.all(writers);
    await rejectsWith(store.getAll(['a', '\ud800']), 'invalid', /surrogate/);
  }),
  onStore('replaces and deletes; deleting a missing key is not an error', async (store) => {
    await store.commit({ put: [put('a', 'one'), put('b')] });
    await store.commit({ put: [put('a', 'two')], delete: ['b', 'never'] });
    assert.equal(textOf((await store.get('a'))?.value), 'two');
    assert.equal(await store.get('b'), undefined);
  }),
  onStore('scans from inclusive to exclusive in key order', async (store) => {
    await store.commit({ put: ['d', 'b', 'a', 'c', 'ab', 'b!'].map((key) => put(key)) });
    assert.deepEqual(await keysOf(store, { from: '' }), ['a', 'ab', 'b', 'b!', 'c', 'd']);
    assert.deepEqual(await keysOf(store, { from: 'ab', to: 'c' }), ['ab', 'b', 'b!']);
    assert.deepEqual(await keysOf(store, { from: 'aa', to: 'bb' }), ['ab', 'b', 'b!']);
    assert.deepEqual(await keysOf(store, { from: 'c', to: 'c' }), []);
    assert.deepEqual(await keysOf(store, { from: 'c', to: 'a' }), []);
    assert.deepEqual(await keysOf(store, { from: 'e' }), []);
  }),
  onStore('orders keys by their UTF-8 bytes: NUL first, astral characters last', async (store) => {
    const ordered = [
      '\0',
      '\0\0',
      '\u0001',
      'A',
      'Z',
      '_',
      'a',
      'a\0',
      'aa',
      '~',
      'é',
      '߿',
      'ࠀ',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '😀',
      '\u{10ffff}',
    ];
    await store.commit({ put: [...ordered].reverse().map((key) => put(key)) });
    assert.deepEqual(await keysOf(store, { from: '' }), ordered);
    assert.deepEqual(await keysOf(store, { from: '\uffff', to: '\u{10ffff}' }), ['\uffff', '😀']);
    for (const key of ordered) assert.equal(textOf((await store.get(key))?.value), key);
  }),
  onStore('respects limit, maxBytes and reverse', async (store) => {
    await store.commit({ put: ['a', 'b', 'c', 'd'].map((key) => put(key, '1234')) });
    assert.deepEqual(await keysOf(store, { from: '', limit: 2 }), ['a', 'b']);
    assert.deepEqual(await keysOf(store, { from: '', limit: 0 }), []);
    assert.deepEqual(await keysOf(store, { from: '', reverse: true }), ['d', 'c', 'b', 'a']);
    assert.deepEqual(await keysOf(store, { from: 'b', to: 'd', reverse: true, limit: 1 }), ['c']);
    assert.deepEqual(await keysOf(store, { from: '', maxBytes: 0 }), ['a']);
    assert.deepEqual(await keysOf(store, { from: '', maxBytes: 8 }), ['a', 'b']);
    assert.deepEqual(await keysOf(store, { from: '', maxBytes: 9, reverse: true }), ['d', 'c', 'b']);
    assert.deepEqual(await keysOf(store, { from: '', maxBytes: 100, limit: 1 }), ['a']);
  }),
  onStore('counts the entries of a range up to a limit', async (store) => {
    await store.commit({ put: ['a', 'b', 'b\0', 'c', '\uffff', '😀'].map((key) => put(key)) });
    const counted = (range: KeyRange, limit: number): Promise<number> => countEntries(store, range, limit);
    assert.equal(await counted({ from: '' }, 100), 6);
    assert.equal(await counted({ from: '' }, 6), 6);
    assert.equal(await counted({ from: '' }, 2), 2);
    assert.equal(await counted({ from: '' }, 0), 0);
    assert.equal(await counted({ from: 'b', to: 'c' }, 100), 2);
    assert.equal(await counted({ from: '\uffff', to: '😀' }, 100), 1);
    assert.equal(await counted({ from: 'c', to: 'a' }, 100), 0);
    await store.commit({ delete: ['b'] });
    assert.equal(await counted({ from: 'b', to: 'c' }, 100), 1);
    if (store.count === undefined) return;
    await rejectsWith(store.count({ from: '\ud800' }, 1), 'invalid', /surrogate/);
    await rejectsWith(store.count({ from: '' }, -1), 'invalid', /limit -1/);
  }),
  onStore('treats names of JavaScript properties as ordinary keys', async (store) => {
    const keys = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
    for (const key of keys) assert.equal(await store.get(key), undefined);
    await store.commit({ require: keys.map((key) => ({ key, version: 'absent' })), put: keys.map((key) => put(key)) });
    assert.deepEqual(await keysOf(store, { from: '' }), keys);
  }),
  onStore('shares no memory with its callers', async (store) => {
    const pooled = Buffer.from('xvaluex').subarray(1, 6);
    const committed = store.commit({ put: [{ key: 'a', value: pooled }] });
    pooled.fill(0);
    await committed;
    const first = await store.get('a');
    assert.equal(textOf(first?.value), 'value');
    first?.value.fill(0);
    const [scanned] = await store.scan({ from: '' });
    assert.equal(textOf(scanned?.value), 'value');
    scanned?.value.fill(0);
    const [one] = (await store.getAll?.(['a', 'b'])) ?? [];
    one?.value.fill(0);
    assert.equal(textOf((await store.get('a'))?.value), 'value');
  }),
];

/** Cases about limits: valid and invalid calls. */
export const limits: readonly StoreCase[] = [
  onStore('accepts values of 8 MiB and rejects longer ones by name', async (store) => {
    const value = new Uint8Array(MAX_VALUE_BYTES).fill(7);
    await store.commit({ put: [{ key: 'big', value }] });
    assert.ok(Buffer.from((await store.get('big'))?.value ?? []).equals(value));
    const longer = new Uint8Array(MAX_VALUE_BYTES + 1);
    await rejectsWith(
      store.commit({ put: [put('a'), { key: 'bigger', value: longer }] }),
      'invalid',
      /bigger.*8388609.*8388608/,
    );
    assert.equal(await store.get('a'), undefined);
  }),
  onStore('accepts keys of 1 KiB in UTF-8 and rejects longer ones', async (store) => {
    const longest = 'é'.repeat(MAX_KEY_BYTES / 2);
    await store.commit({ put: [put(longest)] });
    assert.equal(textOf((await store.get(longest))?.value), longest);
    await rejectsWith(store.commit({ put: [put(`${longest}x`)] }), 'invalid', /1025.*1024/);
    await rejectsWith(store.get(`${longest}x`), 'invalid');
    await rejectsWith(store.commit({ delete: [''] }), 'invalid', /non-empty/);
  }),
  onStore('rejects keys without a UTF-8 form', async (store) => {
    for (const key of ['\ud800', 'a\udc00b', '\udc00\ud800']) {
      await rejectsWith(store.commit({ put: [put(key)] }), 'invalid', /surrogate/);
      await rejectsWith(store.get(key), 'invalid', /surrogate/);
      await rejectsWith(store.scan({ from: key }), 'invalid', /surrogate/);
    }
  }),
  onStore('rejects a key that is repeated in a batch', async (store) => {
    await rejectsWith(store.commit({ put: [put('a'), put('a')] }), 'invalid', /"a".*twice/);
    await rejectsWith(store.commit({ put: [put('a')], delete: ['a'] }), 'invalid', /"a".*twice/);
    await rejectsWith(
      store.commit({
        require: [
          { key: 'a', version: 'absent' },
          { key: 'a', version: 1 },
        ],
      }),
      'invalid',
      /"a"/,
    );
    const many = Array.from({ length: 50 }, (_, index) => put(`k${index % 49}`));
    await rejectsWith(store.commit({ put: many }), 'invalid', /"k0".*twice/);
    assert.deepEqual(await keysOf(store, { from: '' }), []);
  }),
  onStore('rejects invalid values, versions and limits', async (store) => {
    const text = 'text' as unknown as Uint8Array;
    await rejectsWith(store.commit({ put: [{ key: 'a', value: text }] }), 'invalid', /"a".*Uint8Array.*string/);
    for (const version of [1.5, -1])
      await rejectsWith(
        store.commit({ require: [{ key: 'a', version }] }),
        'invalid',
        new RegExp(`version ${version} `),
      );
    await rejectsWith(store.scan({ from: '', limit: -1 }), 'invalid', /limit -1/);
    await rejectsWith(store.get(7 as unknown as string), 'invalid', /7/);
  }),
];
