import assert from 'node:assert/strict';
import { isConflictError } from '../state/errors.ts';
import type { Batch } from '../state/store.ts';
import { keysOf, onStore, put, rejectsWith, type StoreCase, textOf } from './store-case.ts';

const CONCURRENT_WRITERS = 100;
const MANY_COMMITS = 5000;
/** Around and above the numbers at which stores divide a commit for their server. */
const MANY_ENTRIES = [499, 1_000, 1_001, 2_500];

const DEPENDENT_COMMITS = 300;
const DEPENDENT_KEYS = ['a', 'b', '__proto__'];

/** A batch on three keys: each is required or not, and put, deleted or left alone, as the digits of a number say. */
function dependentBatch(
  index: number,
  version: number,
): Required<Pick<Batch, 'require' | 'put'>> & { readonly delete: readonly string[] } {
  // Knuth's multiplicative hash: any order that repeats, and that looks like none.
  const digits = Math.imul(index + 1, 2_654_435_761) >>> 0;
  const digitOf = (at: number): number => Math.floor(digits / 4 ** at) % 4;
  const chosen = (at: number, digit: number): readonly string[] =>
    DEPENDENT_KEYS.filter((_key, number) => digitOf(at + number) === digit);
  return {
    require: [
      ...chosen(3, 0).map((key) => ({ key, version: 'absent' as const })),
      ...chosen(3, 1).map((key) => ({ key, version })),
    ].slice(0, 1 + (digitOf(9) % 2)),
    put: chosen(6, 0).map((key) => put(key)),
    delete: chosen(6, 1),
  };
}

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
      assert.ok(isConflictError(error));
      assert.equal(error.key, 'b');
      return true;
    });
    assert.equal((await store.get('a'))?.version, version);
    assert.equal(await store.get('c'), undefined);
  }),
  onStore('commits many entries as few: all of them, or none', async (store) => {
    for (const count of MANY_ENTRIES) {
      const keys = Array.from({ length: count }, (_, index) => `many/${index}`);
      const within = { from: 'many/', to: 'many0' };
      const version = await store.commit({ put: keys.map((key) => put(key, key)) });
      const found = await store.scan({ ...within, limit: count + 1 });
      assert.equal(new Set(found.map(({ key }) => key)).size, count);
      assert.ok(found.every((entry) => entry.version === version && textOf(entry.value) === entry.key));
      const last = keys[count - 1];
      const require = keys.map((key) => ({ key, version: key === last ? version + 1 : version }));
      await assert.rejects(
        store.commit({ require, delete: keys }),
        (error) => isConflictError(error) && error.key === last,
      );
      assert.equal((await store.scan({ ...within, limit: count + 1 })).length, count);
      const right = keys.map((key) => ({ key, version }));
      await store.commit({ require: right, put: [put('other')], delete: keys });
      assert.equal((await store.scan({ ...within, limit: count + 1 })).length, 0);
    }
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
  onStore(
    'writes one entry under a fence, which may be there or not, and nothing once the fence has moved',
    async (store) => {
      const version = await store.commit({ put: [put('fence')] });
      const under = (change: Batch): Promise<number> =>
        store.commit({ require: [{ key: 'fence', version }], ...change });
      const made = await under({ put: [put('a', 'made')] });
      assert.equal((await store.get('a'))?.version, made);
      const changed = await under({ put: [put('a', '')] });
      assert.notEqual(changed, made);
      assert.equal((await store.get('a'))?.version, changed);
      assert.equal(textOf((await store.get('a'))?.value), '');
      await under({ delete: ['a'] });
      await under({ delete: ['a'] });
      assert.equal(await store.get('a'), undefined);
      await under({ put: [put('kept')] });
      await store.commit({ require: [{ key: 'fence', version }], delete: ['fence'] });
      for (const change of [{ put: [put('a')] }, { put: [put('kept', 'late')] }, { delete: ['kept'] }])
        await rejectsWith(under(change), 'conflict', /fence/);
      await store.commit({ put: [put('fence')] });
      await rejectsWith(under({ put: [put('a')] }), 'conflict', /fence/);
      assert.deepEqual(await keysOf(store, { from: '' }), ['fence', 'kept']);
      assert.equal(textOf((await store.get('kept'))?.value), 'kept');
    },
  ),
  onStore(
    'checks each of many commits made at once against those before it, absence that is not written too',
    async (store) => {
      const version = await store.commit({ put: [put('a')] });
      const present = new Map<string, number | 'later'>([['a', version]]);
      const batches = Array.from({ length: DEPENDENT_COMMITS }, (_, index) => dependentBatch(index, version));
      const outcomes = await Promise.allSettled(batches.map((batch) => store.commit(batch)));
      for (const [index, batch] of batches.entries()) {
        const refused = batch.require.find(({ key, version: wanted }) => (present.get(key) ?? 'absent') !== wanted);
        const outcome = outcomes[index];
        if (outcome?.status === 'rejected')
          assert.equal(isConflictError(outcome.reason) && outcome.reason.key, refused?.key);
        else assert.equal(refused, undefined, `commit ${index} was made, and ${refused?.key} was not as it required`);
        if (refused !== undefined) continue;
        for (const { key } of batch.put) present.set(key, 'later');
        for (const key of batch.delete) present.delete(key);
      }
      assert.deepEqual(await keysOf(store, { from: '' }), [...present.keys()].sort());
    },
  ),
  onStore('lets exactly one of many commits on the same version win', async (store) => {
    const version = await store.commit({ put: [put('a', 'start')] });
    const attempts = Array.from({ length: CONCURRENT_WRITERS }, (_, index) =>
      store.commit({ require: [{ key: 'a', version }], put: [put('a', `${index}`), put(`by-${index}`)] }),
    );
    const outcomes = await Promise.allSettled(attempts);
    const winners = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) assert.ok(outcome.status === 'fulfilled' || isConflictError(outcome.reason));
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
