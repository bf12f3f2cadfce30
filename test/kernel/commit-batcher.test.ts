import { expect, onTestFinished, test } from 'vitest';
import { memoryState, StateError } from '../../src/index.ts';
import { type Change, CommitBatcher } from '../../src/kernel/commit-batcher.ts';
import { type Batch, ConflictError, type StateStore } from '../../src/kit/index.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from '../support/logger.ts';

interface World {
  readonly store: StateStore;
  readonly batcher: CommitBatcher;
  /** What the store was given, commit by commit. */
  readonly commits: Batch[];
  /** Makes the next commits fail. */
  readonly failures: unknown[];
}

async function world(): Promise<World> {
  const store = await memoryState().open({ clock: systemClock, logger: new RecordingLogger() });
  onTestFinished(() => store.close());
  const commits: Batch[] = [];
  const failures: unknown[] = [];
  const commit = async (batch: Batch): Promise<number> => {
    commits.push(batch);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return store.commit(batch);
  };
  const watched = new Proxy(store, {
    get: (target, name) => (name === 'commit' ? commit : Reflect.get(target, name).bind(target)),
  });
  return { store, batcher: new CommitBatcher(watched), commits, failures };
}

function put(key: string, value = 'x'): Change {
  return { put: [{ key, value: Buffer.from(value) }] };
}

async function textOf(store: StateStore, key: string): Promise<string | undefined> {
  const entry = await store.get(key);
  return entry && Buffer.from(entry.value).toString();
}

function keysOf(commits: readonly Batch[]): unknown[] {
  return commits.map((batch) => batch.put?.map(({ key }) => key));
}

test('changes of one turn of the event loop are one commit', async () => {
  const { batcher, commits, store } = await world();
  const versions = await Promise.all(['a', 'b', 'c'].map((key) => batcher.commit(put(key))));
  expect(keysOf(commits)).toEqual([['a', 'b', 'c']]);
  expect(new Set(versions).size).toBe(1);
  expect((await store.get('b'))?.version).toBe(versions[1]);
});

test('a change is durable before it resolves, and tells so in the order of the changes', async () => {
  const { batcher } = await world();
  const told: string[] = [];
  const changes = ['a', 'b'].map((key) => ({ ...put(key), onDurable: () => told.push(`durable ${key}`) }));
  await Promise.all(changes.map((change, index) => batcher.commit(change).then(() => told.push(`resolved ${index}`))));
  expect(told).toEqual(['durable a', 'durable b', 'resolved 0', 'resolved 1']);
});

test('a precondition that does not hold refuses its own change only', async () => {
  const { batcher, store, commits } = await world();
  await store.commit(put('taken'));
  const results = await Promise.allSettled([
    batcher.commit(put('a')),
    batcher.commit({ ...put('b'), require: [{ key: 'taken', version: 'absent' }] }),
    batcher.commit(put('c')),
  ]);
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'conflict', key: 'taken' } },
    { status: 'fulfilled' },
  ]);
  expect([await textOf(store, 'a'), await textOf(store, 'b'), await textOf(store, 'c')]).toEqual(['x', undefined, 'x']);
  expect(commits).toHaveLength(2);
});

