import { describe, expect, test } from 'vitest';
import { type Duration, memoryPubSub } from '../../src/index.ts';
import { NEVER, RecordingApp, type Reply } from '../support/app.ts';
import { listen } from '../support/http.ts';
import { refusing } from '../support/refusing-pubsub.ts';
import { WAYS } from '../support/served.ts';
import { startWorld, type World } from '../support/world.ts';

const orders = (more: object = {}): Record<string, unknown> => ({
  pubsubname: 'pubsub',
  topic: 'orders',
  route: '/orders',
  ...more,
});
const dead = { pubsubname: 'pubsub', topic: 'dead', route: '/dead' };

const data = (world: World): unknown[] => world.deliveries.map((delivery) => delivery.data);

/** Metadata of so many keys of one value. */
const keys = (count: number, value: string, prefix = 'k'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, value]));

/** A promise and what resolves it. */
function deferred(): { promise: Promise<undefined>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<undefined>((settle) => {
    resolve = () => settle(undefined);
  });
  return { promise, resolve };
}

describe.each(WAYS)('receive topic events, application via %s', (via) => {
  test('POST to the route with the event as body', async () => {
    await using world = await startWorld({ via });
    await world.publish({ id: 1 });
    const [delivery] = world.deliveries;
    expect([delivery?.method, delivery?.path, delivery?.data]).toEqual(['POST', '/orders', { id: 1 }]);
    expect(delivery?.headers).toMatchObject({
      'content-type': 'application/cloudevents+json',
      'content-length': String(delivery?.bytes.length),
      pubsubname: 'pubsub',
    });
    expect(delivery?.headers).not.toHaveProperty('sidecar-api-token');
    expect(delivery?.headers).not.toHaveProperty('traceparent');
  });

  test('with the query of the route', async () => {
    await using world = await startWorld({ via, discovery: [orders({ route: '/orders?kind=a&b=%20' })] });
    await world.publish('x');
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders?kind=a&b=%20']);
  });

  test('with the app token', async () => {
    await using world = await startWorld({ via, appToken: 'for-the-app', wire: 'dapr' });
    await world.publish('x');
    expect(world.deliveries[0]?.headers['dapr-api-token']).toBe('for-the-app');
  });

  test('with the message’s metadata as headers', async () => {
    await using world = await startWorld({ via });
    await world.publish('x', { query: 'metadata.partitionKey=k%201&metadata.ttlInSeconds=5&other=1' });
    expect(world.deliveries[0]?.headers).toMatchObject({ partitionkey: 'k 1', ttlinseconds: '5' });
    expect(world.deliveries[0]?.headers).not.toHaveProperty('other');
  });

  test.each([
    'content-type',
    'Content-Length',
    'content-encoding',
    'host',
    'connection',
    'transfer-encoding',
    'keep-alive',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'proxy-authorization',
    'pubsubname',
    'PubSubName',
    'traceparent',
    'tracestate',
    'sidecar-api-token',
    'dapr-api-token',
    'sidecar-app-id',
    'sidecar-caller-namespace',
    'accept-encoding',
    'authorization',
    'cookie',
    'dapr-identity',
    'forwarded',
    'from',
    'insidecar-call',
    'origin',
    'remote_user',
    'sidecar-caller-app-id',
    'sidecar-identity',
    'sidecar-peer',
    'true-client-ip',
    'via',
    'X-Forwarded-For',
    'x_forwarded_for',
    'x-http-method-override',
    'x-method-override',
    'x-original-url',
    'x-real-ip',
    'x-rewrite-url',
    'x-user',
  ])('metadata %s takes the place of no header of ours, of HTTP or of a proxy', async (name) => {
    await using world = await startWorld({ via, appToken: 'right' });
    await world.publish('x', { query: `metadata.${name}=999` });
    expect(data(world)).toEqual(['x']);
    const { headers } = world.deliveries[0] ?? {};
    expect(headers?.[name.toLowerCase()]).not.toBe('999');
    expect(headers).toMatchObject({
      pubsubname: 'pubsub',
      'sidecar-api-token': 'right',
      [`metadata-${name.toLowerCase()}`]: '999',
    });
  });

  test.each([
    ...['__key', '__topic', 'ce_type', 'cloudevent.subject', 'correlationID', 'messageID', 'mqtt-topic', 'mine'],
    ...['partitionKey', 'priority', 'rawPayload', 'retain', 'routingKey', 'Topic', 'ttl', 'type'],
  ])('metadata %s is a header of that name', async (name) => {
    await using world = await startWorld({ via });
    const value = { ttl: '60', rawPayload: 'false' }[name] ?? 'a value';
    const entry = { entryId: '1', event: 'x', contentType: 'text/plain', metadata: { [name]: value } };
    expect((await world.publishBulk([entry])).status).toBe(204);
    await world.clock.settled();
    expect(world.deliveries[0]?.headers).toMatchObject({ [name.toLowerCase()]: value });
  });

  test.each([
    ['a name with a space', 'my%20name=x'],
    ['a name with a colon', 'my%3Aname=x'],
    ['a name that is not ASCII', 'n%C3%A4me=x'],
    ['a value with a line break', 'evil=a%0D%0Ainjected:%201'],
    ['a value with NUL', 'evil=%00'],
    ['a value beyond Latin-1', 'evil=%E2%98%83'],
  ])('%s, which no header can hold, is left out', async (_, query) => {
    await using world = await startWorld({ via });
    expect((await world.publish('x', { query: `metadata.${query}&metadata.good=1` })).status).toBe(204);
    expect(data(world)).toEqual(['x']);
    const { headers } = world.deliveries[0] ?? {};
    expect(headers).toMatchObject({ good: '1' });
    for (const name of ['evil', 'injected', 'my name', 'my:name']) expect(headers).not.toHaveProperty(name);
  });

  test.each<[what: string, metadata: Record<string, string>, reaching: number]>([
    ['a value of 100,000 characters', { big: 'x'.repeat(100_000), good: '1' }, 1],
    ['values of 9 KiB in all', { ...keys(9, 'x'.repeat(1_022)), good: '1' }, 8],
    ['3,000 keys', keys(3_000, 'v'), 64],
    ['1,000 long keys', keys(1_000, 'v', 'k'.repeat(500)), 16],
    ['as much as may be', keys(8, 'x'.repeat(1_022)), 8],
    [
      'traces that are too long',
      { 'cloudevent.traceparent': 'x'.repeat(6_000), 'cloudevent.tracestate': 'y'.repeat(6_000) },
      1,
    ],
  ])('of metadata only what a head can hold reaches the application: %s', async (_, metadata, reaching) => {
    await using world = await startWorld({ via });
    const entry = { entryId: '1', event: 'x', contentType: 'text/plain', metadata };
    for (let n = 0; n < 2; n++) expect((await world.publishBulk([entry])).status).toBe(204);
    await world.pass('1m');
    expect(data(world)).toEqual(['x', 'x']);
    const names = new Set(Object.keys(metadata));
    const came = Object.keys(world.deliveries[0]?.headers ?? {}).filter((name) => names.has(name));
    expect(came).toHaveLength(reaching);
    const warned = world.logger.at('warn').filter(({ message }) => message.startsWith('metadata does not reach'));
    expect(warned).toHaveLength(reaching < names.size ? 1 : 0);
  });

  test('a raw payload with a content type that no head can hold comes as octets', async () => {
    const discovery = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', metadata: { rawPayload: 'true' } }];
    await using world = await startWorld({ via, discovery });
    const contentType = `text/plain; x=${'y'.repeat(20_000)}`;
    const entry = { entryId: '1', event: 'raw', contentType, metadata: { rawPayload: 'true' } };
    expect((await world.publishBulk([entry])).status).toBe(204);
    await world.pass('1m');
    expect(world.deliveries.map(({ text, headers }) => [text, headers['content-type']])).toEqual([
      ['raw', 'application/octet-stream'],
    ]);
  });

  test.each<[what: string, reply: Reply]>([
    ['HTTP 200, body empty', {}],
    ['HTTP 204', { status: 204 }],
    ['HTTP 201, body empty', { status: 201 }],
    ['JSON body without status', { body: '{}' }],
    ['JSON body with other members', { body: { state: 'DROP', statuses: 'DROP', status_: 'DROP' } }],
    ['status SUCCESS', { body: { status: 'SUCCESS' } }],
    ['HTTP 202, status SUCCESS', { status: 202, body: { status: 'SUCCESS' } }],
    ['an empty status', { body: { status: '' } }],
    ['status null', { body: { status: null } }],
    ['invalid payload: no JSON', { body: 'DROP' }],
    ['invalid payload: an array', { body: '["DROP"]' }],
    ['invalid payload: a string', { body: '"RETRY"' }],
    ['invalid payload: null', { body: 'null' }],
    ['invalid payload: a status that is no string', { body: { status: 5 } }],
    ['invalid payload: an inherited member', { body: '{"__proto__":{"status":"DROP"}}' }],
  ])('%s: processed', async (_, reply) => {
    await using world = await startWorld({ via, answer: () => reply });
    await world.publish('x');
    await world.pass('1h');
    expect(world.deliveries).toHaveLength(1);
    expect(world.emitted('messageDelivered')).toHaveLength(1);
    expect(world.emitted('messageDropped')).toEqual([]);
  });

  test.each<[what: string, reply: Reply]>([
    ['status RETRY', { body: { status: 'RETRY' } }],
    ['Status RETRY, its name in another case', { body: { Status: 'RETRY' } }],
    ['status any other valid string', { body: { status: 'LATER' } }],
    ['status success in lower case', { body: { status: 'success' } }],
    ['status drop in lower case', { body: { status: 'drop' } }],
    ['HTTP 400', { status: 400 }],
    ['HTTP 401', { status: 401 }],
    ['HTTP 403', { status: 403, body: { status: 'SUCCESS' } }],
    ['HTTP 405', { status: 405 }],
    ['HTTP 410', { status: 410 }],
    ['HTTP 429', { status: 429 }],
    ['HTTP 500', { status: 500, body: { status: 'DROP' } }],
    ['HTTP 503', { status: 503 }],
    ['HTTP 301', { status: 301, headers: { location: '/elsewhere' } }],
    ['HTTP 302', { status: 302, headers: { location: '/elsewhere' } }],
    ['HTTP 307', { status: 307, headers: { location: '/elsewhere' } }],
    ['HTTP 304', { status: 304 }],
  ])('%s: retried, and a redirect is not followed', async (what, reply) => {
    await using world = await startWorld({ via, answer: (_, nth) => (nth === 1 ? reply : undefined) });
    await world.publish('x');
    expect(world.deliveries).toHaveLength(1);
    expect(world.emitted('messageRetrying')).toMatchObject([{ attempt: 1, route: '/orders', topic: 'orders' }]);
    if (!what.includes('RETRY')) expect(world.logger.at('warn')).toHaveLength(1);
    await world.pass('1s');
    expect(world.deliveries.map(({ path, text }) => [path, text])).toEqual(
      Array(2).fill(['/orders', world.deliveries[0]?.text]),
    );
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 2 }]);
  });

  test.each<[what: string, reply: Reply, level: string]>([
    ['status DROP', { body: { status: 'DROP' } }, 'warn'],
    ['STATUS DROP, its name in another case', { body: { state: 'SUCCESS', STATUS: 'DROP' } }, 'warn'],
    ['status DROP beside another spelling', { body: { Status: 'RETRY', status: 'DROP', STATUS: 'RETRY' } }, 'warn'],
    ['HTTP 404', { status: 404 }, 'error'],
    ['HTTP 404 with a status', { status: 404, body: { status: 'RETRY' } }, 'error'],
  ])('%s: dropped and logged', async (_, reply, level) => {
    await using world = await startWorld({ via, answer: () => reply });
    await world.publish('x');
    await world.pass('1h');
    expect(world.deliveries).toHaveLength(1);
    expect(world.emitted('messageDropped')).toHaveLength(1);
    expect(world.logger.at(level)).toMatchObject([{ details: { topic: 'orders', messageId: expect.any(String) } }]);
  });

  test('no answer within the time limit, 60 s by default: retried', async () => {
    await using world = await startWorld({ via, answer: (_, nth) => (nth === 1 ? NEVER : undefined) });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await world.received(1);
    await world.clock.advance('59999ms');
    expect(world.deliveries).toHaveLength(1);
    await world.pass('2ms');
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'no answer within 60000 ms' }]);
    await world.pass('1s');
    expect(world.deliveries).toHaveLength(2);
  });

  test('wire dapr: no time limit by default, as in daprd', async () => {
    await using world = await startWorld({ via, wire: 'dapr', answer: () => NEVER });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await world.received(1);
    await world.clock.advance('24h');
    expect(world.deliveries).toHaveLength(1);
    expect(world.emitted('messageRetrying')).toEqual([]);
  });

  test('the log says where the time limit that was exceeded can be changed', async () => {
    await using world = await startWorld({ via, answer: (_, nth) => (nth === 1 ? NEVER : undefined) });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await world.pass('61s');
    expect(world.logger.at('warn')[0]?.details).toMatchObject({
      reason: 'no answer within 60000 ms',
      remedy: 'the limit is deliveryTimeout (insidecar run: --delivery-timeout); 0 is no limit',
    });
  });

  test('the time limit is that of the options', async () => {
    await using world = await startWorld({
      via,
      deliveryTimeout: 50,
      answer: (_, nth) => (nth === 1 ? NEVER : undefined),
    });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await world.pass('1s');
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'no answer within 50 ms' }]);
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });
});

