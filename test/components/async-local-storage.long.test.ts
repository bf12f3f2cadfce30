/** On every component and every store: handlers run in no AsyncLocalStorage, neither of who publishes nor who subscribes. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { jetstreamPubSub } from '../../src/components/jetstream/index.ts';
import { kafkaPubSub } from '../../src/components/kafka/index.ts';
import { mqttPubSub } from '../../src/components/mqtt/index.ts';
import { postgresqlState } from '../../src/components/postgresql/index.ts';
import { rabbitmqPubSub } from '../../src/components/rabbitmq/index.ts';
import { redisPubSub, redisState } from '../../src/components/redis/index.ts';
import { defineActivity, defineJob, defineWorkflow, durablePubSub, memoryPubSub, Sidecar } from '../../src/index.ts';
import type { PubSubDefinition, StateDefinition } from '../../src/kit/index.ts';
import { temporaryDirectory } from '../support/embedded-store.ts';
import { RecordingLogger } from '../support/logger.ts';
import { Requests } from '../support/requests.ts';
import {
  hasKafka,
  hasMosquitto,
  hasNats,
  hasPostgresql,
  hasRabbitmq,
  hasRedis,
  startKafka,
  startMosquitto,
  startNats,
  startPostgresql,
  startRabbitmq,
  startRedis,
} from '../support/servers.ts';

/** A server on a port; `undefined` for what needs none. */
type Server = AsyncDisposable & { readonly port: number };

const REQUESTS = Array.from({ length: 30 }, (_none, index) => `request ${index}`);
const NO_SERVER: Server = { port: 0, [Symbol.asyncDispose]: async () => undefined };
const servers: Server[] = [];
afterAll(() => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())));

const COMPONENTS: readonly [
  name: string,
  isThere: boolean,
  start: () => Promise<Server>,
  make: (port: number) => PubSubDefinition,
][] = [
  ['memory', true, async () => NO_SERVER, () => memoryPubSub('pubsub')],
  ['durable', true, async () => NO_SERVER, () => durablePubSub('pubsub')],
  ['Redis', hasRedis(), startRedis, (port) => redisPubSub('pubsub', { url: `redis://127.0.0.1:${port}` })],
  ['RabbitMQ', hasRabbitmq(), startRabbitmq, (port) => rabbitmqPubSub('pubsub', { url: `amqp://127.0.0.1:${port}` })],
  ['MQTT', hasMosquitto(), startMosquitto, (port) => mqttPubSub('pubsub', { url: `mqtt://127.0.0.1:${port}` })],
  [
    'NATS JetStream',
    hasNats(),
    startNats,
    (port) => jetstreamPubSub('pubsub', { url: `nats://127.0.0.1:${port}`, createStream: true }),
  ],
  ['Kafka', hasKafka(), startKafka, (port) => kafkaPubSub('pubsub', { brokers: [`127.0.0.1:${port}`] })],
];

