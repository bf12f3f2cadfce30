import { expect, test } from 'vitest';
import { BulkBatches } from '../../../../src/blocks/pubsub/delivery/bulk-batches.ts';
import type { Delivery } from '../../../../src/components/pubsub.ts';
import { SteppedClock } from '../../../support/stepped-clock.ts';

test.each([-3_600_000, 3_600_000])('a batch is sent in time when the clock is set by %d ms meanwhile', async (byMs) => {
  const clock = new SteppedClock();
  const sent: number[] = [];
  const batches = new BulkBatches({ maxMessages: 10, maxAwaitMs: 500 }, 1, clock, async ({ length }) => {
    sent.push(length);
  });
  batches.add([{} as Delivery]);
  clock.step(byMs);
  batches.add([{} as Delivery]);
  await clock.time.advance(500);
  expect(sent.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(0);
  await clock.time.advance(500);
  expect(sent.reduce((sum, length) => sum + length, 0)).toBe(2);
});
