import { runInNewContext } from 'node:vm';
import { CloudEvent } from 'cloudevents';
import { describe, expect, test } from 'vitest';
import {
  isSidecarError,
  type MessageHandler,
  memoryPubSub,
  type PublishOptions,
  type ReceivedEvent,
} from '../../src/index.ts';
import { startWorld, type World } from '../support/world.ts';

async function publish(world: World, data: unknown, options?: PublishOptions): Promise<Record<string, unknown>> {
  await world.sidecar.pubsub.publish('pubsub', 'orders', data, options);
  await world.clock.settled();
  return world.deliveries.at(-1)?.json ?? {};
}

describe('publish in code', () => {
  test.each<[what: string, data: unknown, options: PublishOptions, expected: object]>([
    ['a string', 'text', {}, { data: 'text', datacontenttype: 'text/plain' }],
    ['bytes', Buffer.from([0, 255]), {}, { data_base64: 'AP8=', datacontenttype: 'application/octet-stream' }],
    ['an object', { a: [1] }, {}, { data: { a: [1] }, datacontenttype: 'application/json' }],
    ['null', null, {}, { data: null, datacontenttype: 'application/json' }],
    ['a number', 1.5, {}, { data: 1.5, datacontenttype: 'application/json' }],
    ['JSON text as JSON', '{"a":1}', { contentType: 'application/json' }, { data: { a: 1 } }],
    [
      'attributes',
      'x',
      { cloudEvent: { id: 'i', source: 's', type: 't', subject: 'u' } },
      { id: 'i', source: 's', type: 't', subject: 'u' },
    ],
    ['a life time', 'x', { ttl: 1_500 }, { expiration: '2026-01-01T00:00:01.500Z' }],
    ['a trace', 'x', { trace: { traceparent: 'p', tracestate: 's' } }, { traceparent: 'p', tracestate: 's' }],
  ])('%s', async (_, data, options, expected) => {
    await using world = await startWorld();
    expect(await publish(world, data, options)).toMatchObject(expected);
  });

  test('a CloudEvent is the caller’s own', async () => {
    await using world = await startWorld();
    const event = new CloudEvent({ id: '7', source: '/me', type: 'my.type', data: { a: 1 }, myext: 'x' });
    const got = await publish(world, event);
    expect(got).toMatchObject({ id: '7', source: '/me', type: 'my.type', data: { a: 1 }, myext: 'x', topic: 'orders' });
  });

  test('metadata are headers of the delivery', async () => {
    await using world = await startWorld();
    await publish(world, 'x', { metadata: { mine: '1' } });
    expect(world.deliveries[0]?.headers['mine']).toBe('1');
  });

  test('rawPayload publishes the bytes', async () => {
    const discovery = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', metadata: { rawPayload: 'true' } }];
    await using world = await startWorld({ discovery });
    await world.sidecar.pubsub.publish('pubsub', 'orders', Buffer.from('raw'), { rawPayload: true });
    await world.clock.settled();
    expect(world.deliveries[0]?.text).toBe('raw');
  });

  test('a buffer of raw payloads can be used again as soon as they are published', async () => {
    const discovery = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', metadata: { rawPayload: 'true' } }];
    await using world = await startWorld({ discovery });
    const buffer = Buffer.from('one');
    await world.sidecar.pubsub.publish('pubsub', 'orders', buffer, { rawPayload: true });
    buffer.write('two');
    await world.sidecar.pubsub.publishBulk('pubsub', 'orders', [{ entryId: '1', event: buffer }], { rawPayload: true });
    buffer.write('___');
    await world.clock.settled();
    expect(world.deliveries.map(({ text }) => text)).toEqual(['one', 'two']);
  });

  test.each<[what: string, name: string, topic: string, data: unknown, options: PublishOptions, code: string]>([
    ['no pub/sub name', '', 'orders', 1, {}, 'ERR_INVALID_ARGUMENT'],
    ['no topic', 'pubsub', '', 1, {}, 'ERR_INVALID_ARGUMENT'],
    ['an unknown pub/sub', 'nope', 'orders', 1, {}, 'ERR_PUBSUB_NOT_FOUND'],
    ['a protected topic', 'pubsub', 'secret', 1, {}, 'ERR_PUBSUB_FORBIDDEN'],
    ['a life time of 0', 'pubsub', 'orders', 1, { ttl: 0 }, 'ERR_INVALID_ARGUMENT'],
    ['a negative life time', 'pubsub', 'orders', 1, { ttl: -5 }, 'ERR_INVALID_ARGUMENT'],
    ['a life time that is no number', 'pubsub', 'orders', 1, { ttl: Number.NaN }, 'ERR_INVALID_ARGUMENT'],
    ['undefined', 'pubsub', 'orders', undefined, {}, 'ERR_INVALID_ARGUMENT'],
    ['a function', 'pubsub', 'orders', () => 1, {}, 'ERR_INVALID_ARGUMENT'],
    ['a BigInt', 'pubsub', 'orders', 1n, {}, 'ERR_INVALID_ARGUMENT'],
    [
      'a forbidden CloudEvent',
      'pubsub',
      'orders',
      { id: '' },
      { contentType: 'application/cloudevents+json' },
      'ERR_INVALID_ARGUMENT',
    ],
  ])('%s is refused', async (_, name, topic, data, options, code) => {
    await using world = await startWorld({ memory: { protectedTopics: ['secret'] } });
    const error: unknown = await world.sidecar.pubsub
      .publish(name, topic, data, options)
      .catch((thrown: unknown) => thrown);
    expect(isSidecarError(error)).toBe(true);
    expect(error).toMatchObject({ code });
    expect(world.deliveries).toEqual([]);
  });

  test('publishBulk publishes in order, with each entry’s own type and metadata', async () => {
    await using world = await startWorld();
    await world.sidecar.pubsub.publishBulk(
      'pubsub',
      'orders',
      [
        { entryId: '1', event: 'a', metadata: { ttlInSeconds: '1' } },
        { entryId: '2', event: { b: 1 } },
        { entryId: '3', event: '{"c":1}', contentType: 'application/json' },
      ],
      { ttl: 10_000 },
    );
    await world.clock.settled();
    expect(world.deliveries.map(({ json }) => [json['data'], json['expiration']])).toEqual([
      ['a', '2026-01-01T00:00:01.000Z'],
      [{ b: 1 }, '2026-01-01T00:00:10.000Z'],
      [{ c: 1 }, '2026-01-01T00:00:10.000Z'],
    ]);
  });

  test('publishBulk rejects with the entries that failed; the others are published', async () => {
    await using world = await startWorld();
    const entries = ['1', '2', '3'].map((entryId) => ({ entryId, event: entryId === '2' ? 'x'.repeat(999) : 'x' }));
    const published = world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries, { maxBulkPubBytes: 500 });
    await expect(published).rejects.toMatchObject({
      code: 'ERR_PUBSUB_PUBLISH_MESSAGE',
      failedEntries: [{ entryId: '2', error: expect.stringContaining('500') }],
    });
    await world.clock.settled();
    expect(world.deliveries).toHaveLength(2);
  });

  test.each([
    ['repeated', ['a', 'a']],
    ['empty', ['a', '']],
  ])('publishBulk refuses an entryId that is %s', async (_, ids) => {
    await using world = await startWorld();
    const entries = ids.map((entryId) => ({ entryId, event: 'x' }));
    await expect(world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
    expect(world.deliveries).toEqual([]);
  });
});

