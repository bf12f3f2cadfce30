import { expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import { listen } from '../support/http.ts';
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

test('a response that waits for a retry gives its place back when the circuit breaker refuses the retry', async () => {
  await using app = await listen((req, res) => {
    if (req.url !== '/fails') return res.end('ok');
    res.statusCode = 503;
    res.write('not ');
    return res.end('now');
  });
  await using sidecar = new Sidecar({
    appId: 'shop',
    app: { port: app.port, maxConcurrency: 1 },
    resiliency: {
      policies: {
        timeouts: { short: 500 },
        retries: { once: { duration: 1_000, maxRetries: 1 } },
        circuitBreakers: { early: { trip: 'consecutiveFailures >= 2', timeout: 60_000 } },
      },
      targets: { apps: { shop: { timeout: 'short', retry: 'once', circuitBreaker: 'early' } } },
    },
  });
  await sidecar.start();
  const call = (path: string): Promise<number> =>
    sidecar.invocation.invoke('shop', path).then(
      async (reply) => {
        await reply.text();
        return reply.status;
      },
      () => 0,
    );
  await Promise.all([call('/fails'), call('/fails')]);
  expect([await call('/ok1'), await call('/ok2')]).toEqual([200, 200]);
});
