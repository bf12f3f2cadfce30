/** The mistakes that are the likeliest on the first day: each error says the right form. */
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { describe, expect, test, vi } from 'vitest';
import {
  defineActivity,
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  koaHandler,
  memoryPubSub,
  memoryState,
  nodeHandler,
  Sidecar,
} from '../../src/index.ts';

const LISTENER = 'expected { listener: app }';

test.each<[what: string, options: Record<string, unknown>, expected: string]>([
  ['an Express app', { app: express() }, `options.app is a function: ${LISTENER}`],
  ['a Koa app', { app: new Koa() }, `options.app is the application itself: ${LISTENER}`],
  ['a Fastify app', { app: fastify() }, `options.app is the application itself: ${LISTENER}`],
  ['a Hono app', { app: new Hono() }, 'options.app is the application itself: expected { fetch: app.fetch }'],
  ['a port', { app: 3000 }, 'options.app is 3000: expected { port: 3000 }'],
  [
    'a URL',
    { app: 'http://me:secret@localhost:3000/' },
    'options.app is a text: expected { port: 3000 }, and host if it is elsewhere',
  ],
  ['a port as text', { app: '3000' }, 'options.app is "3000": expected { port: 3000 }'],
  [
    'an object with a path',
    { state: { path: './x' } },
    'options.state is an object with a path: expected embeddedState("./x") of insidecar/embedded',
  ],
  [
    'an object with a URL',
    { state: { url: 'redis://user:secret@localhost' } },
    'options.state is an object with a URL: expected postgresqlState(url) of insidecar/postgresql, or redisState(url) of insidecar/redis',
  ],
  ['a path', { state: './x' }, 'options.state is "./x": expected embeddedState("./x") of insidecar/embedded'],
  [
    'a URL with a password',
    { state: 'postgresql://app:secret@db/shop' },
    'options.state is a URL: expected postgresqlState(url) of insidecar/postgresql',
  ],
  [
    'a URL of Redis',
    { state: 'redis://:secret@db' },
    'options.state is a URL: expected redisState(url) of insidecar/redis',
  ],
  [
    'a function that makes a store',
    { state: memoryState },
    'options.state is a function: expected what such a function returns, as in { state: memoryState() }',
  ],
  [
    'the name of a component',
    { components: [memoryPubSub('p'), 'q'] },
    `options.components.1 is "q": expected what a function returns, as in memoryPubSub('pubsub')`,
  ],
  [
    'one subscription',
    { subscriptions: { pubsubName: 'p', topic: 't', route: '/' } },
    'options.subscriptions is one subscription alone: expected a list, [subscription]',
  ],
  [
    'one component',
    { components: memoryPubSub('p') },
    'options.components is the component "p" alone: expected a list, [component]',
  ],
  [
    'a function that makes a component',
    { components: [memoryPubSub('p'), memoryPubSub] },
    "options.components.1 is a function: expected what a function returns, as in memoryPubSub('pubsub')",
  ],
  [
    'no logger',
    { logger: false },
    'options.logger must be an object with debug, info, warn and error, or "silent": actual is false',
  ],
])('%s in the options', (_what, options, expected) => {
  expect(() => new Sidecar({ appId: 'shop', ...options })).toThrow(
    expect.objectContaining({ code: 'ERR_CONFIGURATION', message: expected }),
  );
});

test.each([
  { app: { listener: express() } },
  { app: { listener: new Koa() } },
  { app: { listener: fastify() } },
  { app: { fetch: new Hono().fetch } },
])('the right form of an application', (options) => {
  expect(() => new Sidecar({ appId: 'shop', ...options })).not.toThrow();
});

test.each([expressHandler, fastifyPlugin, fetchHandler, koaHandler, nodeHandler])('%o of no sidecar', (mount) => {
  for (const wrong of [{}, undefined, express, express()])
    expect(() => mount(wrong as never)).toThrow(
      /cannot be mounted: expected a sidecar, sidecar\.peers or an inspector$/,
    );
});

describe('arguments in another order', () => {
  test('of a definition', () => {
    expect(() => defineActivity((() => 1) as never, 'charge' as never)).toThrow(
      'the name of the activity is a function: expected a text of 1 to 256 characters',
    );
  });

  const order = 'the order is';

  test.each<[string, (sidecar: Sidecar) => Promise<unknown>, string]>([
    ['publish', ({ pubsub }) => pubsub.publish('orders', 'pubsub', 1), `${order} publish(pubsubName, topic, data)`],
    [
      'publishBulk',
      ({ pubsub }) => pubsub.publishBulk('orders', 'pubsub', [{ entryId: '1', event: 1 }]),
      `${order} publishBulk(pubsubName, topic, entries)`,
    ],
    [
      'subscribe',
      ({ pubsub }) => pubsub.subscribe('orders', 'pubsub', async () => undefined),
      `${order} subscribe(pubsubName, topic, handler)`,
    ],
  ])('%s says the right one', async (_what, call, expected) => {
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
    await sidecar.start();
    await expect(call(sidecar)).rejects.toMatchObject({
      code: 'ERR_PUBSUB_NOT_FOUND',
      message: `pubsub orders is not found: expected pubsub; ${expected}`,
    });
  });

  test('publish of two arguments says both forms', async () => {
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
    await sidecar.start();
    await expect(sidecar.pubsub.publish('orders', { id: 1 } as never, undefined)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message:
        'the topic of publish is {"id":1}: expected publish(pubsubName, topic, data), or publish(topic, data) with what defineTopic returns',
    });
  });

  test('a topic that is none says what one is', async () => {
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
    await sidecar.start();
    await expect(sidecar.pubsub.publish({ id: 1 } as never, 'orders', 1)).rejects.toThrow(
      'the topic of publish is {"id":1}: expected what defineTopic returns, or the names of a component and a topic',
    );
  });
});

test('the logger "silent" writes nothing', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], logger: 'silent' });
    await sidecar.start();
    let calls = 0;
    await sidecar.pubsub.subscribe('pubsub', 'orders', async () => {
      calls++;
      throw new Error('the handler fails');
    });
    await sidecar.pubsub.publish('pubsub', 'orders', 1);
    await vi.waitFor(() => expect(calls).toBeGreaterThan(1), 10_000);
    expect(written).not.toHaveBeenCalled();
  } finally {
    written.mockRestore();
  }
});
