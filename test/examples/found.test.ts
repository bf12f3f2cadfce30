/** Faults that writing the examples brought to light. */
import Koa from 'koa';
import { expect, onTestFinished, test } from 'vitest';
import { memoryPubSub, Sidecar } from '../../src/index.ts';

test('subscribing in code to a topic that is not permitted fails with ERR_PUBSUB_FORBIDDEN', async () => {
  const components = [memoryPubSub('pubsub', { subscriptionScopes: { orders: ['orders'] } })];
  const sidecar = new Sidecar({ appId: 'orders', components });
  onTestFinished(() => sidecar.stop());
  await sidecar.start();
  const subscribed = sidecar.pubsub.subscribe('pubsub', 'invoices', () => undefined);
  await expect(subscribed).rejects.toMatchObject({ code: 'ERR_PUBSUB_FORBIDDEN', status: 403 });
});

test('middleware that a Koa app gets after the sidecar was made receives messages', async () => {
  const app = new Koa();
  const sidecar = new Sidecar({
    appId: 'orders',
    app: { listener: app },
    components: [memoryPubSub('pubsub')],
    subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/on-order' }],
  });
  onTestFinished(() => sidecar.stop());
  const delivered = new Promise<unknown>((resolve) => {
    sidecar.events.once('messageDelivered', resolve);
    sidecar.events.once('messageDropped', resolve);
  });
  app.use((ctx) => {
    ctx.status = ctx.path === '/on-order' ? 200 : 404;
  });
  await sidecar.start();
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  expect(await delivered).toMatchObject({ route: '/on-order', attempt: 1, durationMs: expect.any(Number) });
});
