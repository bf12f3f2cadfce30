/** The server of the package `@dapr/dapr`, unmodified, as the application of a sidecar, over HTTP. */
import { DaprPubSubStatusEnum, type DaprServer, HttpMethod } from '@dapr/dapr';
import { describe, expect, onTestFinished, test } from 'vitest';
import { send } from '../support/http.ts';
import { PATIENCE, type SdkOptions, type SdkWorld, sdkWorld } from './world.ts';

/** A world that ends with the test. */
async function start(listens: (server: DaprServer) => Promise<void>, options: SdkOptions = {}): Promise<SdkWorld> {
  const world = await sdkWorld({ ...options, listens });
  onTestFinished(() => world[Symbol.asyncDispose]());
  return world;
}

describe('subscriptions', () => {
  test('what one client publishes the server gets, with its headers', async () => {
    const got: { data: unknown; headers: Record<string, unknown> }[] = [];
    const { client } = await start(async ({ pubsub }) => {
      await pubsub.subscribe(
        'pubsub',
        'placed',
        async (data, headers) => void got.push({ data, headers: Object(headers) }),
      );
    });
    await client.pubsub.publish('pubsub', 'placed', { id: 1 });
    await client.pubsub.publish('pubsub', 'placed', 'text');
    await expect.poll(() => got.map(({ data }) => data).toSorted(), PATIENCE).toEqual([{ id: 1 }, 'text']);
    expect(got[0]?.headers).toMatchObject({ 'content-type': 'application/cloudevents+json', pubsubname: 'pubsub' });
  });

  test('they are in metadata, with the routes that the server made', async () => {
    const { client } = await start(async ({ pubsub }) => {
      await pubsub.subscribe('pubsub', 'Placed/Now', async () => undefined, '/take');
    });
    expect(await client.metadata.get()).toMatchObject({
      subscriptions: [
        {
          pubsubname: 'pubsub',
          topic: 'Placed/Now',
          type: 'PROGRAMMATIC',
          rules: [{ path: '/pubsub--placed-now--take' }],
        },
      ],
    });
  });

  test('rules choose the route', async () => {
    const got: [route: string, data: unknown][] = [];
    const { client } = await start(async ({ pubsub }) => {
      const route = {
        default: 'other',
        rules: [
          { match: 'event.type == "big"', path: 'big' },
          { match: 'event.data.amount > 10', path: 'many' },
        ],
      };
      await pubsub.subscribeWithOptions('pubsub', 'ruled', { route });
      for (const path of ['other', 'big', 'many'])
        pubsub.subscribeToRoute('pubsub', 'ruled', path, async (data: unknown) => void got.push([path, data]));
    });
    await client.pubsub.publish('pubsub', 'ruled', { a: 1 }, { metadata: { 'cloudevent.type': 'big' } });
    await client.pubsub.publish('pubsub', 'ruled', { amount: 11 });
    await client.pubsub.publish('pubsub', 'ruled', { amount: 9 });
    await expect
      .poll(() => got.toSorted(), PATIENCE)
      .toEqual([
        ['big', { a: 1 }],
        ['many', { amount: 11 }],
        ['other', { amount: 9 }],
      ]);
  });

  test('RETRY brings a message again', async () => {
    const attempts: unknown[] = [];
    const { client } = await start(async ({ pubsub }) => {
      await pubsub.subscribe('pubsub', 'again', async (data: unknown) => {
        attempts.push(data);
        return attempts.length < 3 ? DaprPubSubStatusEnum.RETRY : DaprPubSubStatusEnum.SUCCESS;
      });
    });
    await client.pubsub.publish('pubsub', 'again', 'x');
    await expect.poll(() => attempts, PATIENCE).toEqual(['x', 'x', 'x']);
  });

  test('DROP brings a message to the dead-letter topic, whose callback gets it', async () => {
    const dead: unknown[] = [];
    const { client, sidecar } = await start(async ({ pubsub }) => {
      await pubsub.subscribeWithOptions('pubsub', 'doomed', {
        deadLetterTopic: 'dead',
        callback: async () => DaprPubSubStatusEnum.DROP,
      });
      await pubsub.subscribe('pubsub', 'dead', async (data: unknown) => void dead.push(data));
    });
    const told: unknown[] = [];
    sidecar.events.on('messageDeadLettered', ({ topic, deadLetterTopic }) => told.push([topic, deadLetterTopic]));
    await client.pubsub.publish('pubsub', 'doomed', { id: 1 });
    await expect.poll(() => dead, PATIENCE).toEqual([{ id: 1 }]);
    expect(told).toEqual([['doomed', 'dead']]);
  });

  test('of several in bulk each has its own status', async () => {
    const got: unknown[] = [];
    const { client } = await start(async ({ pubsub }) => {
      await pubsub.subscribeBulk(
        'pubsub',
        'bulk',
        async (data: unknown) => {
          got.push(data);
          return Object(data).id === 2 && got.filter((one) => Object(one).id === 2).length < 2
            ? DaprPubSubStatusEnum.RETRY
            : DaprPubSubStatusEnum.SUCCESS;
        },
        { maxMessagesCount: 3, maxAwaitDurationMs: 200 },
      );
    });
    await client.pubsub.publishBulk('pubsub', 'bulk', [{ id: 1 }, { id: 2 }, { id: 3 }]);
    await expect.poll(() => got, PATIENCE).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 2 }]);
  });

  test('raw payloads arrive, JSON as JSON and text as text', async () => {
    const got: unknown[] = [];
    const { client } = await start(async ({ pubsub }) => {
      await pubsub.subscribe('pubsub', 'raw', async (data: unknown) => void got.push(data), '', { rawPayload: true });
    });
    await client.pubsub.publish('pubsub', 'raw', { id: 1 }, { metadata: { rawPayload: true } });
    await client.pubsub.publish('pubsub', 'raw', 'plain', { metadata: { rawPayload: true } });
    await expect.poll(() => got.toSorted(), PATIENCE).toEqual([{ id: 1 }, 'plain']);
  });

  test('raw payloads arrive in bulk too', async () => {
    const got: unknown[] = [];
    const { client } = await start(async ({ pubsub }) => {
      const options = { metadata: { rawPayload: true }, maxAwaitDurationMs: 50 };
      await pubsub.subscribeBulk('pubsub', 'raw', async (data: unknown) => void got.push(data), options);
    });
    await client.pubsub.publish('pubsub', 'raw', { id: 1 }, { metadata: { rawPayload: true } });
    await client.pubsub.publish('pubsub', 'raw', 'plain', { metadata: { rawPayload: true } });
    await expect.poll(() => got.toSorted(), PATIENCE).toEqual([{ id: 1 }, 'plain']);
  });

  test('a message that was published before the server came up is delivered to it', async () => {
    const got: unknown[] = [];
    await start(
      async ({ pubsub }) => {
        await pubsub.subscribe('pubsub', 'early', async (data: unknown) => void got.push(data));
      },
      {
        subscriptions: [{ pubsubName: 'pubsub', topic: 'early', route: '/pubsub--early--default' }],
        beforeServer: ({ pubsub }) => pubsub.publish('pubsub', 'early', { id: 1 }),
      },
    );
    await expect.poll(() => got, PATIENCE).toEqual([{ id: 1 }]);
  });
});

