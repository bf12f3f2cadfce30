import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { directoryState } from '../../../src/components/embedded/directory-state.ts';
import { loadSqlite } from '../../../src/components/embedded/driver.ts';
import { openDatabase } from '../../../src/components/embedded/schema.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { context, put, temporaryDirectory } from '../../support/embedded-store.ts';

/** What is only for the time in which processes use it, such as the state that commands share. */
const transient = (path: string): ReturnType<typeof directoryState> => directoryState(path, { isTransient: true });

async function open(path: string): Promise<StateStore> {
  const store = await transient(path).open(context);
  onTestFinished(() => store.close());
  return store;
}

// Only its syncs differ from those of a lasting directory, whose tests run all cases.
const SOME = stateStoreConformance.filter((_case, index) => index % 4 === 0);

describe('a transient store, as every store', () => {
  for (const { name, needs = [], run } of SOME) {
    test.skipIf(needs.includes('shared'))(name, async () => {
      const path = join(temporaryDirectory(), 'state');
      await run(() => transient(path).open(context));
    });
  }
});

describe('a store that has joined the holder of a transient one, as every store', () => {
  for (const { name, run } of SOME) {
    test(name, async () => {
      const path = join(temporaryDirectory(), 'state');
      await open(path);
      await run(() => transient(path).open(context));
    });
  }
});

test('nothing is synced: it says so, in the holder and in those who join', async () => {
  const path = temporaryDirectory();
  const [holder, guest] = [await open(path), await open(path)];
  await guest.commit({ put: [put('a')] });
  expect([holder.durability, guest.durability]).toEqual(['none', 'none']);
  const sqlite = await loadSqlite();
  const levelOf = (isTransient: boolean): unknown => {
    const connection = openDatabase(sqlite, temporaryDirectory(), { isTransient });
    onTestFinished(() => connection.close());
    return connection.valueOf('PRAGMA synchronous');
  };
  expect([levelOf(true), levelOf(false)]).toEqual([0, 2]);
});

test('the directory goes from one to the other, and its log away with the last close', async () => {
  const path = temporaryDirectory();
  const [holder, guest] = [await open(path), await open(path)];
  await holder.commit({ put: [put('a')] });
  await holder.close();
  await guest.commit({ put: [put('b')] });
  const found = await Promise.all(['a', 'b'].map((key) => guest.get(key)));
  expect(found.map((entry) => entry?.value)).toEqual([put('a').value, put('b').value]);
  await guest.close();
  expect(existsSync(join(path, 'state.db-wal'))).toBe(false);
});

test('one whose place is no directory is refused', async () => {
  const path = join(temporaryDirectory(), 'state');
  writeFileSync(path, '');
  await expect(transient(path).open(context)).rejects.toMatchObject({ name: 'StateError' });
});
