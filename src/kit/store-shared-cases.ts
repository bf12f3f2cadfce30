import assert from 'node:assert/strict';
import { isConflictError } from '../state/errors.ts';
import type { StateStore } from '../state/store.ts';
import { put, type StoreCase, textOf } from './store-case.ts';

const ROUNDS = 50;
const WRITERS = 8;

/** A case on two open handles of one store. */
function onTwo(name: string, run: (one: StateStore, other: StateStore) => Promise<void>): StoreCase {
  return {
    name,
    needs: ['shared'],
    async run(open) {
      const stores = await Promise.all([open(), open()]);
      try {
        const [one, other] = stores as [StateStore, StateStore];
        await run(one, other);
      } finally {
        await Promise.all(stores.map((store) => store.close()));
      }
    },
  };
}

/** Adds 1 to a number in the store, again while others do so. */
async function increment(store: StateStore, key: string): Promise<number> {
  for (;;) {
    const entry = await store.get(key);
    const text = String(Number(textOf(entry?.value) ?? 0) + 1);
    try {
      return await store.commit({ require: [{ key, version: entry?.version ?? 'absent' }], put: [put(key, text)] });
    } catch (error) {
      if (!isConflictError(error)) throw error;
    }
  }
}

/** Whether the batch was written, and not refused. */
async function isWritten(commit: Promise<number>): Promise<boolean> {
  try {
    await commit;
    return true;
  } catch (error) {
    if (isConflictError(error)) return false;
    throw error;
  }
}

/** One handle writes under a fence while the other moves it: what the other sees then has to be all. */
async function moveFence(one: StateStore, other: StateStore, writers: number): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const version = await one.commit({ put: [put('fence')] });
    const before = Array.from({ length: writers }, (_, at) =>
      isWritten(one.commit({ require: [{ key: 'fence', version }], put: [put(`${round}/${at}`, 'old')] })),
    );
    await other.commit({ require: [{ key: 'fence', version }], put: [put('fence', 'moved')] });
    // The new owner sees now all that there will ever be from before.
    const seen = await other.scan({ from: `${round}/`, to: `${round}0` });
    await Promise.all(before);
    const later = await other.scan({ from: `${round}/`, to: `${round}0` });
    assert.equal(later.length, seen.length, 'something was written under the old fence after it had moved');
    assert.equal(await isWritten(one.commit({ require: [{ key: 'fence', version }], put: [put('late')] })), false);
  }
}

/** Rules for several processes that have one store open. */
export const sharing: readonly StoreCase[] = [
  onTwo('loses no update of two handles, and gives no version twice', async (one, other) => {
    const count = async (store: StateStore): Promise<readonly number[]> => {
      const versions: number[] = [];
      for (let round = 0; round < ROUNDS; round++) versions.push(await increment(store, 'counter'));
      return versions;
    };
    const versions = (await Promise.all([count(one), count(other)])).flat();
    assert.equal(textOf((await one.get('counter'))?.value), String(2 * ROUNDS));
    assert.equal(new Set(versions).size, 2 * ROUNDS);
  }),
  onTwo('lets one of two handles create what must be absent, also when it is not written', async (one, other) => {
    for (let round = 0; round < ROUNDS; round++) {
      const lock = `lock/${round}`;
      const wins = await Promise.all(
        [one, other].map((store) =>
          isWritten(store.commit({ require: [{ key: lock, version: 'absent' }], put: [put(lock)] })),
        ),
      );
      assert.deepEqual([...wins].sort(), [false, true]);
      // Of a note that requires that there is no mark and a mark that requires that there is no note, one is written.
      const [note, mark] = [`note/${round}`, `mark/${round}`];
      const written = await Promise.all([
        isWritten(one.commit({ require: [{ key: mark, version: 'absent' }], put: [put(note)] })),
        isWritten(other.commit({ require: [{ key: note, version: 'absent' }], put: [put(mark)] })),
      ]);
      assert.deepEqual([...written].sort(), [false, true]);
    }
  }),
  onTwo('writes nothing under a fence that another handle has moved', (one, other) => moveFence(one, other, WRITERS)),
  onTwo('writes nothing under a moved fence if the commit is alone either', (one, other) => moveFence(one, other, 1)),
  onTwo('hints at what another handle has changed', async (one, other) => {
    const hinted = new Promise<readonly string[]>((resolve) => {
      one.watch('job/', resolve);
    });
    await other.commit({ put: [put('other/1')] });
    await other.commit({ put: [put('job/1')] });
    assert.deepEqual(await hinted, ['job/1']);
  }),
  onTwo('sees at once what another handle has committed', async (one, other) => {
    for (let round = 0; round < ROUNDS; round++) {
      const version = await one.commit({ put: [put('seen', String(round))] });
      assert.deepEqual((await other.get('seen'))?.version, version);
    }
  }),
];
