import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { startWorld } from '../support/world.ts';

const REQUIRED = { ce_specversion: '1.0', ce_type: 'my.type', ce_source: '/me', ce_id: '42' };
const BINDING = { 'ce-specversion': '1.0', 'ce-type': 'my.type', 'ce-source': '/me', 'ce-id': '42' };

describe('CloudEvents binary mode', () => {
  test('takes attributes from ce_ headers and datacontenttype from Content-Type', async () => {
    await using world = await startWorld();
    const headers = {
      ...REQUIRED,
      ce_subject: 'about',
      ce_time: '2020-01-01T00:00:00Z',
      ce_dataschema: 'https://schema.example/1',
      ce_myext: 'own',
      'content-type': 'application/json; charset=utf-8',
    };
    const answer = await world.publish('{"n":12345678901234567890}', { headers });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(world.deliveries[0]?.json).toEqual({
      specversion: '1.0',
      type: 'my.type',
      source: '/me',
      id: '42',
      subject: 'about',
      time: '2020-01-01T00:00:00Z',
      dataschema: 'https://schema.example/1',
      myext: 'own',
      datacontenttype: 'application/json; charset=utf-8',
      topic: 'orders',
      pubsubname: 'pubsub',
      data: { n: Number('12345678901234567890') },
    });
    expect(world.deliveries[0]?.text).toContain('"data":{"n":12345678901234567890}');
  });

  test('fills in the time', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: REQUIRED });
    expect(world.deliveries[0]?.json['time']).toBe('2026-01-01T00:00:00.000Z');
  });

  test('header names are taken in any case', async () => {
    await using world = await startWorld();
    await world.publish('x', {
      headers: { CE_SpecVersion: '1.0', Ce_Type: 't', CE_SOURCE: 's', cE_iD: 'i', Ce_MyExt: 'e' },
    });
    expect(world.deliveries[0]?.json).toMatchObject({
      specversion: '1.0',
      type: 't',
      source: 's',
      id: 'i',
      myext: 'e',
    });
  });

  test.each<[contentType: string | undefined, body: string | Uint8Array, member: string]>([
    ['application/json', '[1.10]', '"data":[1.10]'],
    ['application/json', 'no JSON', '"data":"no JSON"'],
    [undefined, 'text', '"data":"text"'],
    ['application/octet-stream', 'bytes', '"data_base64":"Ynl0ZXM="'],
    ['image/png', Buffer.from([0, 255]), '"data_base64":"AP8="'],
    ['text/plain', Buffer.from([255]), '"data_base64":"/w=="'],
  ])('data follow the wrapping rule: %j %j', async (contentType, body, member) => {
    await using world = await startWorld();
    const headers = contentType === undefined ? REQUIRED : { ...REQUIRED, 'content-type': contentType };
    await world.publish(body, { headers });
    expect(world.deliveries[0]?.text).toContain(member);
  });

  test('Content-Type is text/plain when not given', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: REQUIRED });
    expect(world.deliveries[0]?.json['datacontenttype']).toBe('text/plain');
  });

  test.each(['nope', 'text', 'text/', '/plain', 'a b/c', 'text/plain, text/html'])(
    'a Content-Type that is no media type is refused, as in a whole event: %j',
    async (contentType) => {
      await using world = await startWorld();
      const answer = await world.publish('x', { headers: { ...REQUIRED, 'content-type': contentType } });
      expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
      expect(answer.json['message']).toContain(`attribute datacontenttype is ${JSON.stringify(contentType)}`);
      expect(world.deliveries).toEqual([]);
    },
  );

  test.each(Object.keys(REQUIRED))('%s is required: the others without it are refused by name', async (missing) => {
    await using world = await startWorld();
    const { [missing as 'ce_id']: _left, ...headers } = REQUIRED;
    const answer = await world.publish('x', { headers });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(answer.json['message']).toBe(`cannot create cloudevent: missing headers ${missing}`);
    expect(world.deliveries).toEqual([]);
  });

  test.each(Object.entries(REQUIRED))('%s alone turns it on, and all missing ones are named', async (name, value) => {
    await using world = await startWorld();
    const answer = await world.publish('x', { headers: { [name]: value } });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    for (const other of Object.keys(REQUIRED))
      expect(String(answer.json['message']).includes(other)).toBe(other !== name);
  });

  test.each(['ce_subject', 'ce_time', 'ce_other'])('%s alone does not turn it on', async (name) => {
    await using world = await startWorld();
    expect((await world.publish('x', { headers: { [name]: 'nonsense' } })).status).toBe(204);
    expect(world.deliveries[0]?.json).toMatchObject({ source: 'shop', type: 'com.sidecar.event.sent' });
    expect(world.deliveries[0]?.text).not.toContain('nonsense');
  });

  test.each([
    ['ce_specversion', '0.3'],
    ['ce_specversion', ''],
    ['ce_id', ''],
    ['ce_source', ''],
    ['ce_type', ''],
    ['ce_time', 'yesterday'],
    ['ce_subject', ''],
    ['ce_dataschema', 'not a URI'],
  ])('header %s with the forbidden value %j is refused by name', async (header, value) => {
    await using world = await startWorld();
    const answer = await world.publish('x', { headers: { ...REQUIRED, [header]: value } });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(answer.json['message']).toContain(`attribute ${header.slice(3)} is ${JSON.stringify(value)}`);
  });

  test.each(['ce_data', 'ce_my_ext', 'ce_my-ext'])('header %s is no attribute name', async (header) => {
    await using world = await startWorld();
    const answer = await world.publish('x', { headers: { ...REQUIRED, [header]: 'x' } });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
  });

  test.each(['datacontenttype', 'topic', 'pubsubname'])('attribute %s is not taken from a header', async (name) => {
    await using world = await startWorld();
    await world.publish('x', { headers: { ...REQUIRED, [`ce_${name}`]: 'theirs' } });
    expect(world.deliveries[0]?.text).not.toContain('theirs');
  });

  test('the ce- form of CloudEvents’ HTTP binding is understood and percent-decoded', async () => {
    await using world = await startWorld();
    const headers = { ...BINDING, 'ce-subject': 'Euro%20%E2%82%AC%20%F0%9F%98%80' };
    expect((await world.publish('x', { headers })).status).toBe(204);
    expect(world.deliveries[0]?.json).toMatchObject({ id: '42', source: '/me', subject: 'Euro € 😀' });
  });

  test.each(['_', '-'])('bytes of UTF-8 in ce%s headers are read as such', async (separator) => {
    await using world = await startWorld();
    await world.raw(
      'POST /v1.0/publish/pubsub/orders HTTP/1.1',
      'host: a',
      'connection: close',
      ...Object.entries(REQUIRED).map(([name, value]) => `${name.replace('_', separator)}: ${value}`),
      `ce${separator}subject: ${Buffer.from('Zürich 😀').toString('latin1')}`,
      `ce${separator}city: Z\xfcrich`,
      'content-length: 1',
      '',
      'x',
    );
    await world.clock.settled();
    expect(world.deliveries[0]?.json).toMatchObject({ id: '42', subject: 'Zürich 😀', city: 'Zürich' });
  });

  test('text beyond Latin-1 that a caller in this process gives stays as it is', async () => {
    await using world = await startWorld();
    const headers = { ...REQUIRED, ce_subject: '店 Ã¼' };
    await world.sidecar.handle(request('POST', '/v1.0/publish/pubsub/orders', { headers, body: 'x' }));
    await world.clock.settled();
    expect(world.deliveries[0]?.json).toMatchObject({ subject: '店 Ã¼' });
  });

  test('the ce_ form is not percent-decoded', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: { ...REQUIRED, ce_subject: '100%25' } });
    expect(world.deliveries[0]?.json['subject']).toBe('100%25');
  });

  test('a ce- header that does not decode is refused by name', async () => {
    await using world = await startWorld();
    const answer = await world.publish('x', { headers: { ...BINDING, 'ce-subject': '%ff' } });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_CLOUD_EVENTS_SER']);
    expect(answer.json['message']).toContain('ce-subject');
  });

  test.each([
    ['100%', '100%'],
    ['%', '%'],
    ['%zz %4 %%20%', '%zz %4 % %'],
    ['50% of %E2%82%AC', '50% of €'],
    ['"quoted"', 'quoted'],
    ['"a \\"b\\" \\\\ c"', 'a "b" \\ c'],
    ['"Euro%20%E2%82%AC"', 'Euro €'],
    ['"100%"', '100%'],
    ['"%22"', '"'],
    ['%22a%22', '"a"'],
    ['say "hi"', 'say "hi"'],
    ['"open', '"open'],
    ['"', '"'],
    ['"a" "b"', '"a" "b"'],
    ['"ends in a backslash\\"', '"ends in a backslash\\"'],
  ])('the ce- header %s has the value %j', async (sent, value) => {
    await using world = await startWorld();
    expect((await world.publish('x', { headers: { ...BINDING, 'ce-subject': sent } })).status).toBe(204);
    expect(world.deliveries[0]?.json['subject']).toBe(value);
  });

  test('the ce_ form is not unquoted', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: { ...REQUIRED, ce_subject: '"a"' } });
    expect(world.deliveries[0]?.json['subject']).toBe('"a"');
  });

  test('both forms together complete each other, ce_ first', async () => {
    await using world = await startWorld();
    const { 'ce-id': _id, ...rest } = BINDING;
    await world.publish('x', { headers: { ...rest, ce_id: 'mine', ce_type: 'mine' } });
    expect(world.deliveries[0]?.json).toMatchObject({ id: 'mine', type: 'mine', source: '/me' });
  });

  test('with application/cloudevents+json the body is the event and such headers are ignored', async () => {
    await using world = await startWorld();
    const type = { 'content-type': 'application/cloudevents+json' };
    for (const headers of [REQUIRED, { ce_id: 'alone' }, { ce_specversion: '0.3', ce_time: 'nonsense' }]) {
      const answer = await world.publish('{"id":"body","data":1}', { headers: { ...headers, ...type } });
      expect(answer.status).toBe(204);
    }
    expect(world.deliveries.map(({ json }) => [json['id'], json['source']])).toEqual(Array(3).fill(['body', 'shop']));
  });

  test('a TTL gives it an expiration', async () => {
    await using world = await startWorld();
    await world.publish('x', { headers: REQUIRED, query: 'metadata.ttlInSeconds=10' });
    expect(world.deliveries[0]?.json['expiration']).toBe('2026-01-01T00:00:10.000Z');
  });

  test('the trace of the request is in the event', async () => {
    await using world = await startWorld();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await world.publish('x', { headers: { ...REQUIRED, traceparent } });
    expect(world.deliveries[0]?.json['traceparent']).toBe(traceparent);
  });
});
