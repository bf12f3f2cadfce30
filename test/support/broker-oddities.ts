import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { BrokerUnderTest } from './broker-features.ts';
import { BrokerWorld, type BrokerWorldOptions, until } from './broker-world.ts';

const RAW = { metadata: { rawPayload: 'true' } };
const AS_RAW = 'metadata.rawPayload=true';
const BYTES = { 'content-type': 'application/octet-stream' };

/** What nobody would publish on purpose: it may fail, with a reason, and must not harm what comes after it. */
export function brokerOddities(opened: () => BrokerUnderTest): void {
  const newTopic = async (): Promise<string> => {
    const topic = `oddities-${randomUUID()}`;
    await opened().createTopic?.(topic);
    return topic;
  };
  const start = (options: Omit<BrokerWorldOptions, 'component'>): Promise<BrokerWorld> =>
    BrokerWorld.start({ component: opened().define(), ...options });

  test('a message without a byte arrives, of ours and of another program', async () => {
    const topic = await newTopic();
    await using world = await start({ subscriptions: [{ topic, route: '/in', ...RAW }] });
    expect((await world.publish(topic, '', { query: AS_RAW, headers: BYTES })).status).toBe(204);
    await opened().publishForeign(topic, new Uint8Array(0));
    const got = await world.received('/in', 2);
    expect(got.map(({ bytes }) => bytes.length)).toEqual([0, 0]);
  });

  test('a message of 10 MB arrives unchanged, or is refused with a reason, and the next one arrives', async () => {
    const topic = await newTopic();
    await using world = await start({
      subscriptions: [{ topic, route: '/in', ...RAW }],
      options: { bodyLimitBytes: 16_000_000 },
    });
    const bytes = Buffer.alloc(10_000_000, 'ab');
    const answer = await world.publish(topic, bytes, { query: AS_RAW, headers: BYTES });
    expect((await world.publish(topic, 'next', { query: AS_RAW })).status).toBe(204);
    if (answer.status === 204) {
      const [large] = await world.received('/in', 2);
      expect(large?.bytes.equals(bytes)).toBe(true);
    } else {
      expect(answer.error).toEqual([500, 'ERR_PUBSUB_PUBLISH_MESSAGE']);
      expect(answer.text).toMatch(/\d{7}/);
      await world.received('/in', 1);
    }
  });

  test('what is no event, and events with members of wrong types, hold up nobody', async () => {
    const topic = await newTopic();
    await using world = await start({ subscriptions: [{ topic, route: '/in' }], options: { wire: 'dapr' } });
    const wrong = {
      specversion: '1.0',
      id: 7,
      source: null,
      type: [],
      time: {},
      datacontenttype: 5,
      expiration: 'soon',
    };
    const traced = {
      ...wrong,
      traceparent: 5,
      tracestate: {},
      traceid: 'none',
      data_base64: 8,
      topic: 9,
      data: 'traced',
    };
    const bodies = [
      '',
      'null',
      '[1]',
      '"text"',
      '5',
      '{"specversion":"1.0"',
      '{"a":1}x',
      '\u0000',
      JSON.stringify(traced),
    ];
    for (const body of bodies) await opened().publishForeign(topic, Buffer.from(body));
    await opened().publishForeign(topic, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));
    await opened().publishForeign(topic, Buffer.from('{"specversion":1,"data":"no event"}'));
    await world.publish(topic, 'last');
    const got = await world.received('/in', 3);
    expect(got.map(({ data }) => data).sort()).toEqual(['last', 'no event', 'traced']);
  });

  test('metadata with line breaks and names of headers stay metadata', async () => {
    const topic = await newTopic();
    await using world = await start({ subscriptions: [{ topic, route: '/in' }] });
    const query = ['x=a%0D%0Aevil:%201', 'evil%0D%0Aname=1', 'content-length=5', '__proto__=p', 'Nats-Msg-Id=n']
      .map((one) => `metadata.${one}`)
      .join('&');
    expect((await world.publish(topic, 'injected', { query })).status).toBe(204);
    await world.publish(topic, 'next');
    const got = await world.received('/in', 2);
    expect(got.map(({ data }) => data)).toEqual(['injected', 'next']);
    for (const { headers } of got) expect(headers['evil']).toBeUndefined();
  });

  test('bytes that are no text are an event with data_base64', async () => {
    const topic = await newTopic();
    await using world = await start({ subscriptions: [{ topic, route: '/in' }] });
    const bytes = Buffer.from([0, 255, 10, 0xc3, 0x28]);
    await world.publish(topic, bytes, { headers: BYTES });
    const [got] = await world.received('/in', 1);
    expect(got?.json).toMatchObject({
      datacontenttype: 'application/octet-stream',
      data_base64: bytes.toString('base64'),
    });
  });

  test.each([
    '__proto__',
    'constructor',
    '../x',
    'a b',
    '*',
    '>',
    '#',
    'a/+/b',
    '.',
    '%',
    '$SYS/x',
    '$JS.API.STREAM.NAMES',
    'amq.topic',
    'amq.reserved',
    'amq.rabbitmq.trace',
    'line\r\nbreak',
    'zero\0',
    'grüße 🚀',
    'x'.repeat(300),
  ])('topic %j can be published to, or is refused with a reason', async (topic) => {
    const other = await newTopic();
    await using world = await start({ subscriptions: [{ topic: other, route: '/in' }] });
    const answer = await world.publish(topic, 'odd');
    if (answer.status !== 204) {
      expect([400, 403, 404, 500]).toContain(answer.status);
      expect(answer.text).not.toContain('did not confirm');
    }
    expect((await world.publish(other, 'next')).status).toBe(204);
    await until('the next message arrives', () => world.app.at('/in').length === 1);
  });
}
