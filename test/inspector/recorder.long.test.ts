import { expect, test } from 'vitest';
import { eventually } from '../../src/kit/collector.ts';
import { Recorded } from './recorded.ts';

test('a recorder keeps the newest 10,000 of 30,000 messages', async () => {
  await using recorded = await Recorded.start();
  const { pubsub } = recorded.sidecar;
  let delivered = 0;
  await pubsub.subscribe('pubsub', 'orders', () => void delivered++);
  for (let batch = 0; batch < 30; batch++) {
    const entries = Array.from({ length: 1_000 }, (_, n) => ({
      entryId: String(n),
      event: `n${batch * 1_000 + n}.`,
    }));
    await pubsub.publishBulk('pubsub', 'orders', entries);
    expect(recorded.recorder.kept.size).toBeLessThanOrEqual(10_000);
  }
  await eventually('all are delivered', () => delivered === 30_000);
  const { kept } = recorded.recorder;
  expect(kept).toMatchObject({ size: 10_000, capacity: 10_000, hasDropped: true });
  const newest = await recorded.messages('text=n29999.');
  expect(newest).toHaveLength(1);
  expect(recorded.recorder.find(String(Number(newest[0]?.key) - 10_000))).toBeUndefined();
}, 240_000);
