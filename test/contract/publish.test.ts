import { describe, expect, test } from 'vitest';
import { startWorld, type World } from '../support/world.ts';

/** Publishes with a content type and gives the event that subscribers got. */
async function wrapped(world: World, body: string | Uint8Array, contentType?: string): Promise<string> {
  const headers = contentType === undefined ? {} : { 'content-type': contentType };
  const answer = await world.publish(body, { headers });
  expect([answer.status, answer.text]).toEqual([204, '']);
  return world.deliveries.at(-1)?.text ?? '';
}

const base64 = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64');

describe('publish one message', () => {
  test('POST answers 204 without a body and the message reaches the subscriber', async () => {
    await using world = await startWorld();
    const answer = await world.publish({ id: 1 });
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([204, '', undefined]);
    expect(world.deliveries.map(({ data }) => data)).toEqual([{ id: 1 }]);
  });

  test('PUT publishes too', async () => {
    await using world = await startWorld();
    const answer = await world.send('PUT', '/v1.0/publish/pubsub/orders', { body: { id: 1 } });
    await world.clock.settled();
    expect(answer.status).toBe(204);
    expect(world.deliveries).toHaveLength(1);
  });

  test('204 when nobody subscribes', async () => {
    await using world = await startWorld();
    expect((await world.publish('x', { topic: 'nobody' })).status).toBe(204);
    expect(world.deliveries).toEqual([]);
  });

  test('every application receives every message', async () => {
    await using first = await startWorld();
    await using second = await startWorld({ appId: 'other', components: first.components });
    await first.publish('x');
    await second.clock.settled();
    expect([first.deliveries.length, second.deliveries.length]).toEqual([1, 1]);
  });
});

describe('the envelope of a wrapped message', () => {
  test('has exactly the attributes of the document', async () => {
    await using world = await startWorld();
    const event = JSON.parse(await wrapped(world, '{"id":1}', 'application/json')) as Record<string, unknown>;
    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      source: 'shop',
      specversion: '1.0',
      type: 'com.sidecar.event.sent',
      datacontenttype: 'application/json',
      time: '2026-01-01T00:00:00.000Z',
      topic: 'orders',
      pubsubname: 'pubsub',
      data: { id: 1 },
    });
  });

  test('has another id for each message', async () => {
    await using world = await startWorld();
    await wrapped(world, 'a');
    await wrapped(world, 'a');
    const [first, second] = world.deliveries.map(({ json }) => json['id']);
    expect(first).not.toBe(second);
  });

  test.each([
    [undefined, 'text/plain'],
    ['', 'text/plain'],
    ['application/json', 'application/json'],
    ['Application/JSON; charset=UTF-8', 'Application/JSON; charset=UTF-8'],
    ['foo/bar', 'foo/bar'],
  ])('Content-Type %j becomes datacontenttype %j', async (contentType, expected) => {
    await using world = await startWorld();
    const event = JSON.parse(await wrapped(world, '1', contentType)) as Record<string, unknown>;
    expect(event['datacontenttype']).toBe(expected);
  });

  test('with wire dapr has the type com.dapr.event.sent', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    const event = JSON.parse(await wrapped(world, 'x')) as Record<string, unknown>;
    expect([event['type'], event['source']]).toEqual(['com.dapr.event.sent', 'shop']);
  });
});

