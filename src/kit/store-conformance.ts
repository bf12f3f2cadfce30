import assert from 'node:assert/strict';
import { isStateError } from '../state/errors.ts';
import type { StateStore } from '../state/store.ts';
import { keysOf, onStore, put, rejectsWith, type StoreCase, textOf } from './store-case.ts';
import { committing } from './store-commit-cases.ts';
import { limits, reading } from './store-read-cases.ts';
import { sharing } from './store-shared-cases.ts';

const CONCURRENT_WRITERS = 100;
const MANY_COMMITS = 5000;

/** Resolves with the first call of a watch. */
function nextHint(store: StateStore, prefix: string): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const watching = store.watch(prefix, (keys) => {
      watching[Symbol.dispose]();
      resolve(keys);
    });
  });
}

const watching: readonly StoreCase[] = [
  onStore('notifies of puts and deletes under a prefix only', async (store) => {
    await store.commit({ put: [put('job/1'), put('other')] });
    const all: string[] = [];
    const watcher = store.watch('job/', (keys) => all.push(...keys));
    const hinted = nextHint(store, 'job/2');
    await store.commit({ put: [put('other')], delete: ['job/1'] });
    await store.commit({ put: [put('job/2')] });
    assert.deepEqual(await hinted, ['job/2']);
    watcher[Symbol.dispose]();
    assert.deepEqual([...new Set(all)], ['job/1', 'job/2']);
  }),
  onStore('stops notifying when disposed, and survives a throwing callback', async (store) => {
    let calls = 0;
    const disposed = store.watch('', () => calls++);
    disposed[Symbol.dispose]();
    disposed[Symbol.dispose]();
    using _throwing = store.watch('', () => {
      throw new Error('a fault of the watcher');
    });
    const hinted = nextHint(store, 'a');
    await store.commit({ put: [put('a')] });
    assert.deepEqual(await hinted, ['a']);
    assert.equal(calls, 0);
  }),
];

const ending: readonly StoreCase[] = [
  {
    name: 'settles all calls in flight on close and keeps all resolved commits',
    needs: ['durable'],
    async run(open) {
      const store = await open();
      const keys = Array.from({ length: MANY_COMMITS }, (_, index) => `k${index}`);
      const commits = keys.map((key) => store.commit({ put: [put(key)] }));
      const reads = keys.slice(0, CONCURRENT_WRITERS).map((key) => store.get(key));
      const closed = store.close();
      const outcomes = await Promise.allSettled(commits);
      await Promise.allSettled(reads);
      await closed;
      await using again = await open();
      const present = new Set(await keysOf(again, { from: '' }));
      for (const [index, outcome] of outcomes.entries()) {
        assert.ok(outcome.status === 'rejected' || present.has(`k${index}`), `k${index} was committed and is lost`);
      }
    },
  },
  {
    name: 'keeps its data after a close and never reuses a version',
    needs: ['durable'],
    async run(open) {
      const store = await open();
      const version = await store.commit({ put: [put('a', 'kept'), put('gone')] });
      const last = await store.commit({ delete: ['gone'] });
      await store.close();
      await using again = await open();
      assert.deepEqual(await keysOf(again, { from: '' }), ['a']);
      const next = await again.commit({ require: [{ key: 'a', version }], put: [put('b')] });
      assert.ok(next !== version && next !== last);
      assert.equal(textOf((await again.get('a'))?.value), 'kept');
    },
  },
  {
    name: 'can be closed twice and rejects later calls',
    async run(open) {
      const store = await open();
      await store.commit({ put: [put('a')] });
      await Promise.all([store.close(), store.close()]);
      await store.close();
      await rejectsWith(store.get('a'), 'closed');
      await rejectsWith(store.scan({ from: '' }), 'closed');
      await rejectsWith(store.commit({ put: [put('a')] }), 'closed');
      assert.throws(() => store.watch('', () => undefined), isStateError);
    },
  },
];

/**
 * The behaviour required of every `StateStore`, as plain data for any test runner.
 *
 * @example
 * ```ts
 * for (const { name, run } of stateStoreConformance) test(name, () => run(() => openMyStore('./empty')));
 * ```
 * @public
 */
export const stateStoreConformance: readonly StoreCase[] = [
  ...reading,
  ...committing,
  ...limits,
  ...watching,
  ...ending,
  ...sharing,
];
