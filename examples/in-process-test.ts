/**
 * A test of an application's messaging without a socket and without waiting: the application answers RETRY to every
 * delivery, and after three retries the message goes to the dead-letter topic. The retries wait for 10, 20 and 40
 * minutes here; the test takes milliseconds. Run with `npx tsx examples/in-process-test.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import express from 'express';
import { memoryPubSub, Sidecar } from 'insidecar';
import { virtualClock } from 'insidecar/testing';

test('an order that is never accepted is retried three times and then dead-lettered', async (t) => {
  const startedAt = performance.now();
  const tried: number[] = [];
  const dead: number[] = [];

  const app = express();
  app.use(express.json({ type: 'application/*+json' }));
  app.post('/on-order', (req, res) => {
    tried.push(req.body.data.id);
    res.json({ status: 'RETRY' });
  });
  app.post('/on-dead-order', (req, res) => {
    dead.push(req.body.data.id);
    res.end();
  });

  const clock = virtualClock();
  const sidecar = new Sidecar({
    appId: 'orders',
    app: { listener: app },
    components: [memoryPubSub('pubsub')],
    subscriptions: [
      {
        pubsubName: 'pubsub',
        topic: 'orders',
        route: '/on-order',
        deadLetterTopic: 'dead-orders',
        retry: { maxRetries: 3, delay: '10m', maxDelay: '1h' },
      },
      { pubsubName: 'pubsub', topic: 'dead-orders', route: '/on-dead-order' },
    ],
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  t.after(() => sidecar.stop());
  await sidecar.start();

  await sidecar.pubsub.publish('pubsub', 'orders', { id: 7 });
  await clock.settled();
  assert.deepEqual([tried, dead], [[7], []]);

  await clock.advance('2h');
  assert.deepEqual([tried, dead], [[7, 7, 7, 7], [7]]);

  console.log(`4 deliveries and 1 dead letter, 2 hours later, in ${Math.round(performance.now() - startedAt)} ms`);
});
