import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { stateStoreConformance } from '../../../src/testing/store-conformance.ts';
import { context, put, temporaryDirectory } from '../../support/embedded-store.ts';
import { compareWithModel } from '../../support/store-model.ts';

async function open(path: string): Promise<StateStore> {
  const store = await embeddedState({ path }).open(context);
  onTestFinished(() => store.close());
  return store;
}

describe('a store that has joined the holder of a directory, as every store', () => {
  for (const { name, run } of stateStoreConformance) {
    test(name, async () => {
      const path = join(temporaryDirectory(), 'state');
      await open(path);
      await run(() => embeddedState({ path }).open(context));
    });
  }

  test('behaves like a sorted map in random histories', async () => {
    const path = join(temporaryDirectory(), 'state');
    await open(path);
    await compareWithModel(async () => {
      const store = await open(path);
      await store.commit({ delete: (await store.scan({ from: '' })).map((entry) => entry.key) });
      return store;
    }, 12);
  });
});

test('the holder is exclusive until another store joins', async () => {
  const path = temporaryDirectory();
  const holder = await open(path);
  expect(holder.isExclusive).toBe(true);
  const guest = await open(path);
  expect(holder.isExclusive).toBe(false);
  await guest.commit({ put: [put('a')] });
  expect((await holder.get('a'))?.value).toEqual(put('a').value);
  await holder.close();
  await guest.commit({ put: [put('b')] });
  expect((await guest.get('a'))?.value).toEqual(put('a').value);
  const next = await open(path);
  expect((await next.get('b'))?.value).toEqual(put('b').value);
});