describe('an application that cannot be called', () => {
  test('a connection error is retried until the application is back', async () => {
    const app = new RecordingApp([{ body: [orders()] }], () => undefined);
    const first = await listen(app.listener);
    await using world = await startWorld({ app: { port: first.port } });
    await first[Symbol.asyncDispose]();
    await world.publish('x');
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: expect.stringContaining('ECONNREFUSED') }]);
    await using _second = await listen(app.listener, first.port);
    await world.pass('1m');
    expect(app.deliveries.map((delivery) => delivery.data)).toEqual(['x']);
  });

  test('a connection that breaks off is retried', async () => {
    let calls = 0;
    await using app = await listen((req, res) => {
      if (req.method === 'GET') return void res.end(JSON.stringify([orders()]));
      calls++;
      if (calls === 1) req.socket.destroy();
      else res.end();
    });
    await using world = await startWorld({ app: { port: app.port } });
    await world.publish('x');
    await world.pass('1m');
    expect([calls, world.emitted('messageRetrying').length, world.emitted('messageDelivered').length]).toEqual([
      2, 1, 1,
    ]);
  });

  test('a listener in this process that throws is retried', async () => {
    let calls = 0;
    await using world = await startWorld({
      discovery: [orders()],
      app: {
        listener: (req, res) => {
          if (req.method === 'GET') return res.end(JSON.stringify([orders()]));
          calls++;
          if (calls === 1) throw new Error('broken');
          return res.end();
        },
      },
    });
    await world.publish('x');
    await world.pass('1m');
    expect([calls, world.emitted('messageRetrying')]).toMatchObject([2, [{ reason: 'broken' }]]);
  });
});

