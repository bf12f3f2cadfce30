import { describe, expect, test } from 'vitest';
import { NEVER } from '../support/app.ts';
import { startWorld } from '../support/world.ts';

const RAW = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', metadata: { rawPayload: 'true' } }];
const DEAD = [
  { pubsubname: 'pubsub', topic: 'orders', route: '/orders', deadLetterTopic: 'dead' },
  { pubsubname: 'pubsub', topic: 'dead', route: '/dead' },
];

describe('query metadata.rawPayload', () => {
  test.each(['true', 'TRUE', 'True', '1', 't', 'T'])('%s publishes without CloudEvent wrapping', async (value) => {
    await using world = await startWorld({ discovery: RAW });
    const bytes = Buffer.from([0, 255, 10]);
    const headers = { 'content-type': 'image/x-own; a=1' };
    const answer = await world.publish(bytes, { headers, query: `metadata.rawPayload=${value}` });
    expect(answer.status).toBe(204);
    const [delivery] = world.deliveries;
    expect(delivery?.bytes).toEqual(bytes);
    expect(delivery?.headers['content-type']).toBe('image/x-own; a=1');
  });

  test.each(['false', 'FALSE', '0', 'f', 'F'])('%s wraps', async (value) => {
    await using world = await startWorld();
    await world.publish('x', { query: `metadata.rawPayload=${value}` });
    expect(world.deliveries[0]?.json).toMatchObject({ specversion: '1.0', data: 'x' });
  });

  test.each(['', 'yes', '2', 'tru', ' true', 'null'])('%j is refused', async (value) => {
    await using world = await startWorld();
    const answer = await world.publish('x', { query: `metadata.rawPayload=${encodeURIComponent(value)}` });
    expect(answer.error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
    expect(answer.json['message']).toBe(
      `failed deserializing metadata. Error: rawPayload value must be a valid boolean: actual is '${value}'`,
    );
    expect(world.deliveries).toEqual([]);
  });

  test('of a repeated parameter the first counts', async () => {
    await using world = await startWorld();
    await world.publish('x', { query: 'metadata.rawPayload=false&metadata.rawPayload=nonsense' });
    expect(world.deliveries[0]?.data).toBe('x');
  });

  test('its name is case-sensitive', async () => {
    await using world = await startWorld();
    await world.publish('x', { query: 'metadata.RAWPAYLOAD=true' });
    expect(world.deliveries[0]?.data).toBe('x');
  });

  test('true leaves even a CloudEvent as it came', async () => {
    await using world = await startWorld({ discovery: RAW });
    const headers = { 'content-type': 'application/cloudevents+json' };
    expect((await world.publish('{"id":5}', { headers, query: 'metadata.rawPayload=true' })).status).toBe(204);
    expect(world.deliveries[0]?.text).toBe('{"id":5}');
  });

  test('Content-Type is text/plain when not given', async () => {
    await using world = await startWorld({ discovery: RAW });
    await world.publish('x', { query: 'metadata.rawPayload=true' });
    expect(world.deliveries[0]?.headers['content-type']).toBe('text/plain');
  });
});

describe('a subscription to events that are not CloudEvents', () => {
  test('gets a wrapped message as the CloudEvent that it is', async () => {
    await using world = await startWorld({ discovery: RAW });
    await world.publish('x');
    const [delivery] = world.deliveries;
    expect(delivery?.headers['content-type']).toBe('application/cloudevents+json');
    expect(delivery?.json).toMatchObject({ specversion: '1.0', data: 'x' });
  });

  test('with wire dapr gets a CloudEvent with data_base64', async () => {
    await using world = await startWorld({ wire: 'dapr', discovery: RAW });
    await world.publish('bytes', { query: 'metadata.rawPayload=true', headers: { 'content-type': 'text/x' } });
    const [delivery] = world.deliveries;
    expect(delivery?.headers['content-type']).toBe('application/cloudevents+json');
    expect(delivery?.json).toMatchObject({
      data_base64: Buffer.from('bytes').toString('base64'),
      datacontenttype: 'application/octet-stream',
      type: 'com.dapr.event.sent',
      specversion: '1.0',
      topic: 'orders',
      pubsubname: 'pubsub',
    });
  });

  test('with wire dapr gets a wrapped message in data_base64 too', async () => {
    await using world = await startWorld({ wire: 'dapr', discovery: RAW });
    await world.publish('x');
    const inner = Buffer.from(String(world.deliveries[0]?.json['data_base64']), 'base64').toString();
    expect(JSON.parse(inner)).toMatchObject({ specversion: '1.0', data: 'x' });
  });

  test('a raw-published message for a subscription without rawPayload is dropped with a warning', async () => {
    await using world = await startWorld();
    await world.publish('{"specversion":"1.0"}', { query: 'metadata.rawPayload=true' });
    expect(world.deliveries).toEqual([]);
    expect(world.emitted('messageDropped')).toMatchObject([
      { topic: 'orders', reason: expect.stringContaining('rawPayload') },
    ]);
    expect(world.logger.at('warn')).toHaveLength(1);
  });

  test('with wire dapr a raw JSON object for a subscription without rawPayload is delivered as it is', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    await world.publish('{"id":1}', { query: 'metadata.rawPayload=true' });
    await world.publish('[1]', { query: 'metadata.rawPayload=true' });
    expect(world.deliveries.map(({ headers, text }) => [headers['content-type'], text])).toEqual([
      ['application/cloudevents+json', '{"id":1}'],
    ]);
    expect(world.emitted('messageDropped')).toHaveLength(1);
  });

  test('a raw-published message for a subscription without rawPayload goes to its dead-letter topic', async () => {
    const dead = { ...DEAD[1], metadata: { rawPayload: 'true' } };
    await using world = await startWorld({ discovery: [DEAD[0], dead] });
    await world.publish('bytes', { query: 'metadata.rawPayload=true' });
    expect(world.deliveries.map(({ path, text }) => [path, text])).toEqual([['/dead', 'bytes']]);
  });
});

