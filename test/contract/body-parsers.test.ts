import express from 'express';
import fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { type AppOptions, memoryPubSub, Sidecar } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { RecordingLogger } from '../support/logger.ts';

const SUBSCRIPTION = { pubsubName: 'pubsub', topic: 'orders', route: '/orders', retry: { maxRetries: 5 } };

/** What is said about parsers after two messages, with five retries each, to an application with this subscription. */
async function hintsOf(app: AppOptions, subscription: object = {}): Promise<readonly string[]> {
  const clock = virtualClock();
  const logger = new RecordingLogger();
  const subscriptions = [{ ...SUBSCRIPTION, ...subscription }];
  await using sidecar = new Sidecar({
    ...{ appId: 'shop', app, subscriptions, clock, logger },
    components: [memoryPubSub('pubsub')],
  });
  await sidecar.start();
  for (const id of [1, 2]) await sidecar.pubsub.publish('pubsub', 'orders', { id });
  await clock.advance('1h');
  return logger
    .at('warn')
    .filter(({ message }) => message.includes('application/cloudevents+json'))
    .map(({ message, details }) => `${details['pubsubName']}/${details['topic']}: ${message}`);
}

/** An application that answers with these statuses, the last of them again and again. */
function answering(...statuses: readonly number[]): AppOptions {
  const left = [...statuses];
  return {
    listener: (req, res) => {
      const status = req.url !== '/orders' ? 404 : left.length > 1 ? left.shift() : left[0];
      res.writeHead(status ?? 500).end();
    },
  };
}

describe('an application whose body parser does not take messages', () => {
  test('Fastify without a parser answers 415: the log says once how to add one', async () => {
    const app = fastify();
    app.post('/orders', async () => ({ status: 'SUCCESS' }));
    expect(await hintsOf({ listener: app })).toEqual([
      expect.stringMatching(/^pubsub\/orders: the application answers 415: .* Fastify: app\.addContentTypeParser\(/),
    ]);
  });

  test('Express without the type answers 500: the log says once what the type is', async () => {
    const app = express();
    app.use(express.json());
    app.post('/orders', (req, res) => void res.json({ got: req.body.data.id }));
    app.use(((_error, _req, res, _next) => void res.sendStatus(500)) as express.ErrorRequestHandler);
    expect(await hintsOf({ listener: app })).toEqual([
      expect.stringMatching(
        /^pubsub\/orders: the application has answered 500 to every message so far\. .*express\.json\(/,
      ),
    ]);
  });

  test.each<[what: string, app: AppOptions, subscription?: object]>([
    ['answers 200', answering(200)],
    ['answers 500 to one message and then 200', answering(500, 500, 200, 500)],
    ['answers 503', answering(503)],
    ['answers 415 when it has taken messages before', answering(200, 415)],
    ['answers 415 to raw payloads, whose type is not ours', answering(415), { metadata: { rawPayload: 'true' } }],
  ])('nothing is said of one that %s', async (_what, app, subscription) => {
    expect(await hintsOf(app, subscription)).toEqual([]);
  });
});
