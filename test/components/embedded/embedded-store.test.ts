import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { logFileOf } from '../../../src/components/embedded/directory.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import { isConflictError } from '../../../src/state/errors.ts';
import { context, openStore, put, temporaryDirectory } from '../../support/embedded-store.ts';
import { compareWithModel } from '../../support/store-model.ts';

/** How many transactions the log of a database has: SQLite marks the last page of each. */
function transactionsIn(logFile: string): number {
  const log = readFileSync(logFile);
  const [pageBytes, salts] = [log.readUInt32BE(8), log.subarray(16, 24)];
  let count = 0;
  for (let at = 32; at + 24 + pageBytes <= log.length; at += 24 + pageBytes) {
    // What follows is left of an earlier log.
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    if (log.readUInt32BE(at + 4) > 0) count++;
  }
  return count;
}

describe('embedded store, as every store', () => {
  for (const { name, needs = [], run } of stateStoreConformance) {
    test.skipIf(needs.includes('shared'))(name, async () => {
      const definition = embeddedState({ path: join(temporaryDirectory(), 'state') });
      await run(() => definition.open(context));
    });
  }

  test('behaves like a sorted map in random histories', async () => {
    const path = join(temporaryDirectory(), 'state');
    await compareWithModel(async () => {
      const store = await openStore(path);
      await store.commit({ delete: (await store.scan({ from: '' })).map((entry) => entry.key) });
      return store;
    }, 12);
  });
});

test('stores of one process share one listener of its end', async () => {
  const before = process.listenerCount('exit');
  const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(temporaryDirectory())));
  expect(process.listenerCount('exit')).toBeLessThanOrEqual(before + 1);
  await Promise.all(stores.map((store) => store.close()));
  expect(process.listenerCount('exit')).toBe(before);
});

describe('commits in a group', () => {
  const slow = { syncDelayMs: 100 };

  test('go down together, however many have come while one was written', async () => {
    const path = temporaryDirectory();
    const store = await openStore(path, slow);
    const before = transactionsIn(logFileOf(path));
    const first = store.commit({ put: [put('first')] });
    await new Promise(setImmediate);
    const others = Array.from({ length: 500 }, (_, index) => store.commit({ put: [put(`k${index}`)] }));
    await Promise.all([first, ...others]);
    // Two or three, not five hundred: each is a sync.
    const written = transactionsIn(logFileOf(path)) - before;
    expect([written > 0, written < 8]).toEqual([true, true]);
  });

  test('do not wait for as many as the last group had', async () => {
    const store = await openStore(temporaryDirectory(), slow);
    await Promise.all(Array.from({ length: 3 }, (_, index) => store.commit({ put: [put(`k${index}`)] })));
    await store.commit({ put: [put('alone')] });
    expect((await store.get('alone'))?.value).toEqual(put('alone').value);
  });

  test('that are large are written while the callers of those before them go on', async () => {
    const path = temporaryDirectory();
    const store = await openStore(path);
    const value = Buffer.alloc(2 * 1024 * 1024);
    const isWritten = (): boolean => statSync(logFileOf(path)).size >= value.length;
    // As on a fast disk: after a slow write, more commits are waited for, large or not.
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const first = store.commit({ put: [put('first')] });
    await new Promise(setImmediate);
    const second = store.commit({ put: [{ key: 'second', value }] });
    await first;
    now.mockRestore();
    // The caller of the first keeps this thread busy.
    for (const end = performance.now() + 10_000; performance.now() < end && !isWritten(); );
    expect(isWritten()).toBe(true);
    await second;
  });

  test('see each other in order, and a refused one leaves the others alone', async () => {
    const store = await openStore(temporaryDirectory(), slow);
    const whenAbsent = [{ key: 'a', version: 'absent' }] as const;
    const outcomes = await Promise.allSettled([
      store.commit({ require: whenAbsent, put: [put('a')] }),
      store.commit({ require: whenAbsent, put: [put('b')] }),
      store.commit({ delete: ['a'] }),
      store.commit({ require: whenAbsent, put: [put('c')] }),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(outcomes.some((outcome) => outcome.status === 'rejected' && isConflictError(outcome.reason))).toBe(true);
    expect((await store.scan({ from: '' })).map((entry) => entry.key)).toEqual(['c']);
  });

  test('do not hold up the event loop while the disk syncs', async () => {
    const store = await openStore(temporaryDirectory(), { syncDelayMs: 300 });
    /** How many turns the loop has made until a commit was answered: one that holds it up leaves it two. */
    const turnsOf = async (commit: Promise<number>): Promise<number> => {
      let isOver = false;
      const over = commit.finally(() => {
        isOver = true;
      });
      let turns = 0;
      for (; !isOver; turns++) await new Promise(setImmediate);
      await over;
      return turns;
    };
    // A busy machine may leave this thread no time during one sync, but not during each.
    let most = 0;
    for (let tries = 0; tries < 30 && most <= 30; tries++)
      most = Math.max(most, await turnsOf(store.commit({ put: [put(`k${tries}`)] })));
    expect(most).toBeGreaterThan(30);
  });
});

test('the log stays short under a load without pauses', async () => {
  const path = temporaryDirectory();
  const store = await openStore(path);
  const logFile = join(path, 'state.db-wal');
  let longest = 0;
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < 6000) {
      const number = next++;
      // Every other key is far from its neighbours, which costs a page of log each.
      const key = number % 2 === 0 ? `q${String(number).padStart(9, '0')}` : `r${(number * 7919) % 100_003}`;
      await store.commit({ put: [put(key, 2000)] });
      if (number % 50 === 0) longest = Math.max(longest, statSync(logFile).size);
    }
  };
  // So many that it takes some thirty syncs: a disk may be slow.
  await Promise.all(Array.from({ length: 200 }, write));
  expect(longest).toBeGreaterThan(0);
  expect(longest).toBeLessThan(24 * 1024 * 1024);
});

test('the log goes into the database when it is quiet, and away with the close', async () => {
  const path = temporaryDirectory();
  const store = await openStore(path);
  const sizeBefore = statSync(join(path, 'state.db')).size;
  await store.commit({ put: [put('a', 100_000)] });
  await expect.poll(() => statSync(join(path, 'state.db')).size).toBeGreaterThan(sizeBefore + 90_000);
  await store.close();
  expect(existsSync(join(path, 'state.db-wal'))).toBe(false);
});

test('the directory is made for this user only', async () => {
  const path = join(temporaryDirectory(), 'deep', 'state');
  await openStore(path);
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o700);
});

test('hints are given for commits of the same turn together', async () => {
  const store = await openStore(temporaryDirectory());
  const calls: (readonly string[])[] = [];
  using _watching = store.watch('a', (keys) => calls.push(keys));
  await Promise.all(['a1', 'b', 'a2'].map((key) => store.commit({ put: [put(key)] })));
  await expect.poll(() => calls.flat()).toEqual(['a1', 'a2']);
});

test('a path is needed', () => {
  expect(() => embeddedState({ path: '' })).toThrow(
    'path in options of embeddedState is "": expected the path of a directory',
  );
  expect(() => embeddedState('')).toThrow('expected the path of a directory');
  expect(() => embeddedState({ path: undefined as unknown as string })).toThrow(/undefined/);
});

test('a lone text is the path', () => {
  expect(embeddedState('./state').place).toBe(embeddedState({ path: './state' }).place);
});