describe('wrapping by media type', () => {
  const latin1 = Buffer.from([0x63, 0x61, 0x66, 0xe9]);
  test.each<[contentType: string | undefined, body: string | Uint8Array, member: string]>([
    ['application/json', '{"a":1}', '"data":{"a":1}'],
    ['APPLICATION/JSON ; charset=utf-8', '{"a":1}', '"data":{"a":1}'],
    ['application/vnd.shop.order+json', '[1]', '"data":[1]'],
    ['application/json', ' null ', '"data": null '],
    ['application/json', '"text"', '"data":"text"'],
    ['application/json', 'not JSON', '"data":"not JSON"'],
    ['application/json', '{"a":1} tail', '"data":"{\\"a\\":1} tail"'],
    ['application/json', '', '"data":""'],
    ['application/json', latin1, `"data_base64":"${base64(latin1)}"`],
    [undefined, 'plain', '"data":"plain"'],
    [undefined, '', '"data":""'],
    ['text/plain', 'line\n"quoted" \u2028 ☃', '"data":"line\\n\\"quoted\\" \u2028 ☃"'],
    ['text/html; charset=utf-8', '<p>', '"data":"<p>"'],
    ['text/plain; charset=latin1', latin1, `"data_base64":"${base64(latin1)}"`],
    ['application/xml', '<a/>', '"data":"<a/>"'],
    ['application/soap+xml', '<a/>', '"data":"<a/>"'],
    ['application/xml', latin1, `"data_base64":"${base64(latin1)}"`],
    ['application/x-www-form-urlencoded', 'a=1&b=2', '"data":"a=1&b=2"'],
    ['multipart/form-data; boundary=x', '--x--', '"data":"--x--"'],
    ['application/octet-stream', 'bytes', `"data_base64":"${base64('bytes')}"`],
    ['application/octet-stream', '', '"data_base64":""'],
    ['image/png', Buffer.from([0, 1, 255]), '"data_base64":"AAH/"'],
    ['application/cloudevents+protobuf', 'x', `"data_base64":"${base64('x')}"`],
    ['foo/bar', 'x', `"data_base64":"${base64('x')}"`],
    ['application/yaml', 'a: 1', '"data":"a: 1"'],
    ['application/openapi+yaml', 'a: 1', '"data":"a: 1"'],
    ['application/x-ndjson', '{"a":1}\n{"a":2}\n', '"data":"{\\"a\\":1}\\n{\\"a\\":2}\\n"'],
    ['Application/GraphQL; charset=utf-8', '{ a }', '"data":"{ a }"'],
    ['application/sql', 'select 1', '"data":"select 1"'],
    ['application/javascript', 'a()', '"data":"a()"'],
    ['application/javascript', latin1, `"data_base64":"${base64(latin1)}"`],
  ])('%j %j', async (contentType, body, member) => {
    await using world = await startWorld();
    const event = await wrapped(world, body, contentType);
    expect(event.endsWith(`,${member}}`), event).toBe(true);
    expect(() => JSON.parse(event)).not.toThrow();
  });

  test.each<[contentType: string, body: string | Uint8Array, member: string]>([
    ['foo/bar', 'x', '"data":"x"'],
    ['foo/bar', '{"a":1}', '"data":"{\\"a\\":1}"'],
    ['foo/bar', latin1, `"data_base64":"${base64(latin1)}"`],
    ['image/svg', '<svg/>', '"data":"<svg/>"'],
    ['application/x-ndjson', '{"a":1}\n', '"data":"{\\"a\\":1}\\n"'],
    ['application/octet-stream', 'bytes', `"data_base64":"${base64('bytes')}"`],
    ['Application/Octet-Stream; a=b', 'bytes', `"data_base64":"${base64('bytes')}"`],
    ['application/cloudevents+protobuf', 'x', `"data_base64":"${base64('x')}"`],
    ['image/png', Buffer.from([0, 1, 255]), '"data_base64":"AAH/"'],
  ])('with wire dapr, UTF-8 is text, but for two types: %j %j', async (contentType, body, member) => {
    await using world = await startWorld({ wire: 'dapr' });
    const event = await wrapped(world, body, contentType);
    expect(event.endsWith(`,${member}}`), event).toBe(true);
  });

  test.each(['12345678901234567890', '1e400', '-1E+400', '1.10', '0.1000000000000000055511151231257827', '-0'])(
    'the number %s keeps every digit',
    async (number) => {
      await using world = await startWorld();
      const json = `{ "n" : ${number}, "list":[${number}] }`;
      expect(await wrapped(world, json, 'application/json')).toContain(`"data":${json}}`);
    },
  );

  test('keys that are written twice stay twice', async () => {
    await using world = await startWorld();
    expect(await wrapped(world, '{"a":1,"a":2}', 'application/json')).toContain('"data":{"a":1,"a":2}}');
  });

  test('keys such as __proto__ and constructor are ordinary', async () => {
    await using world = await startWorld();
    const json = '{"__proto__":{"admin":true},"constructor":{"prototype":1}}';
    expect(await wrapped(world, json, 'application/json')).toContain(`"data":${json}}`);
  });

  test('a body of 4 MiB arrives whole', async () => {
    await using world = await startWorld();
    const text = 'x'.repeat(4 * 1024 * 1024);
    const event = JSON.parse(await wrapped(world, text)) as Record<string, unknown>;
    expect(event['data'] === text).toBe(true);
  });
});