describe('invocation', () => {
  const echo = async (server: DaprServer): Promise<void> => {
    for (const method of [HttpMethod.GET, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE])
      await server.invoker.listen(
        'echo',
        async ({ body, query, headers }) => ({
          method,
          body: body === undefined ? null : JSON.parse(body),
          query,
          mine: Object(headers)['x-mine'],
          caller: Object(headers)['dapr-caller-app-id'],
        }),
        { method },
      );
    await server.invoker.listen('deep/path', async () => undefined);
  };

  test.each([HttpMethod.GET, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE])(
    '%s reaches the server with body, query and headers',
    async (method) => {
      const { client } = await start(echo);
      const body = method === HttpMethod.GET ? undefined : { id: 1 };
      const answer = await client.invoker.invoke('orders', 'echo?a=1', method, body, { headers: { 'x-mine': 'yes' } });
      expect(answer).toEqual({ method, body: body ?? {}, query: '/echo?a=1', mine: 'yes', caller: 'orders' });
    },
  );

  test('a path of several segments, and a callback that answers nothing', async () => {
    const { client } = await start(echo);
    expect(await client.invoker.invoke('orders', 'deep/path', HttpMethod.GET)).toEqual({ closed: true });
  });

  test('what the server does not have is its own 404', async () => {
    const { client } = await start(echo);
    const error = await client.invoker
      .invoke('orders', 'nope', HttpMethod.GET)
      .catch((thrown: Error) => JSON.parse(thrown.message));
    expect(error).toMatchObject({ status: 404, error_msg: expect.stringContaining('Cannot GET /nope') });
  });

  test('an unknown application is an error of the sidecar', async () => {
    const { client } = await start(echo);
    const error = await client.invoker
      .invoke('nobody', 'echo', HttpMethod.GET)
      .catch((thrown: Error) => JSON.parse(thrown.message));
    expect(error).toMatchObject({ status: 500, error_msg: expect.stringContaining('"errorCode":"ERR_DIRECT_INVOKE"') });
  });

  test('one application calls another, each with a sidecar of its own, both ways', async () => {
    const identity = { keys: [{ secret: 'a shared secret of more than 32 bytes' }] };
    const callee = await start(echo, { identity });
    const caller = await start(
      (server) =>
        server.invoker.listen('back', async ({ headers }) => ({ caller: Object(headers)['dapr-caller-app-id'] })),
      { appId: 'mail', identity, nameResolution: { static: { orders: callee.http.url } } },
    );
    expect(await caller.client.invoker.invoke('orders', 'echo', HttpMethod.POST, { id: 1 })).toMatchObject({
      method: 'post',
      body: { id: 1 },
      caller: 'mail',
    });
    const third = await start(echo, {
      appId: 'third',
      identity,
      nameResolution: { static: { mail: caller.http.url } },
    });
    expect(await third.client.invoker.invoke('mail', 'back', HttpMethod.GET)).toEqual({ caller: 'third' });
  });
});

describe('jobs, which the client has no words for', () => {
  test.each(['v1.0-alpha1', 'v1.0'])('one that is scheduled under %s runs', async (version) => {
    const ran: unknown[] = [];
    const { http } = await start((server) =>
      server.invoker.listen('job/report', async ({ body }) => void ran.push(JSON.parse(body ?? 'null')), {
        method: HttpMethod.POST,
      }),
    );
    const body = { dueTime: '0s', data: { to: 'accounts' } };
    expect((await send(http.url, 'POST', `/${version}/jobs/report`, { body })).status).toBe(204);
    await expect.poll(() => ran, PATIENCE).toEqual([{ to: 'accounts' }]);
  });
});