describe('streaming subscriptions in code', () => {
  test('the function gets a CloudEvent instance, the message and the attempt', async () => {
    await using world = await startWorld({ discovery: [] });
    const calls: { event: ReceivedEvent; attempt: number; bytes: string }[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe(
      'pubsub',
      'orders',
      (event, { message, attempt }) => {
        calls.push({ event, attempt, bytes: Buffer.from(message.data).toString() });
      },
    );
    await world.publish('{"n":12345678901234567890}', { headers: { 'content-type': 'application/json' } });
    expect(calls).toHaveLength(1);
    const [call] = calls;
    expect(call?.event).toBeInstanceOf(CloudEvent);
    expect([call?.event.type, call?.event.source, call?.event['topic']]).toEqual([
      'com.sidecar.event.sent',
      'shop',
      'orders',
    ]);
    expect(call?.attempt).toBe(1);
    expect(call?.bytes).toContain('12345678901234567890');
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });

  test('data_base64 is bytes', async () => {
    await using world = await startWorld({ discovery: [] });
    const got: unknown[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe(
      'pubsub',
      'orders',
      ({ data }) => void got.push(data),
    );
    await world.publish(Buffer.from([0, 255]), { headers: { 'content-type': 'image/png' } });
    expect(got).toEqual([Buffer.from([0, 255])]);
  });

  test('an event with extensions of any name and type comes through', async () => {
    await using world = await startWorld({ discovery: [] });
    const got: unknown[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe(
      'pubsub',
      'orders',
      (event) => void got.push(event['MyExt']),
    );
    await world.publish('{"id":"1","MyExt":{"a":[1]}}', {
      headers: { 'content-type': 'application/cloudevents+json' },
    });
    expect(got).toEqual([{ a: [1] }]);
  });

  test('attributes with the names of methods hide none', async () => {
    await using world = await startWorld({ discovery: [] });
    const got: unknown[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', (event) => {
      if (!(event instanceof CloudEvent)) return;
      got.push([event.toJSON()['data'], event['mine']]);
    });
    await world.publish('{"id":"1","data":1,"__proto__":null,"toJSON":"x","mine":"kept"}', {
      headers: { 'content-type': 'application/cloudevents+json' },
    });
    expect(got).toEqual([[1, 'kept']]);
  });

  test('a message of which no CloudEvent can be made is dropped, and holds up no ordered subscription', async () => {
    await using world = await startWorld({ discovery: [] });
    const got: unknown[] = [];
    const note = ({ data }: ReceivedEvent): void => void got.push(data);
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', note, { concurrency: 1 });
    const headers = { 'content-type': 'application/cloudevents+json' };
    await world.publish('{"id":"1","schemaurl":"not of version 1.0"}', { headers });
    await world.publish('{"id":"2","data":"next"}', { headers });
    expect(world.emitted('messageDropped')).toMatchObject([
      { messageId: '1', reason: expect.stringMatching(/^the message is not a CloudEvent: .*schemaurl/) },
    ]);
    expect(got).toEqual(['next']);
  });

  test('what a function does to the bytes of its message, no other group sees', async () => {
    await using world = await startWorld({ discovery: [] });
    const got: unknown[] = [];
    const { pubsub } = world.sidecar;
    await using _first = await pubsub.subscribe('pubsub', 'orders', (_event, { message }) => void message.data.fill(0));
    await using _second = await pubsub.subscribe('pubsub', 'orders', ({ data }) => void got.push(data), { group: 'b' });
    await pubsub.publish('pubsub', 'orders', 'whole');
    await world.clock.settled();
    expect(got).toEqual(['whole']);
  });

  test.each<[what: string, returned: unknown, event: 'messageDelivered' | 'messageRetrying' | 'messageDropped']>([
    ['nothing', undefined, 'messageDelivered'],
    ['SUCCESS', 'SUCCESS', 'messageDelivered'],
    ['RETRY', 'RETRY', 'messageRetrying'],
    ['a promise of RETRY', Promise.resolve('RETRY'), 'messageRetrying'],
    ['DROP', 'DROP', 'messageDropped'],
    ['a status in small letters', 'retry', 'messageRetrying'],
    ['{ status: RETRY }', { status: 'RETRY' }, 'messageRetrying'],
    ['{ status: DROP }', { status: 'DROP' }, 'messageDropped'],
    ['{ Status: drop }', { Status: 'drop' }, 'messageDropped'],
    ['a promise of { status: DROP }', Promise.resolve({ status: 'DROP', reason: 'odd' }), 'messageDropped'],
    ['{ status: SUCCESS }', { status: 'SUCCESS' }, 'messageDelivered'],
    ['a status that HTTP does not know', { status: 'LATER' }, 'messageRetrying'],
    ['a status that is no text', { status: 503 }, 'messageDelivered'],
    ['an empty status', { status: '' }, 'messageDelivered'],
    ['an object with an inherited status', Object.create({ status: 'DROP' }), 'messageDelivered'],
    ['an Error', new Error('broken'), 'messageRetrying'],
    [
      'a promise of an error of another realm',
      Promise.resolve(runInNewContext('new TypeError("broken")')),
      'messageRetrying',
    ],
    ['a text that is no status', 'OK', 'messageDelivered'],
    ['an empty text', '', 'messageDelivered'],
    ['null', null, 'messageDelivered'],
    ['a number', 1, 'messageDelivered'],
    ['a list', ['RETRY'], 'messageDelivered'],
  ])('returning %s: %s', async (_, returned, event) => {
    await using world = await startWorld({ discovery: [] });
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', () => returned);
    await world.publish('x');
    expect(world.events.filter(({ name }) => name !== 'messagePublished').at(-1)?.name).toBe(event);
  });

  test('a returned Error is told as a thrown one', async () => {
    await using world = await startWorld({ discovery: [] });
    const error = new Error('broken');
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', async () => error);
    await world.publish('x');
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'broken', error }]);
  });

  test('a returned text that is no status is warned of, once for each subscription, without data', async () => {
    await using world = await startWorld({ discovery: [] });
    const { pubsub } = world.sidecar;
    await using _first = await pubsub.subscribe('pubsub', 'orders', () => 'OK');
    await using _second = await pubsub.subscribe('pubsub', 'orders', () => 'card 4111 1111', { group: 'audit' });
    for (let nth = 0; nth < 3; nth++) await world.publish(nth);
    expect(world.emitted('messageDelivered')).toHaveLength(6);
    const warnings = world.logger.at('warn').map(({ message }) => message);
    expect(warnings).toHaveLength(2);
    expect(warnings.toSorted()).toEqual([
      expect.stringContaining('returned "OK", which is none of SUCCESS, RETRY and DROP: the message is done'),
      expect.stringContaining('returned a text of 14 characters'),
    ]);
  });

  test('every form of a handler compiles', async () => {
    await using world = await startWorld({ discovery: [] });
    const save = async (order: number | undefined): Promise<{ readonly order: number | undefined }> => ({ order });
    const forms: readonly MessageHandler<number>[] = [
      async () => 'DROP',
      async (_event) => {
        return 'DROP';
      },
      (_event) => 'DROP',
      async ({ data }) => {
        if (data !== undefined) return 'RETRY';
        return 'DROP';
      },
      async ({ data }) => (data === undefined ? undefined : 'RETRY'),
      ({ data }) => save(data),
      ({ data }) => ({ status: data === undefined ? 'DROP' : 'RETRY' }),
      () => undefined,
      () => {},
    ];
    for (const [nth, form] of forms.entries())
      await world.sidecar.pubsub.subscribe<number>('pubsub', `orders-${nth}`, form);
    expect(world.sidecar.pubsub.subscriptions()).toHaveLength(forms.length);
  });

  test.each([
    [
      'throwing',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejecting', () => Promise.reject(new Error('broken'))],
  ])('%s means RETRY', async (_, fail) => {
    await using world = await startWorld({ discovery: [] });
    const attempts: number[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', (_event, { attempt }) => {
      attempts.push(attempt);
      return attempt < 3 ? fail() : undefined;
    });
    await world.publish('x');
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'broken' }]);
    await world.clock.advance('1s');
    expect(attempts).toEqual([1, 2, 3]);
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 3 }]);
  });

  test('rawPayload subscribes to messages that are not CloudEvents', async () => {
    await using world = await startWorld({ discovery: [] });
    const got: [unknown, unknown][] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe(
      'pubsub',
      'orders',
      ({ data, datacontenttype }) => void got.push([data, datacontenttype]),
      { rawPayload: true },
    );
    const query = 'metadata.rawPayload=true';
    await world.publish('{"a":1}', { query, headers: { 'content-type': 'application/json' } });
    await world.publish(Buffer.from([255]), { query, headers: { 'content-type': 'image/png' } });
    await world.publish('text', { query });
    expect(got).toEqual([
      [{ a: 1 }, 'application/json'],
      [Buffer.from([255]), 'image/png'],
      ['text', 'text/plain'],
    ]);
  });

  test('retries, dead-letter topic and order as for the application', async () => {
    await using world = await startWorld({ discovery: [] });
    const seen: unknown[] = [];
    const { pubsub } = world.sidecar;
    await using _orders = await pubsub.subscribe(
      'pubsub',
      'orders',
      ({ data }) => {
        seen.push(data);
        return data === 'bad' ? 'RETRY' : 'SUCCESS';
      },
      { concurrency: 1, retry: { maxRetries: 2, delay: 10 }, deadLetterTopic: 'dead' },
    );
    await using _dead = await pubsub.subscribe('pubsub', 'dead', ({ data, topic }) => void seen.push([data, topic]));
    for (const data of ['a', 'bad', 'b']) await pubsub.publish('pubsub', 'orders', data);
    await world.clock.advance('1m');
    expect(seen.slice(0, 4)).toEqual(['a', 'bad', 'bad', 'bad']);
    expect(seen).toHaveLength(6);
    expect(seen.slice(4)).toEqual(expect.arrayContaining(['b', ['bad', 'orders']]));
  });

  test('a function may publish to its own topic', async () => {
    await using world = await startWorld({ discovery: [] });
    const seen: unknown[] = [];
    const { pubsub } = world.sidecar;
    const again = async ({ data }: ReceivedEvent<number>): Promise<void> => {
      seen.push(data);
      if (data < 3) await pubsub.publish('pubsub', 'orders', data + 1);
    };
    await using _subscription = await pubsub.subscribe<number>('pubsub', 'orders', again, { concurrency: 1 });
    await pubsub.publish('pubsub', 'orders', 1);
    await world.clock.settled();
    expect(seen).toEqual([1, 2, 3]);
  });

  test('close waits for what is being processed, takes nothing new, and may be called twice', async () => {
    await using world = await startWorld({ discovery: [] });
    const seen: unknown[] = [];
    let finish = (): void => undefined;
    const subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', async ({ data }) => {
      seen.push(data);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'first');
    await world.clock.advance(0);
    let closed = false;
    const closing = Promise.all([subscription.close(), subscription.close()]).then(() => {
      closed = true;
    });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'second');
    await world.clock.advance(0);
    expect([seen, closed]).toEqual([['first'], false]);
    finish();
    await closing;
    expect(world.emitted('messageDelivered')).toHaveLength(1);
    await using _next = await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void seen.push(data));
    await world.clock.settled();
    expect(seen).toEqual(['first', 'second']);
  });

  test.each<[what: string, name: string, options: object, code: string]>([
    ['an unknown pub/sub', 'nope', {}, 'ERR_PUBSUB_NOT_FOUND'],
    ['concurrency 0', 'pubsub', { concurrency: 0 }, 'ERR_INVALID_ARGUMENT'],
    ['negative retries', 'pubsub', { retry: { maxRetries: -1 } }, 'ERR_INVALID_ARGUMENT'],
    ['a negative time-out', 'pubsub', { timeout: -1 }, 'ERR_INVALID_ARGUMENT'],
    ['an endless time-out', 'pubsub', { timeout: Number.POSITIVE_INFINITY }, 'ERR_INVALID_ARGUMENT'],
  ])('%s is refused', async (_, name, options, code) => {
    await using world = await startWorld({ discovery: [] });
    await expect(world.sidecar.pubsub.subscribe(name, 'orders', () => undefined, options)).rejects.toMatchObject({
      code,
    });
  });

  test('needs no application', async () => {
    await using world = await startWorld({ app: undefined as never, components: [memoryPubSub('pubsub')] });
    const got: unknown[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe(
      'pubsub',
      'orders',
      ({ data }) => void got.push(data),
    );
    await world.publish('x');
    expect(got).toEqual(['x']);
  });
});

test('a component gets the metadata of each subscription', async () => {
  const seen: unknown[] = [];
  const memory = memoryPubSub('pubsub');
  const component: typeof memory = {
    ...memory,
    open: async (context) => {
      const opened = await memory.open(context);
      return {
        publish: (messages) => opened.publish(messages),
        close: () => opened.close(),
        subscribe: (options) => {
          seen.push([options.topic, options.metadata]);
          return opened.subscribe(options);
        },
      };
    },
  };
  const discovery = [{ pubsubname: 'pubsub', topic: 'orders', route: '/in', metadata: { queueType: 'quorum' } }];
  await using world = await startWorld({ components: [component], discovery });
  await world.sidecar.pubsub.subscribe('pubsub', 'raw', () => {}, { rawPayload: true, metadata: { routingKey: 'k' } });
  await world.sidecar.pubsub.subscribe('pubsub', 'plain', () => {});
  expect(seen).toEqual([
    ['orders', { queueType: 'quorum' }],
    ['raw', { rawPayload: 'true', routingKey: 'k' }],
    ['plain', {}],
  ]);
});