describe('query metadata.cloudevent.*', () => {
  test.each([
    ['id', 'my-id', { id: 'my-id' }],
    ['source', '/my/source', { source: '/my/source' }],
    ['type', 'my.type', { type: 'my.type' }],
    ['subject', 'my subject', { subject: 'my subject' }],
    ['traceid', 'my-trace', { traceid: 'my-trace', traceparent: 'my-trace' }],
    ['traceparent', 'my-parent', { traceid: 'my-parent', traceparent: 'my-parent' }],
  ])('%s overrides the attribute', async (name, value, expected) => {
    await using world = await startWorld();
    await world.publish('x', { query: `metadata.cloudevent.${name}=${encodeURIComponent(value)}` });
    expect(world.deliveries[0]?.json).toMatchObject(expected);
  });

  test('tracestate overrides the attribute of a message with a trace', async () => {
    await using world = await startWorld();
    await world.publish('x', { query: 'metadata.cloudevent.traceparent=p&metadata.cloudevent.tracestate=a%3D1' });
    expect(world.deliveries[0]?.json).toMatchObject({ traceparent: 'p', tracestate: 'a=1' });
  });

  test('tracestate of a message without a trace is kept with wire dapr only', async () => {
    const query = 'metadata.cloudevent.tracestate=a%3D1';
    await using dapr = await startWorld({ wire: 'dapr' });
    await dapr.publish('x', { query });
    await using sidecar = await startWorld();
    await sidecar.publish('x', { query });
    expect([dapr, sidecar].map(({ deliveries }) => deliveries[0]?.json['tracestate'])).toEqual(['a=1', undefined]);
    expect(dapr.deliveries[0]?.text).not.toContain('traceparent');
  });

  test.each(['topic', 'pubsubname', 'datacontenttype', 'specversion', 'time'])('%s is not overridden', async (name) => {
    await using world = await startWorld();
    await world.publish('x', { query: `metadata.cloudevent.${name}=other` });
    expect(world.deliveries[0]?.json[name]).not.toBe('other');
  });
});

describe('traces', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  test('a request without a trace gives an event without trace attributes', async () => {
    await using world = await startWorld();
    await world.publish('x');
    expect(Object.keys(world.deliveries[0]?.json ?? {})).not.toEqual(expect.arrayContaining(['traceid']));
    expect(world.deliveries[0]?.headers['traceparent']).toBeUndefined();
  });

  test('traceparent and tracestate of the request are in the event and in the headers of the delivery', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: { traceparent, tracestate: 'vendor=1' } });
    const [delivery] = world.deliveries;
    expect(delivery?.json).toMatchObject({ traceid: traceparent, traceparent, tracestate: 'vendor=1' });
    expect(delivery?.headers).toMatchObject({ traceparent, tracestate: 'vendor=1' });
  });

  test.each([
    'nonsense',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-',
    'cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what',
  ])('malformed traceparent %s is ignored', async (malformed) => {
    await using world = await startWorld();
    await world.publish('x', { headers: { traceparent: malformed, tracestate: 'vendor=1' } });
    expect(world.deliveries[0]?.text).not.toContain('trace');
  });

  test('a traceparent of a later version may have more behind the flags', async () => {
    await using world = await startWorld();
    const later = 'cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what';
    await world.publish('x', { headers: { traceparent: later } });
    expect(world.deliveries[0]?.json).toMatchObject({ traceparent: later });
  });

  test('an empty tracestate counts as none', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: { traceparent, tracestate: '' } });
    expect(world.deliveries[0]?.json).toMatchObject({ traceparent });
    expect(world.deliveries[0]?.json).not.toHaveProperty('tracestate');
    expect(world.deliveries[0]?.headers).not.toHaveProperty('tracestate');
  });
});

