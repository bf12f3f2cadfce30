import { expect, test } from 'vitest';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

test('memory store: takes 200,000 keys in any order and finds its way at once', async () => {
  const store = await memoryState().open({ clock: systemClock, logger: new RecordingLogger() });
  const count = 200_000;
  const atOnce = 1000;
  const value = new Uint8Array(0);
  for (let first = 0; first < count; first += atOnce) {
    // A prime step visits every key, in an order that is neither ascending nor descending.
    const numbers = Array.from({ length: atOnce }, (_, index) => ((first + index) * 617_411) % count);
    await store.commit({ put: numbers.map((number) => ({ key: String(number).padStart(6, '0'), value })) });
  }
  const [entry] = await store.scan({ from: '165432', limit: 1 });
  expect(entry?.key).toBe('165432');
  const last = await store.scan({ from: '', limit: 2, reverse: true });
  expect(last.map(({ key }) => key)).toEqual(['199999', '199998']);
  // A second alone; much more beside other work.
}, 120_000);
