import { describe, expect, test } from 'vitest';
import { memoryPubSub } from '../../src/index.ts';
import { startWorld } from '../support/world.ts';

const entry = (entryId: string, event: unknown = entryId, contentType = 'text/plain'): object => ({
  entryId,
  event,
  contentType,
});

describe('publish multiple messages', () => {
  test('answers 204 without a body and every event is delivered, in order', async () => {
    await using world = await startWorld();
    const answer = await world.publishBulk([
      entry('1', 'a'),
      entry('2', { b: 1 }, 'application/json'),
      entry('3', 'c'),
    ]);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(world.deliveries.map(({ data }) => data)).toEqual(['a', { b: 1 }, 'c']);
  });

  test('PUT publishes too', async () => {
    await using world = await startWorld();
    const answer = await world.send('PUT', '/v1.0/publish/bulk/pubsub/orders', { body: [entry('1')] });
    await world.clock.settled();
    expect([answer.status, world.deliveries.length]).toEqual([204, 1]);
  });

  test('each entry is wrapped, its contentType is datacontenttype', async () => {
    await using world = await startWorld();
    await world.publishBulk([entry('1', 'x', 'text/html; charset=utf-8')]);
    expect(world.deliveries[0]?.json).toMatchObject({
      specversion: '1.0',
      source: 'shop',
      type: 'com.sidecar.event.sent',
      datacontenttype: 'text/html; charset=utf-8',
      topic: 'orders',
      pubsubname: 'pubsub',
      data: 'x',
    });
    expect(world.deliveries[0]?.json['id']).not.toBe('1');
  });

  test('the trace of the request is in every event', async () => {
    await using world = await startWorld();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const body = [entry('1'), entry('2')];
    await world.send('POST', '/v1.0/publish/bulk/pubsub/orders', { headers: { traceparent }, body });
    await world.clock.settled();
    expect(world.deliveries.map(({ json }) => json['traceparent'])).toEqual([traceparent, traceparent]);
    expect(world.deliveries.map(({ headers }) => headers['traceparent'])).toEqual([traceparent, traceparent]);
  });

  test('an empty array answers 204', async () => {
    await using world = await startWorld();
    expect((await world.publishBulk('[]')).status).toBe(204);
    expect((await world.publishBulk(' [ ] ')).status).toBe(204);
  });

  test.each<[event: string, contentType: string | undefined, member: string]>([
    [
      '{"n":12345678901234567890,"e":1e400,"d":1.10}',
      'application/json',
      '"data":{"n":12345678901234567890,"e":1e400,"d":1.10}',
    ],
    ['"text"', 'application/json', '"data":"text"'],
    ['null', 'application/json', '"data":null'],
    ['[1]', 'application/vnd.own+json', '"data":[1]'],
    ['"text"', 'text/plain', '"data":"text"'],
    ['"<a/>"', 'application/xml', '"data":"<a/>"'],
    ['"AP8="', 'application/octet-stream', '"data_base64":"AP8="'],
    ['"a=1"', 'application/x-www-form-urlencoded', '"data":"a=1"'],
    ['"bytes"', 'foo/bar', '"data_base64":"Ynl0ZXM="'],
    ['"text"', undefined, '"datacontenttype":"text/plain"'],
    ['{"a":1}', undefined, '"datacontenttype":"application/json"'],
    ['5', undefined, '"data":5'],
  ])('event %s with contentType %j', async (event, contentType, member) => {
    await using world = await startWorld();
    const type = contentType === undefined ? '' : `,"contentType":${JSON.stringify(contentType)}`;
    const answer = await world.publishBulk(`[{"entryId":"1","event":${event}${type}}]`);
    expect(answer.status).toBe(204);
    expect(world.deliveries[0]?.text).toContain(member);
  });

  test('an entry of application/cloudevents+json is the caller’s own CloudEvent', async () => {
    await using world = await startWorld();
    await world.publishBulk([entry('1', { id: 'own', data: 1 }, 'application/cloudevents+json')]);
    expect(world.deliveries[0]?.json).toMatchObject({ id: 'own', source: 'shop', topic: 'orders', data: 1 });
  });

  test('keys match without regard to case, unknown ones are ignored', async () => {
    await using world = await startWorld();
    const body = '[{"ENTRYID":"1","Event":"x","contenttype":"text/plain","MetaData":{"a":"b"},"other":[{}]}]';
    expect((await world.publishBulk(body)).status).toBe(204);
    expect(world.deliveries[0]?.data).toBe('x');
    expect(world.deliveries[0]?.headers['a']).toBe('b');
  });

  test('the request’s Content-Type is not asked for', async () => {
    await using world = await startWorld();
    const body = JSON.stringify([entry('1')]);
    expect((await world.send('POST', '/v1.0/publish/bulk/pubsub/orders', { body })).status).toBe(204);
  });

  test('with wire dapr answers under v1.0-alpha1 as well', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    const answer = await world.send('POST', '/v1.0-alpha1/publish/bulk/pubsub/orders', { body: [entry('1')] });
    await world.clock.settled();
    expect([answer.status, world.deliveries.length]).toEqual([204, 1]);
  });

  test('under v1.0-alpha1 there is nothing without wire dapr', async () => {
    await using world = await startWorld();
    const answer = await world.send('POST', '/v1.0-alpha1/publish/bulk/pubsub/orders', { body: [entry('1')] });
    expect(answer.error).toEqual([404, 'ERR_NOT_FOUND']);
  });
});