describe('the caller’s own CloudEvent', () => {
  const type = 'application/cloudevents+json';
  const own = (event: unknown, contentType = type): { headers: Record<string, string>; body: string } => ({
    headers: { 'content-type': contentType },
    body: typeof event === 'string' ? event : JSON.stringify(event),
  });
  const complete = { id: '7', source: '/me', type: 'my.type', specversion: '1.0', time: '2020-02-29T12:00:00+01:00' };

  test('is sent as it is, with topic and pubsubname', async () => {
    await using world = await startWorld();
    const { headers, body } = own({ ...complete, subject: 's', data: { a: 1 }, myext: true });
    expect((await world.publish(body, { headers })).status).toBe(204);
    expect(world.deliveries[0]?.json).toEqual({
      ...complete,
      subject: 's',
      data: { a: 1 },
      myext: true,
      topic: 'orders',
      pubsubname: 'pubsub',
    });
  });

  test.each(['application/cloudevents+json; charset=utf-8', 'APPLICATION/CLOUDEVENTS+JSON'])(
    'is recognised by %s',
    async (contentType) => {
      await using world = await startWorld();
      const { headers, body } = own(complete, contentType);
      await world.publish(body, { headers });
      expect(world.deliveries[0]?.json).toMatchObject({ id: '7', source: '/me' });
    },
  );

  test.each([
    ['missing', {}],
    ['null', { id: null, source: null, type: null, specversion: null, time: null }],
  ])('%s id, source, type, specversion and time are filled in', async (_, event) => {
    await using world = await startWorld();
    const { headers, body } = own(event);
    expect((await world.publish(body, { headers })).status).toBe(204);
    expect(world.deliveries[0]?.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      source: 'shop',
      type: 'com.sidecar.event.sent',
      specversion: '1.0',
      time: '2026-01-01T00:00:00.000Z',
      topic: 'orders',
      pubsubname: 'pubsub',
    });
  });

  test.each<[attribute: string, value: unknown]>([
    ['id', ''],
    ['id', 5],
    ['source', ''],
    ['source', {}],
    ['type', ''],
    ['type', false],
    ['specversion', '0.3'],
    ['specversion', 1.0],
    ['specversion', ''],
    ['time', ''],
    ['time', 'yesterday'],
    ['time', '2026-02-29T00:00:00Z'],
    ['time', '2026-01-01T00:00:00'],
    ['time', 1767225600],
    ['subject', ''],
    ['subject', 5],
    ['datacontenttype', ''],
    ['datacontenttype', 'json'],
    ['datacontenttype', 1],
    ['dataschema', ''],
    ['dataschema', 'relative/path'],
    ['dataschema', []],
  ])('attribute %s with the forbidden value %j is refused by name', async (attribute, value) => {
    await using world = await startWorld();
    const { headers, body } = own({ ...complete, [attribute]: value });
    const answer = await world.publish(body, { headers });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(answer.json['message']).toContain(`attribute ${attribute} is ${JSON.stringify(value)}`);
    expect(world.deliveries).toEqual([]);
  });

  test.each([
    [5, 'a number'],
    [['AA=='], 'an array'],
  ])('data_base64 of %j is refused by name', async (value, kind) => {
    await using world = await startWorld();
    const { headers, body } = own({ ...complete, data_base64: value });
    const answer = await world.publish(body, { headers });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(answer.json['message']).toContain(`data_base64 is ${kind}: expected a string in base64`);
  });

  test.each(['no base64!', 'QQ', 'QQ=', 'QUI=\n', '_-==', 'QR=='])(
    'data_base64 %j is no base64, and refused by name, in a bulk publish and in code, too',
    async (text) => {
      await using world = await startWorld();
      const { data: _data, ...event } = complete as Record<string, unknown>;
      const { headers, body } = own({ ...event, data_base64: text });
      const problem = 'expected standard base64';
      const single = await world.publish(body, { headers });
      expect(single.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
      expect(single.json['message']).toContain(`data_base64 is ${JSON.stringify(text)}: ${problem}`);
      const entry = {
        entryId: '1',
        event: { ...event, data_base64: text },
        contentType: 'application/cloudevents+json',
      };
      expect((await world.publishBulk([entry])).json).toMatchObject({ message: expect.stringContaining(problem) });
      const contentType = 'application/cloudevents+json';
      const inCode = world.sidecar.pubsub.publish('pubsub', 'orders', JSON.parse(body), { contentType });
      await expect(inCode).rejects.toThrow(problem);
      expect(world.deliveries).toEqual([]);
    },
  );

  test('an event with both data and data_base64 is refused by name', async () => {
    await using world = await startWorld();
    const { headers, body } = own({ ...complete, data: { id: 1 }, data_base64: 'QQ==' });
    const answer = await world.publish(body, { headers });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(answer.json['message']).toContain('both data and data_base64');
    expect(world.deliveries).toEqual([]);
  });

  test('one of data and data_base64 may be null', async () => {
    await using world = await startWorld();
    for (const members of [
      { data: null, data_base64: 'QQ==' },
      { data: 5, data_base64: null },
    ]) {
      const { headers, body } = own({ ...complete, ...members });
      expect((await world.publish(body, { headers })).status).toBe(204);
    }
  });

  test.each(['', 'not JSON', '[]', '"text"', '5', 'null', 'true', '{"id":"1"} {}'])(
    'body %j is no JSON object',
    async (body) => {
      await using world = await startWorld();
      const answer = await world.publish(body, own(body));
      expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    },
  );

  test('a body that is not UTF-8 is refused', async () => {
    await using world = await startWorld();
    const answer = await world.publish(Buffer.from([0x7b, 0xff, 0x7d]), own(''));
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
  });

  test.each<[extension: string, value: string]>([
    ['aninteger', '12345678901234567890'],
    ['aboolean', 'false'],
    ['alist', '[1,{"a":null}]'],
    ['anobject', '{"a":1.10}'],
    ['anull', 'null'],
    ['__proto__', '"x"'],
    ['UpperCase', '"x"'],
    ['traceid', '5'],
    ['traceparent', '{"not":"text"}'],
  ])('extension %s of any JSON type passes: %s', async (extension, value) => {
    await using world = await startWorld();
    const { headers } = own('');
    const answer = await world.publish(`{"id":"1",${JSON.stringify(extension)}:${value}}`, { headers });
    expect(answer.status).toBe(204);
    expect(world.deliveries[0]?.text).toContain(`${JSON.stringify(extension)}:${value}`);
  });

  test('topic and pubsubname are always ours', async () => {
    await using world = await startWorld();
    const { headers, body } = own({ ...complete, topic: 'theirs', pubsubname: 'theirs' });
    await world.publish(body, { headers });
    expect(world.deliveries[0]?.json).toMatchObject({ topic: 'orders', pubsubname: 'pubsub' });
  });

  test('numbers of its data keep every digit', async () => {
    await using world = await startWorld();
    const { headers } = own('');
    await world.publish('{ "id" : "1", "data" : { "n" : 12345678901234567890 , "e":1e400, "d":1.10 } }', { headers });
    expect(world.deliveries[0]?.text).toContain('"data":{ "n" : 12345678901234567890 , "e":1e400, "d":1.10 }');
  });

  test('of a member that is written twice the last counts', async () => {
    await using world = await startWorld();
    const { headers } = own('');
    await world.publish('{"id":"1","id":"2"}', { headers });
    expect(world.deliveries[0]?.json['id']).toBe('2');
    expect(world.deliveries[0]?.text.match(/"id"/g)).toHaveLength(1);
  });

  test('its traceparent is kept; the request’s fills in a missing one', async () => {
    await using world = await startWorld();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const theirs = '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01';
    const headers = { 'content-type': type, traceparent };
    await world.publish(JSON.stringify({ ...complete, traceparent: theirs }), { headers });
    await world.publish(JSON.stringify(complete), { headers });
    expect(world.deliveries.map(({ json }) => json['traceparent'])).toEqual([theirs, traceparent]);
    expect(world.deliveries.map((delivery) => delivery.headers['traceparent'])).toEqual([theirs, traceparent]);
  });

  test('its own expiration counts', async () => {
    await using world = await startWorld({ answer: () => ({ status: 500 }) });
    const { headers, body } = own({ ...complete, expiration: '2026-01-01T00:00:10Z' });
    await world.publish(body, { headers });
    await world.clock.advance('1m');
    expect(world.emitted('messageDropped')).toMatchObject([{ reason: 'the message has expired' }]);
  });
});