describe('retry', () => {
  /** The delays between deliveries, in milliseconds. */
  async function delays(world: World, howLong: Duration, at: readonly number[]): Promise<number[]> {
    await world.publish('x');
    await world.pass(howLong);
    return at.slice(1).map((instant, index) => instant - (at[index] ?? 0));
  }

  test('is exponential: 100 ms, doubled up to 30 s, with jitter, without limit', async () => {
    const at: number[] = [];
    await using world = await startWorld({
      answer: () => {
        at.push(world.clock.now());
        return { status: 500 };
      },
    });
    const gaps = await delays(world, '1h', at);
    expect(gaps.length).toBeGreaterThan(110);
    for (const [index, gap] of gaps.entries()) {
      const full = Math.min(100 * 2 ** index, 30_000);
      expect(gap, `retry ${index + 1}`).toBeGreaterThanOrEqual(full * 0.8);
      expect(gap, `retry ${index + 1}`).toBeLessThanOrEqual(full);
    }
    expect(new Set(gaps.slice(9)).size).toBeGreaterThan(50);
    expect(world.emitted('messageDropped')).toEqual([]);
  });

  test('its delays are those of the subscription', async () => {
    const at: number[] = [];
    await using world = await startWorld({
      discovery: [orders({ retry: { initialDelayMs: 1_000, maxDelayMs: 3_000 } })],
      answer: () => {
        at.push(world.clock.now());
        return { status: 500 };
      },
    });
    const gaps = await delays(world, '20s', at);
    for (const [index, full] of [1_000, 2_000, 3_000, 3_000, 3_000].entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(full * 0.8);
      expect(gaps[index]).toBeLessThanOrEqual(full);
    }
  });

  test.each([0, 1, 5])(
    '%i retries that are used up without a dead-letter topic: event, error log, gone',
    async (maxRetries) => {
      await using world = await startWorld({
        discovery: [orders({ retry: { maxRetries } })],
        answer: () => ({ status: 500 }),
      });
      await world.publish('x', { query: 'metadata.cloudevent.id=my-id' });
      await world.pass('1h');
      expect(world.deliveries).toHaveLength(1 + maxRetries);
      const told = {
        messageId: 'my-id',
        topic: 'orders',
        attempt: 1 + maxRetries,
        reason: 'the application answered 500',
      };
      expect(world.emitted('messageDropped')).toMatchObject([told]);
      expect(world.logger.at('error')).toMatchObject([{ details: told }]);
    },
  );

  test('does not block other messages', async () => {
    await using world = await startWorld({
      answer: (received) => (received.data === 'bad' ? { status: 500 } : undefined),
    });
    for (let n = 0; n < 20; n++) await world.publish('bad');
    await world.publish('good');
    expect(data(world).at(-1)).toBe('good');
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });

  test('with concurrency 1 keeps the order and holds up those behind it', async () => {
    await using world = await startWorld({
      discovery: [orders({ concurrency: 1 })],
      answer: (received, nth) => (received.data === '2' && nth < 5 ? { status: 500 } : undefined),
    });
    for (const text of ['1', '2', '3', '4']) await world.send('POST', '/v1.0/publish/pubsub/orders', { body: text });
    await world.clock.settled();
    expect(data(world)).toEqual(['1', '2']);
    await world.pass('1m');
    expect(data(world)).toEqual(['1', '2', '2', '2', '2', '3', '4']);
  });

  test('with concurrency 1 one message is in flight at a time', async () => {
    let inFlight = 0;
    let most = 0;
    await using world = await startWorld({
      via: 'port',
      discovery: [orders({ concurrency: 1 })],
      answer: async () => {
        most = Math.max(most, ++inFlight);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight--;
        return undefined;
      },
    });
    await Promise.all(
      Array.from({ length: 20 }, () => world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' })),
    );
    await world.clock.settled();
    expect([most, world.deliveries.length]).toEqual([1, 20]);
  });

  test.each([
    [undefined, 10],
    [3, 3],
  ])('concurrency %j: at most %i messages in flight', async (concurrency, limit) => {
    const gate = deferred();
    await using world = await startWorld({
      via: 'port',
      discovery: [orders(concurrency === undefined ? {} : { concurrency })],
      answer: () => gate.promise,
    });
    for (let n = 0; n < 15; n++) await world.send('POST', '/v1.0/publish/pubsub/orders', { body: String(n) });
    await world.received(limit);
    await world.clock.advance(0);
    expect(world.deliveries).toHaveLength(limit);
    gate.resolve();
    await world.clock.settled();
    expect(world.deliveries).toHaveLength(15);
  });

  test('maxConcurrency of the application holds over all subscriptions', async () => {
    const gate = deferred();
    const app = new RecordingApp([{ body: [orders(), { ...dead, topic: 'second' }] }], () => gate.promise);
    await using server = await listen(app.listener);
    await using world = await startWorld({ app: { port: server.port, maxConcurrency: 2 } });
    for (let n = 0; n < 5; n++) {
      await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
      await world.send('POST', '/v1.0/publish/pubsub/second', { body: 'x' });
    }
    await world.clock.advance(0);
    expect(app.deliveries).toHaveLength(2);
    gate.resolve();
    await world.clock.settled();
    expect(app.deliveries).toHaveLength(10);
  });
});

describe('dead letter', () => {
  const both = [orders({ deadLetterTopic: 'dead' }), dead];
  const failing =
    (status: Reply) =>
    (received: { path: string }): Reply | undefined =>
      received.path === '/orders' ? status : undefined;

  test('after 3 retries the original bytes with the original topic go to the dead-letter topic', async () => {
    await using world = await startWorld({ discovery: both, answer: failing({ body: { status: 'RETRY' } }) });
    await world.publish('{"n":12345678901234567890}', { headers: { 'content-type': 'application/json' } });
    await world.pass('1m');
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders', '/orders', '/orders', '/orders', '/dead']);
    expect(world.at('/dead')[0]?.bytes).toEqual(world.at('/orders')[0]?.bytes);
    expect(world.at('/dead')[0]?.json['topic']).toBe('orders');
    expect(world.emitted('messageDeadLettered')).toMatchObject([
      { topic: 'orders', deadLetterTopic: 'dead', attempt: 4, reason: 'the application answered RETRY' },
    ]);
    expect(world.emitted('messageDropped')).toEqual([]);
  });

  test.each([0, 6])('after maxRetries %i when the subscription says so', async (maxRetries) => {
    const discovery = [orders({ deadLetterTopic: 'dead', retry: { maxRetries } }), dead];
    await using world = await startWorld({ discovery, answer: failing({ status: 500 }) });
    await world.publish('x');
    await world.pass('1h');
    expect([world.at('/orders').length, world.at('/dead').length]).toEqual([1 + maxRetries, 1]);
  });

  test.each<[what: string, reply: Reply]>([
    ['DROP', { body: { status: 'DROP' } }],
    ['404', { status: 404 }],
  ])('%s goes there at once', async (_, reply) => {
    await using world = await startWorld({ discovery: both, answer: failing(reply) });
    await world.publish('x');
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders', '/dead']);
    await world.pass('1h');
    expect(world.deliveries).toHaveLength(2);
  });

  test('of the same component, with the message’s metadata', async () => {
    await using world = await startWorld({
      components: [memoryPubSub('pubsub'), memoryPubSub('second')],
      discovery: [...both, { ...dead, pubsubname: 'second', route: '/wrong' }],
      answer: failing({ status: 404 }),
    });
    await world.publish('x', { query: 'metadata.mine=1' });
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders', '/dead']);
    expect(world.at('/dead')[0]?.headers).toMatchObject({ mine: '1', pubsubname: 'pubsub' });
  });

  test('a publish that fails keeps the message, tries again, and does not call the application again', async () => {
    let isRefused = true;
    const components = [refusing(memoryPubSub('pubsub'), 'dead', () => isRefused)];
    await using world = await startWorld({ components, discovery: both, answer: failing({ status: 404 }) });
    expect((await world.publish('x')).status).toBe(204);
    await world.pass('5m');
    expect([world.at('/orders').length, world.at('/dead').length]).toEqual([1, 0]);
    expect([world.emitted('messageDeadLettered'), world.emitted('messageDropped')]).toEqual([[], []]);
    expect(world.logger.at('error').length).toBeGreaterThan(5);

    isRefused = false;
    await world.pass('1m');
    expect([world.at('/orders').length, world.at('/dead').length]).toEqual([1, 1]);
    expect(world.emitted('messageDeadLettered')).toHaveLength(1);
  });

  test('a dead-letter topic without subscribers takes the message all the same', async () => {
    await using world = await startWorld({ discovery: [both[0]], answer: failing({ status: 404 }) });
    await world.publish('x');
    expect(world.emitted('messageDeadLettered')).toHaveLength(1);
  });

  test('a dead-letter topic can have one itself', async () => {
    await using world = await startWorld({
      discovery: [both[0], { ...dead, deadLetterTopic: 'deader' }, { ...dead, topic: 'deader', route: '/deader' }],
      answer: ({ path }) => (path === '/deader' ? undefined : { status: 404 }),
    });
    await world.publish('x');
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders', '/dead', '/deader']);
    expect(world.at('/deader')[0]?.json['topic']).toBe('orders');
  });
});