describe('a bulk publish that is malformed publishes nothing: 400 ERR_PUBSUB_EVENTS_SER', () => {
  const good = '{"entryId":"good","event":"x","contentType":"text/plain"}';
  test.each<[what: string, body: string, named: string]>([
    ['no body', '', 'not JSON'],
    ['not JSON', '[{"entryId":', 'not JSON'],
    ['trailing text', `[${good}] x`, 'not JSON'],
    ['an object', good, 'expected an array'],
    ['null', 'null', 'expected an array'],
    ['a string', '"x"', 'expected an array'],
    ['an entry that is no object', `[${good},5]`, 'entry 1'],
    ['an entry that is an array', `[${good},[]]`, 'entry 1'],
    ['an entry that is null', `[${good},null]`, 'entry 1'],
    ['entryId missing', `[${good},{"event":"x"}]`, 'entry 1: entryId'],
    ['entryId empty', `[${good},{"entryId":"","event":"x"}]`, 'entry 1: entryId'],
    ['entryId null', `[${good},{"entryId":null,"event":"x"}]`, 'entry 1: entryId'],
    ['entryId a number', `[${good},{"entryId":5,"event":"x"}]`, 'entry 1: entryId'],
    ['entryId repeated', `[${good},${good}]`, 'entry 1: entryId "good" is repeated'],
    ['event missing', `[${good},{"entryId":"1"}]`, 'entry 1: event'],
    ['contentType a number', `[${good},{"entryId":"1","event":"x","contentType":5}]`, 'entry 1: contentType'],
    ['metadata a string', `[${good},{"entryId":"1","event":"x","metadata":"x"}]`, 'entry 1: metadata'],
    ['metadata of another type', `[${good},{"entryId":"1","event":"x","metadata":{"a":1}}]`, 'entry 1: metadata.a'],
    ['text/plain with an object', `[${good},{"entryId":"1","event":{},"contentType":"text/plain"}]`, 'text/plain'],
    ['application/xml with a number', `[${good},{"entryId":"1","event":1,"contentType":"application/xml"}]`, 'xml'],
    [
      'octet-stream without base64',
      `[${good},{"entryId":"1","event":"é","contentType":"application/octet-stream"}]`,
      'base64',
    ],
    [
      'octet-stream with an object',
      `[${good},{"entryId":"1","event":{},"contentType":"application/octet-stream"}]`,
      'string',
    ],
    [
      'cloudevents+json with a string',
      `[${good},{"entryId":"1","event":"{}","contentType":"application/cloudevents+json"}]`,
      'object',
    ],
    ['another type with an object', `[${good},{"entryId":"1","event":{},"contentType":"image/png"}]`, 'string'],
  ])('%s', async (_, body, named) => {
    await using world = await startWorld();
    const answer = await world.publishBulk(body);
    expect(answer.error).toEqual([400, 'ERR_PUBSUB_EVENTS_SER']);
    expect(answer.json['message']).toContain(named);
    expect(world.deliveries).toEqual([]);
  });

  test('a body that is not UTF-8', async () => {
    await using world = await startWorld();
    expect((await world.publishBulk(Buffer.from('[{"entryId":"\xff"}]', 'latin1'))).error).toEqual([
      400,
      'ERR_PUBSUB_EVENTS_SER',
    ]);
  });

  test('an own CloudEvent that is forbidden refuses the request with 500 ERR_PUBSUB_CLOUD_EVENTS_SER', async () => {
    await using world = await startWorld();
    const own = entry('2', { id: '' }, 'application/cloudevents+json');
    expect((await world.publishBulk([entry('1'), own])).error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(world.deliveries).toEqual([]);
  });
});

describe('metadata of a bulk publish', () => {
  const RAW = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', metadata: { rawPayload: 'true' } }];

  test('metadata.rawPayload of the request publishes every entry without wrapping', async () => {
    await using world = await startWorld({ discovery: RAW });
    await world.publishBulk([entry('1', 'a'), entry('2', { b: 1.1 }, 'application/json')], 'metadata.rawPayload=true');
    expect(world.deliveries.map(({ text, headers }) => [text, headers['content-type']])).toEqual([
      ['a', 'text/plain'],
      ['{"b":1.1}', 'application/json'],
    ]);
  });

  test('an entry’s rawPayload wins over the request’s', async () => {
    await using world = await startWorld({ discovery: RAW });
    const wrapped = { ...entry('1', 'a'), metadata: { rawPayload: 'false' } };
    await world.publishBulk([wrapped, entry('2', 'b')], 'metadata.rawPayload=true');
    expect(world.deliveries.map(({ headers }) => headers['content-type'])).toEqual([
      'application/cloudevents+json',
      'text/plain',
    ]);
  });

  test.each([
    ['ttlInSeconds', 'ttlInSeconds'],
    ['ttlInSeconds', 'ttl'],
    ['ttl', 'ttlInSeconds'],
    ['ttlInSeconds', 'TTLInSeconds'],
  ])('%s of the request applies to every entry, an entry’s own %s wins', async (ofRequest, ofEntry) => {
    await using world = await startWorld();
    const own = { ...entry('1'), metadata: { [ofEntry]: '20' } };
    await world.publishBulk([own, entry('2')], `metadata.${ofRequest}=10`);
    expect(world.deliveries.map(({ json }) => json['expiration'])).toEqual([
      '2026-01-01T00:00:20.000Z',
      '2026-01-01T00:00:10.000Z',
    ]);
  });

  test('cloudevent.* of request and entry override attributes', async () => {
    await using world = await startWorld();
    const own = { ...entry('1'), metadata: { 'cloudevent.type': 'entry' } };
    await world.publishBulk([own, entry('2')], 'metadata.cloudevent.type=request&metadata.cloudevent.source=s');
    expect(world.deliveries.map(({ json }) => [json['type'], json['source']])).toEqual([
      ['entry', 's'],
      ['request', 's'],
    ]);
  });

  test.each(['metadata.ttlInSeconds=0', 'metadata.ttl=soon', 'metadata.rawPayload=maybe'])(
    '%s refuses the request',
    async (query) => {
      await using world = await startWorld();
      expect((await world.publishBulk([entry('1')], query)).error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
      expect(world.deliveries).toEqual([]);
    },
  );

  test.each([
    { ttlInSeconds: '-1' },
    { ttl: '' },
    { rawPayload: 'x' },
    { ttlInSeconds: '5', ttl: '0' },
    { ttl: '0', ttlInSeconds: '5' },
  ])('a bad %j of one entry refuses the request', async (metadata) => {
    await using world = await startWorld();
    const answer = await world.publishBulk([entry('1'), { ...entry('2'), metadata }]);
    expect(answer.error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
    expect(world.deliveries).toEqual([]);
  });
});

describe('query metadata.maxBulkPubBytes', () => {
  test.each(['0', '0'.repeat(20), '-1', '1.5', '', 'many', '1e3', '0x10'])('%j is refused', async (value) => {
    await using world = await startWorld();
    const answer = await world.publishBulk([entry('1')], `metadata.maxBulkPubBytes=${value}`);
    expect(answer.error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
    expect(world.deliveries).toEqual([]);
  });

  test.each(['9223372036854775807', '9'.repeat(400)])('%s is no limit in practice', async (value) => {
    await using world = await startWorld();
    expect((await world.publishBulk([entry('1'), entry('2')], `metadata.maxBulkPubBytes=${value}`)).status).toBe(204);
    expect(world.deliveries).toHaveLength(2);
  });

  test('hands entries to the component in consecutive chunks of at most that many bytes', async () => {
    const sizes: number[][] = [];
    const inner = memoryPubSub('pubsub');
    const watched: typeof inner = {
      ...inner,
      open: async (context) => {
        const component = await inner.open(context);
        const publish: typeof component.publish = (messages) => {
          sizes.push(messages.map(({ data }) => data.length));
          return component.publish(messages);
        };
        return { publish, subscribe: (options) => component.subscribe(options), close: () => component.close() };
      },
    };
    await using world = await startWorld({ components: [watched] });
    const query = 'metadata.rawPayload=true&metadata.maxBulkPubBytes=10';
    const answer = await world.publishBulk(
      ['aaaa', 'bbbb', 'cc', 'dddd', 'eeeeeee', 'ffffffffff', 'g', 'h'].map((text) => entry(text, text)),
      query,
    );
    expect(answer.status).toBe(204);
    expect(sizes).toEqual([[4, 4, 2], [4], [7], [10], [1, 1]]);
  });

  test('an entry larger than it fails by itself', async () => {
    await using world = await startWorld();
    const large = 'x'.repeat(1_000);
    const answer = await world.publishBulk([entry('1'), entry('2', large), entry('3')], 'metadata.maxBulkPubBytes=500');
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      failedEntries: [{ entryId: '2', error: expect.stringContaining('maxBulkPubBytes allows 500') }],
      errorCode: 'ERR_PUBSUB_PUBLISH_MESSAGE',
    });
    expect(world.deliveries.map(({ data }) => data)).toEqual(['1', '3']);
  });

  test('without it there is no limit', async () => {
    await using world = await startWorld();
    const entries = Array.from({ length: 500 }, (_, n) => entry(String(n), 'x'.repeat(2_000)));
    expect((await world.publishBulk(entries)).status).toBe(204);
    expect(world.deliveries).toHaveLength(500);
  });
});

describe('a bulk publish of which some entries fail', () => {
  test('answers 500 with failedEntries in request order; the others stay published', async () => {
    await using world = await startWorld({
      memory: { maxMessages: 2 },
      answer: () => new Promise((resolve) => setImmediate(() => resolve(undefined))),
    });
    const answer = await world.publishBulk(['z', 'y', 'x', 'w'].map((id) => entry(id)));
    expect(answer.status).toBe(500);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(Object.keys(answer.json).sort()).toEqual(['errorCode', 'failedEntries']);
    expect(answer.json['errorCode']).toBe('ERR_PUBSUB_PUBLISH_MESSAGE');
    const full = expect.stringContaining('the queue in memory is full');
    expect(answer.json['failedEntries']).toEqual([
      { entryId: 'x', error: full },
      { entryId: 'w', error: full },
    ]);
    expect(world.deliveries.map(({ data }) => data)).toEqual(['z', 'y']);
  });

  test('all entries failing names all of them', async () => {
    await using world = await startWorld({ memory: { maxBytes: 10 } });
    const answer = await world.publishBulk([entry('b'), entry('a')]);
    expect(answer.status).toBe(500);
    expect((answer.json['failedEntries'] as { entryId: string }[]).map(({ entryId }) => entryId)).toEqual(['b', 'a']);
  });

  test('failures of the component and of maxBulkPubBytes are in request order together', async () => {
    await using world = await startWorld({ memory: { maxBytes: 50 } });
    const entries = [
      entry('full', 'x'.repeat(60)),
      entry('large', 'x'.repeat(101)),
      entry('ok', 'x'),
      entry('full2', 'x'.repeat(60)),
    ];
    const answer = await world.publishBulk(entries, 'metadata.maxBulkPubBytes=100&metadata.rawPayload=true');
    expect((answer.json['failedEntries'] as { entryId: string }[]).map(({ entryId }) => entryId)).toEqual([
      'full',
      'large',
      'full2',
    ]);
  });
});
