import { expect, test } from 'vitest';
import { memoryStore } from '../../../src/components/memory/memory-store.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { stateStoreConformance } from '../../../src/testing/store-conformance.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { compareWithModel } from '../../support/store-model.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const open = (): Promise<StateStore> => memoryStore().open({ clock: systemClock, logger: quiet });

for (const { name, needs = [], run } of stateStoreConformance) {
  test.skipIf(needs.length > 0)(`memory store: ${name}`, () => run(open));
}

test('memory store: behaves like a sorted map in random histories', () => compareWithModel(open, 200));

test('memory store: settles commits in flight when it is closed', async () => {
  const store = await open();
  const commit = store.commit({ put: [{ key: 'a', value: new Uint8Array(1) }] });
  await store.close();
  expect(await commit).toBe(1);
});

test('memory store: takes a million keys in any order and finds its way at once', async () => {
  const store = await open();
  const million = 1_000_000;
  const atOnce = 1000;
  const value = new Uint8Array(0);
  for (let first = 0; first < million; first += atOnce) {
    // A prime step visits every key, in an order that is neither ascending nor descending.
    const numbers = Array.from({ length: atOnce }, (_, index) => ((first + index) * 617_411) % million);
    await store.commit({ put: numbers.map((number) => ({ key: String(number).padStart(6, '0'), value })) });
  }
  const [entry] = await store.scan({ from: '765432', limit: 1 });
  expect(entry?.key).toBe('765432');
  const last = await store.scan({ from: '', limit: 2, reverse: true });
  expect(last.map(({ key }) => key)).toEqual(['999999', '999998']);
  // Five seconds alone; much more beside other work.
}, 120_000);
