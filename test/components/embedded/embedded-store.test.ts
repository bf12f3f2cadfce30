import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { logFileOf } from '../../../src/components/embedded/directory.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import { isConflictError } from '../../../src/state/errors.ts';
import { context, openStore, put, temporaryDirectory } from '../../support/embedded-store.ts';
import { compareWithModel } from '../../support/store-model.ts';

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
    const store = await openStore(temporaryDirectory(), slow);
    const timeOfMany = async (): Promise<number> => {
      const startedAt = performance.now();
      const first = store.commit({ put: [put('first')] });
      await new Promise(setImmediate);
      const others = Array.from({ length: 500 }, (_, index) => store.commit({ put: [put(`k${index}`)] }));
      await Promise.all([first, ...others]);
      return performance.now() - startedAt;
    };
    // Two or three syncs, not five hundred. A busy machine takes longer now and then, not each time.
    let tries = 0;
    while (tries < 5 && (await timeOfMany()) >= 8 * slow.syncDelayMs) tries++;
    expect(tries).toBeLessThan(5);
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
    const turns = [0, 0, 0];
    for (const number of turns.keys()) {
      const watching = setInterval(() => {
        turns[number] = (turns[number] ?? 0) + 1;
      }, 2);
      await store.commit({ put: [put(`k${number}`)] });
      clearInterval(watching);
    }
    // Of some 150. A sync that holds up the loop leaves it a turn or two in each commit, a busy machine in one.
    expect(Math.max(...turns)).toBeGreaterThan(30);
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
  await Promise.all(Array.from({ length: 32 }, write));
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
