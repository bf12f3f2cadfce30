import { expect, test } from 'vitest';
import { durablePubSub, Sidecar } from '../../src/index.ts';
import { RecordingLogger } from '../support/logger.ts';

test.each([1, 10])(
  'a message that is published while the last subscription closes is not passed over (%s)',
  async (concurrency) => {
    await using sidecar = new Sidecar({
      ...{ appId: 'shop', components: [durablePubSub('pubsub')], logger: new RecordingLogger() },
    });
    await sidecar.start();
    const { pubsub } = sidecar;
    const seen: string[] = [];
    const onMessage = ({ id }: { id: string }): void => void seen.push(id);
    const expected: string[] = [];
    // The queue reads while it closes: each time, the close comes a little later.
    for (let turns = 0; turns < 20; turns++) {
      const subscription = await pubsub.subscribe('pubsub', 'orders', onMessage, { concurrency });
      const published = pubsub.publish('pubsub', 'orders', {}, { cloudEvent: { id: `early-${turns}` } });
      for (let turn = 0; turn < turns; turn++) await undefined;
      await subscription.close();
      await published;
      const next = await pubsub.subscribe('pubsub', 'orders', onMessage, { concurrency });
      await pubsub.publish('pubsub', 'orders', {}, { cloudEvent: { id: `late-${turns}` } });
      expected.push(`early-${turns}`, `late-${turns}`);
      await expect.poll(() => seen.length).toBe(expected.length);
      await next.close();
    }
    expect(seen).toEqual(expected);
  },
);
