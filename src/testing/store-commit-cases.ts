import assert from 'node:assert/strict';
import { isConflict } from '../state/errors.ts';
import { keysOf, onStore, put, rejectsWith, type StoreCase, textOf } from './store-case.ts';

const CONCURRENT_WRITERS = 100;
const MANY_COMMITS = 5000;

/** Cases about commits, alone and concurrent. */
export const committing: readonly StoreCase[] = [
  onStore('gives each commit its own version, shared by its entries', async (store) => {
    const first = await store.commit({ put: [put('a'), put('b')] });
    const second = await store.commit({ put: [put('a')] });
    assert.notEqual(second, first);
    assert.equal((await store.get('a'))?.version, second);
    assert.equal((await store.get('b'))?.version, first);
    await store.commit({ delete: ['a'] });
    const third = await store.commit({ put: [put('a')] });
    assert.equal(new Set([first, second, third]).size, 3);
    assert.equal((await store.scan({ from: 'a', limit: 1 }))[0]?.version, third);
  }),
  onStore('writes all of a batch or, if a precondition does not hold, nothing', async (store) => {
    const version = await store.commit({ put: [put('a')] });
    const require = [
      { key: 'a', version },
      { key: 'b', version },
    ] as const;
    await assert.rejects(store.commit({ require, put: [put('a', 'new'), put('c')], delete: ['d'] }), (error) => {
      assert.ok(isConflict(error));
      assert.equal(error.key, 'b');
      return true;
    });
    assert.equal((await store.get('a'))?.version, version);
    assert.equal(await store.get('c'), undefined);
  }),
  onStore('checks versions and absence; preconditions alone are a valid batch', async (store) => {
    const version = await store.commit({ require: [{ key: 'a', version: 'absent' }], put: [put('a')] });
    await store.commit({
      require: [
        { key: 'a', version },
        { key: 'b', version: 'absent' },
      ],
    });
    await rejectsWith(store.commit({ require: [{ key: 'a', version: 'absent' }] }), 'conflict');
    await rejectsWith(store.commit({ require: [{ key: 'b', version }] }), 'conflict');
    await store.commit({ require: [{ key: 'a', version }], delete: ['a'] });
    await rejectsWith(store.commit({ require: [{ key: 'a', version }], put: [put('a')] }), 'conflict');
    await store.commit({});
  }),
  onStore('lets exactly one of many commits on the same version win', async (store) => {
    const version = await store.commit({ put: [put('a', 'start')] });
    const attempts = Array.from({ length: CONCURRENT_WRITERS }, (_, index) =>
      store.commit({ require: [{ key: 'a', version }], put: [put('a', `${index}`), put(`by-${index}`)] }),
    );
    const outcomes = await Promise.allSettled(attempts);
    const winners = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) assert.ok(outcome.status === 'fulfilled' || isConflict(outcome.reason));
    assert.equal(textOf((await store.get('a'))?.value), `${winners[0]}`);
    assert.deepEqual(await keysOf(store, { from: 'by-', to: 'by.' }), [`by-${winners[0]}`]);
  }),
  onStore('keeps the order of commits that do not wait for each other', async (store) => {
    const commits = Array.from({ length: CONCURRENT_WRITERS }, (_, index) =>
      store.commit({ put: [put('a', `${index}`)] }),
    );
    const versions = await Promise.all(commits);
    assert.equal(new Set(versions).size, CONCURRENT_WRITERS);
    assert.equal((await store.get('a'))?.version, versions.at(-1));
  }),
  onStore('handles thousands of concurrent commits, each visible to a later read', async (store) => {
    const keys = Array.from({ length: MANY_COMMITS }, (_, index) => `k${String(index).padStart(5, '0')}`);
    const seen = await Promise.all(
      keys.map(async (key) => {
        const version = await store.commit({ put: [put(key)] });
        return (await store.get(key))?.version === version;
      }),
    );
    assert.ok(seen.every(Boolean));
    assert.deepEqual(await keysOf(store, { from: '' }), keys);
  }),
];
