import { expect, test } from 'vitest';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { compareWithModel } from '../../support/store-model.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const open = (): Promise<StateStore> => memoryState().open({ clock: systemClock, logger: quiet });

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
