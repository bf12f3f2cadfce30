import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { countEntries } from '../../src/state/count-entries.ts';
import type { StateStore } from '../../src/state/store.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from '../support/logger.ts';

test('counts with scans in a store that cannot count, and reads no more than the limit', async () => {
  const memory = new MemoryStore({ clock: systemClock, logger: new RecordingLogger() });
  await memory.commit({
    put: Array.from({ length: 2_345 }, (_, at) => ({
      key: `k${String(at).padStart(4, '0')}`,
      value: Buffer.from('x'),
    })),
  });
  let read = 0;
  const store: StateStore = {
    failure: undefined,
    get: (key) => memory.get(key),
    scan: async (scan) => {
      const entries = await memory.scan(scan);
      read += entries.length;
      return entries;
    },
    commit: (batch) => memory.commit(batch),
    watch: (prefix, onChange) => memory.watch(prefix, onChange),
    close: () => memory.close(),
    [Symbol.asyncDispose]: () => memory.close(),
  };
  expect(await countEntries(store, { from: 'k' }, 10_000)).toBe(2_345);
  expect(await countEntries(store, { from: 'k0100', to: 'k1200' }, 10_000)).toBe(1_100);
  read = 0;
  expect(await countEntries(store, { from: '' }, 1_500)).toBe(1_500);
  expect(read).toBe(1_500);
});