describe('query metadata.ttlInSeconds', () => {
  test.each([
    ['ttlInSeconds=10', '2026-01-01T00:00:10.000Z'],
    ['ttlInSeconds=1m30s', '2026-01-01T00:01:30.000Z'],
    ['ttl=10', '2026-01-01T00:00:10.000Z'],
    ['ttl=0.5s', '2026-01-01T00:00:00.500Z'],
    ['TTLINSECONDS=10', '2026-01-01T00:00:10.000Z'],
    ['ttlInSeconds=9223372036854775807', '2125-12-08T00:00:00.000Z'],
    [`ttl=${'9'.repeat(400)}`, '2125-12-08T00:00:00.000Z'],
    [`ttl=${'0'.repeat(20)}10`, '2026-01-01T00:00:10.000Z'],
  ])('%s gives the event the expiration %s', async (query, expiration) => {
    await using world = await startWorld();
    await world.publish('x', { query: `metadata.${query}` });
    expect(world.deliveries[0]?.json['expiration']).toBe(expiration);
  });

  test('without it an event has no expiration', async () => {
    await using world = await startWorld();
    await world.publish('x');
    expect(world.deliveries[0]?.json).not.toHaveProperty('expiration');
  });

  test.each(['0', '0'.repeat(20), '-1', '-10s', '0s', '', 'soon', '1.5', '10 s', '0x10', '1e3', 'NaN', '١'])(
    'the value %j is refused and nothing is published',
    async (value) => {
      await using world = await startWorld();
      for (const name of ['ttlInSeconds', 'ttl']) {
        const answer = await world.publish('x', { query: `metadata.${name}=${encodeURIComponent(value)}` });
        expect(answer.error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
        expect(answer.json['message']).toContain(`actual is '${value}'`);
      }
      expect(world.deliveries).toEqual([]);
    },
  );

  test.each([
    ['ttl', 'ttlInSeconds'],
    ['ttl', 'TTLInSeconds'],
    ['TTL', 'ttlinseconds'],
  ])('a bad one is refused beside a good one, in any order: %s and %s', async (...names) => {
    await using world = await startWorld();
    for (const bad of names) {
      const pairs = names.map((name) => `metadata.${name}=${name === bad ? 'bad' : '10'}`);
      for (const query of [pairs.join('&'), pairs.toReversed().join('&')])
        expect((await world.publish('x', { query })).error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
    }
    expect(world.deliveries).toEqual([]);
  });

  test('of two, ttlInSeconds counts', async () => {
    await using world = await startWorld();
    for (const query of ['metadata.ttl=10&metadata.ttlInSeconds=20', 'metadata.ttlInSeconds=20&metadata.ttl=10'])
      await world.publish('x', { query });
    const expiration = '2026-01-01T00:00:20.000Z';
    expect(world.deliveries.map(({ json }) => json['expiration'])).toEqual([expiration, expiration]);
  });

  test('applies to the caller’s own CloudEvent', async () => {
    await using world = await startWorld();
    const headers = { 'content-type': 'application/cloudevents+json' };
    await world.publish('{"id":"1","expiration":"2030-01-01T00:00:00Z"}', {
      headers,
      query: 'metadata.ttlInSeconds=10',
    });
    expect(world.deliveries[0]?.json['expiration']).toBe('2026-01-01T00:00:10.000Z');
  });

  test('a message is delivered until just before it expires, and not again from that instant on', async () => {
    await using world = await startWorld({
      discovery: [{ ...DEAD[0], deadLetterTopic: '', retry: { initialDelayMs: 1_000, maxDelayMs: 1_000 } }],
      answer: () => ({ status: 500 }),
    });
    await world.publish('x', { query: 'metadata.ttlInSeconds=10' });
    await world.clock.advance('9999ms');
    const before = world.deliveries.length;
    await world.clock.advance('1h');
    expect(before).toBeGreaterThan(9);
    expect(world.deliveries).toHaveLength(before);
    expect(world.emitted('messageDropped')).toMatchObject([{ reason: 'the message has expired' }]);
  });

  test('an expired message is not delivered from a queue', async () => {
    let release: ((reply: undefined) => void) | undefined;
    const blocked = new Promise<undefined>((resolve) => {
      release = resolve;
    });
    await using world = await startWorld({
      discovery: [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', concurrency: 1 }],
      answer: (received) => (received.data === 'first' ? blocked : undefined),
    });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'first' });
    await world.send('POST', '/v1.0/publish/pubsub/orders?metadata.ttlInSeconds=10', { body: 'second' });
    await world.send('POST', '/v1.0/publish/pubsub/orders?metadata.ttlInSeconds=11', { body: 'third' });
    await world.clock.advance('10s');
    release?.(undefined);
    await world.clock.settled();
    expect(world.deliveries.map(({ data }) => data)).toEqual(['first', 'third']);
  });

  test('an expired message goes to the dead-letter topic and is delivered there', async () => {
    await using world = await startWorld({
      discovery: [{ ...DEAD[0], concurrency: 1 }, DEAD[1]],
      answer: ({ data }, nth) => (data === 'blocks' && nth === 1 ? NEVER : undefined),
      deliveryTimeout: 20_000,
    });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'blocks' });
    await world.send('POST', '/v1.0/publish/pubsub/orders?metadata.ttlInSeconds=1', { body: 'late' });
    await world.pass('30s');
    const late = world.at('/dead').filter(({ data }) => data === 'late');
    expect(world.at('/orders').map(({ data }) => data)).not.toContain('late');
    expect(late.map(({ json }) => [json['topic'], json['expiration']])).toEqual([
      ['orders', '2026-01-01T00:00:01.000Z'],
    ]);
  });

  test('a message on a dead-letter topic is retried there beyond its expiration', async () => {
    await using world = await startWorld({
      discovery: DEAD,
      answer: ({ path }, nth) => (path === '/orders' || nth < 8 ? { status: 500 } : undefined),
    });
    await world.publish('x', { query: 'metadata.ttlInSeconds=2' });
    await world.clock.advance('1h');
    expect(world.at('/dead')).toHaveLength(8);
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });

  test('a raw payload expires too', async () => {
    await using world = await startWorld({ discovery: RAW, answer: () => ({ status: 500 }) });
    await world.publish('x', { query: 'metadata.rawPayload=true&metadata.ttlInSeconds=1' });
    await world.clock.advance('1h');
    expect(world.emitted('messageDropped')).toMatchObject([{ reason: 'the message has expired' }]);
  });
});