test('a fence is checked once for all changes that have it, and refuses all of them', async () => {
  const { batcher, store, commits } = await world();
  const version = await store.commit(put('shard-1'));
  const fence = { key: 'shard-1', version };
  await Promise.all(['a', 'b'].map((key) => batcher.commit({ ...put(key), fence: { ...fence } })));
  expect(commits.at(-1)?.require).toEqual([fence]);

  await store.commit(put('shard-1'));
  const results = await Promise.allSettled([
    batcher.commit({ ...put('a', 'late'), fence }),
    batcher.commit(put('c')),
    batcher.commit({ ...put('b', 'late'), fence }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
  expect([await textOf(store, 'a'), await textOf(store, 'b')]).toEqual(['x', 'x']);
});

test('what is asked for under an old fence does not come with what is asked for under the new one', async () => {
  const { batcher, store } = await world();
  const old = await store.commit(put('shard-1'));
  const version = await store.commit(put('shard-1'));
  const results = await Promise.allSettled([
    batcher.commit({ ...put('a'), fence: { key: 'shard-1', version: old } }),
    batcher.commit({ ...put('b'), fence: { key: 'shard-1', version } }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});

test.each<[what: string, first: Change, second: Change, value: string | undefined, statuses: string[]]>([
  ['two puts', put('a', '1'), put('a', '2'), '2', ['fulfilled', 'fulfilled']],
  ['a put and a delete', put('a', '1'), { delete: ['a'] }, undefined, ['fulfilled', 'fulfilled']],
  ['a delete and a put', { delete: ['a'] }, put('a', '2'), '2', ['fulfilled', 'fulfilled']],
  [
    'of two that want to be the first, one',
    { ...put('a', '1'), require: [{ key: 'a', version: 'absent' }] },
    { ...put('a', '2'), require: [{ key: 'a', version: 'absent' }] },
    '1',
    ['fulfilled', 'rejected'],
  ],
  [
    'a put of what is the fence of another',
    put('shard-1', '1'),
    { ...put('a', '2'), fence: { key: 'shard-1', version: 'absent' } },
    undefined,
    ['fulfilled', 'rejected'],
  ],
  [
    'a fence, and a put of it',
    { ...put('a', '1'), fence: { key: 'shard-1', version: 'absent' } },
    put('shard-1', '2'),
    '1',
    ['fulfilled', 'fulfilled'],
  ],
])('changes of one key are written in the order of their calls: %s', async (_what, first, second, value, statuses) => {
  const { batcher, store } = await world();
  const results = await Promise.allSettled([batcher.commit(first), batcher.commit(second)]);
  expect(results.map(({ status }) => status)).toEqual(statuses);
  expect(await textOf(store, 'a')).toBe(value);
});

test('many conflicts in one group take few trips one after the other', async () => {
  const { batcher, store, commits } = await world();
  const keys = Array.from({ length: 64 }, (_, index) => `key-${index}`);
  await store.commit({ put: keys.map((key) => ({ key, value: Buffer.from('x') })) });
  const results = await Promise.allSettled(
    keys.map((key) => batcher.commit({ ...put(key), require: [{ key, version: 'absent' }] })),
  );
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  // Three together, then the rest side by side.
  expect(commits.slice(3).every(({ require = [] }) => require.length === 1)).toBe(true);
  expect(commits).toHaveLength(3 + 61);
});

test('what the store refuses as wrong fails alone', async () => {
  const { batcher, store } = await world();
  const results = await Promise.allSettled([
    batcher.commit(put('a')),
    batcher.commit(put('k'.repeat(5_000))),
    batcher.commit(put('c')),
  ]);
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'invalid' } },
    { status: 'fulfilled' },
  ]);
  expect(await textOf(store, 'c')).toBe('x');
});

test('when the store fails nobody is told that a change was written, and nothing is repeated', async () => {
  const { batcher, failures, commits } = await world();
  failures.push(new StateError('failed', 'the connection was cut'));
  const results = await Promise.allSettled([batcher.commit(put('a')), batcher.commit(put('b'))]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(commits).toHaveLength(1);
});

test('a conflict about a key that no change requires refuses all', async () => {
  const { batcher, failures, commits } = await world();
  failures.push(...Array.from({ length: 9 }, () => new ConflictError('of nobody')));
  const results = await Promise.allSettled([batcher.commit(put('a')), batcher.commit(put('b'))]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(commits.length).toBeLessThanOrEqual(3);
});

test('a commit has at most 1,000 changes and 16 MiB, unless one change has more', async () => {
  const { batcher, commits } = await world();
  const many = Array.from({ length: 2_500 }, (_, index) => batcher.commit(put(`key-${index}`)));
  await Promise.all(many);
  expect(commits.map((batch) => batch.put?.length)).toEqual([1_000, 1_000, 500]);
  commits.length = 0;
  const large = 'x'.repeat(7 * 1024 * 1024);
  const wide = { put: ['a', 'b', 'c'].map((key) => ({ key: `wide-${key}`, value: Buffer.from(large) })) };
  await Promise.all([
    batcher.commit(put('1', large)),
    batcher.commit(put('2', large)),
    batcher.commit(put('3', large)),
    batcher.commit(wide),
  ]);
  expect(keysOf(commits)).toEqual([['1', '2'], ['3'], ['wide-a', 'wide-b', 'wide-c']]);
});

test('flushed() waits for everything that was asked for, also for what fails', async () => {
  const { batcher, store, failures } = await world();
  const first = batcher.commit(put('a'));
  await batcher.flushed();
  expect(await textOf(store, 'a')).toBe('x');
  failures.push(new StateError('failed', 'no'));
  const second = batcher.commit(put('b')).catch((error: unknown) => error);
  await batcher.flushed();
  expect(await second).toBeInstanceOf(StateError);
  await first;
});
