import { expect, test } from 'vitest';
import { WAYS } from '../support/served.ts';
import { startWorld } from '../support/world.ts';

test.each(WAYS)(
  'maxConcurrency holds over deliveries, jobs and invocations together, application via %s',
  async (via) => {
    const open: (() => void)[] = [];
    let most = 0;
    await using world = await startWorld({
      via,
      treatment: { maxConcurrency: 3 },
      answer: () =>
        new Promise((resolve) => {
          open.push(() => resolve(undefined));
          most = Math.max(most, open.length);
        }),
    });
    const headers = { 'content-type': 'application/json' };
    for (let number = 0; number < 4; number++) {
      await world.send('POST', '/v1.0/publish/pubsub/orders', { body: `${number}` });
      await world.send('POST', `/v1.0-alpha1/jobs/job${number}`, { headers, body: { dueTime: '0s' } });
    }
    const invoked = [1, 2, 3, 4].map(() => world.send('POST', '/v1.0/invoke/shop/method/direct'));
    await world.received(3);
    for (let answered = 0; answered < 12; answered++) {
      while (open.length === 0) {
        await world.clock.advance(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
      // All that may be under way is under way before the next one is answered.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      open.shift()?.();
    }
    expect((await Promise.all(invoked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await world.clock.settled();
    expect(world.at('/orders')).toHaveLength(4);
    expect(world.at('/direct')).toHaveLength(4);
    expect(world.deliveries.filter(({ path }) => path.startsWith('/job/'))).toHaveLength(4);
    expect(most).toBe(3);
  },
);