describe.each(COMPONENTS)('messages on %s', (_name, isThere, start, make) => {
  test.runIf(isThere)('handlers, their retries and events run in no request', { timeout: 60_000 }, async () => {
    const server = await start();
    servers.push(server);
    const requests = new Requests();
    const logger = new RecordingLogger();
    const sidecar = new Sidecar({
      appId: `app-${randomUUID()}`,
      components: [make(server.port)],
      logger: requests.noting('log', logger),
    });
    for (const name of ['messagePublished', 'messageDelivered', 'messageRetrying', 'subscriptionStarted'] as const)
      sidecar.events.on(name, () => requests.note(`event ${name}`));
    await requests.as('starter', () => sidecar.start());
    let done = 0;
    for (const concurrency of [1, 10])
      await requests.as('subscriber', () =>
        sidecar.pubsub.subscribe<string>(
          'pubsub',
          `orders-${concurrency}`,
          async ({ data }, { attempt }) => {
            requests.note(`concurrency ${concurrency}, attempt ${attempt}`);
            await new Promise((resolve) => setTimeout(resolve, 1));
            requests.note('goes on');
            if (attempt === 1 && data?.endsWith('3')) return 'RETRY';
            done++;
            return undefined;
          },
          { concurrency, retry: { delay: 5 } },
        ),
      );
    const publish = (request: string, topic: string): Promise<void> =>
      requests.as(request, () => sidecar.pubsub.publish('pubsub', topic, request));
    await Promise.all(REQUESTS.flatMap((request) => [publish(request, 'orders-1'), publish(request, 'orders-10')]));
    await vi.waitFor(() => expect(done).toBeGreaterThanOrEqual(60), { timeout: 30_000 });
    await requests.as('stopper', () => sidecar.stop());
    expect(requests.inRequests).toEqual({});
    expect(
      requests.without([
        ...['concurrency 1, attempt 1', 'concurrency 10, attempt 1', 'concurrency 1, attempt 2', 'goes on'],
        ...[
          'concurrency 10, attempt 2',
          'event messagePublished',
          'event messageDelivered',
          'event messageRetrying',
          'event subscriptionStarted',
        ],
      ]),
    ).toEqual([]);
  });
});

const STORES: readonly [
  name: string,
  isThere: boolean,
  start: () => Promise<Server>,
  make: (port: number) => StateDefinition,
][] = [
  ['embedded', true, async () => NO_SERVER, () => embeddedState({ path: temporaryDirectory() })],
  [
    'PostgreSQL',
    hasPostgresql(),
    startPostgresql,
    (port) => postgresqlState({ url: `postgresql://postgres@127.0.0.1:${port}/postgres` }),
  ],
  ['Redis', hasRedis(), startRedis, (port) => redisState({ url: `redis://127.0.0.1:${port}` })],
];

describe.each(STORES)('state in %s', (_name, isThere, start, make) => {
  test.runIf(isThere)('messages, jobs, workflows and activities run in no request', { timeout: 60_000 }, async () => {
    const server = await start();
    servers.push(server);
    const requests = new Requests();
    const sidecar = new Sidecar({
      appId: 'shop',
      components: [durablePubSub('pubsub')],
      state: make(server.port),
      logger: requests.noting('log', new RecordingLogger()),
    });
    let done = 0;
    const activity = defineActivity('activity', () => requests.note('activity'));
    const workflow = defineWorkflow('workflow', async (ctx) => {
      requests.note('workflow begins');
      await ctx.callActivity(activity);
      await ctx.waitForEvent('go');
      requests.note('workflow goes on');
    });
    sidecar.workflows.register(workflow, activity);
    sidecar.register(
      defineJob('*', () => {
        requests.note('job');
        done++;
      }),
    );
    sidecar.events.on('workflowCompleted', () => requests.note('event workflowCompleted'));
    await requests.as('starter', () => sidecar.start());
    await requests.as('subscriber', () =>
      sidecar.pubsub.subscribe('pubsub', 'orders', () => {
        requests.note('message');
        done++;
      }),
    );
    const use = async (request: string): Promise<void> => {
      await sidecar.pubsub.publish('pubsub', 'orders', request);
      await sidecar.jobs.schedule(request.replace(' ', '-'), { dueTime: '0s' });
      const run = await sidecar.workflows.start(workflow);
      await run.raise('go');
      await run.result();
    };
    await Promise.all(REQUESTS.map((request) => requests.as(request, () => use(request))));
    await vi.waitFor(() => expect(done).toBe(60), { timeout: 30_000 });
    await requests.as('stopper', () => sidecar.stop());
    expect(requests.inRequests).toEqual({});
    expect(
      requests.without([
        'message',
        'job',
        'workflow begins',
        'activity',
        'workflow goes on',
        'event workflowCompleted',
      ]),
    ).toEqual([]);
  });
});
