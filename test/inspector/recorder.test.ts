import { describe, expect, test, vi } from 'vitest';
import { SidecarEventEmitter } from '../../src/events.ts';
import { durablePubSub, memoryPubSub } from '../../src/index.ts';
import type { MessageRecord } from '../../src/inspector/api/live.ts';
import { KeptPayloads } from '../../src/inspector/recorder/kept-payload.ts';
import { readFilter } from '../../src/inspector/recorder/query.ts';
import { eventually } from '../../src/kit/collector.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { Recorded } from './recorded.ts';

const PLACES: readonly (readonly [string, () => PubSubDefinition])[] = [
  ['in memory', () => memoryPubSub('pubsub')],
  ['durable', () => durablePubSub('pubsub')],
];

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const outcomes = (record: MessageRecord | undefined): readonly string[] =>
  record?.attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`) ?? [];

const allEnded = (count: number) => (records: readonly MessageRecord[]) =>
  records.length === count && records.every(({ outcome }) => outcome === 'delivered' || outcome === 'deadLettered');

describe.each(PLACES)('messages of a component %s', (_, component) => {
  test('have a record for each group, with its attempts', async () => {
    await using recorded = await Recorded.start({ components: [component()] });
    const { pubsub } = recorded.sidecar;
    let failures = 2;
    await pubsub.subscribe(
      'pubsub',
      'orders',
      () => {
        if (failures-- > 0) throw new Error('the till is closed');
      },
      { retry: { delay: 5, maxDelay: 5 } },
    );
    await pubsub.subscribe('pubsub', 'orders', () => undefined, { group: 'audit' });
    await pubsub.publish('pubsub', 'orders', { sum: 7 }, { cloudEvent: { id: 'one' } });
    const records = await recorded.until('topic=orders', allEnded(2));
    const shop = records.find(({ group }) => group === 'shop');
    const audit = records.find(({ group }) => group === 'shop/audit');
    expect(outcomes(shop)).toEqual(['1 retrying', '2 retrying', '3 delivered']);
    expect(shop?.attempts[0]?.reason).toBe('the till is closed');
    expect(shop).toMatchObject({ pubsubName: 'pubsub', topic: 'orders', messageId: 'one', outcome: 'delivered' });
    expect(shop?.durationMs).toBeGreaterThanOrEqual(5);
    expect(outcomes(audit)).toEqual(['1 delivered']);
    expect(records[0]?.key).not.toBe(records[1]?.key);
  });

  test('that nobody takes are published, and their record becomes that of the first group', async () => {
    await using recorded = await Recorded.start({ components: [component()] });
    const { pubsub } = recorded.sidecar;
    await pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
    await pubsub.publish('pubsub', 'orders', 1);
    const [waiting] = await recorded.messages();
    expect(waiting).toMatchObject({ outcome: 'published', attempts: [] });
    expect(waiting).not.toHaveProperty('group');
    await pubsub.subscribe('pubsub', 'orders', () => undefined);
    const [delivered] = await recorded.until('', allEnded(1));
    expect(delivered).toMatchObject({ key: waiting?.key, group: 'shop', outcome: 'delivered' });
    expect(delivered?.seq).toBeGreaterThan(waiting?.seq ?? Number.NaN);
  });

  test('have other keys after a restart, and later numbers, so that a page which stays open tells them apart', async () => {
    const before: MessageRecord[] = [];
    for (const id of ['one', 'two']) {
      await using recorded = await Recorded.start({ components: [component()] });
      await recorded.sidecar.pubsub.publish('pubsub', 'orders', 1, { cloudEvent: { id } });
      before.push(...(await recorded.messages()));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const [one, two] = before;
    expect([one?.messageId, two?.messageId]).toEqual(['one', 'two']);
    expect(two?.key).not.toBe(one?.key);
    expect(two?.seq).toBeGreaterThan(one?.seq ?? Number.NaN);
  });

  test('that are dead-lettered go on under the other topic, and begin again when they are redelivered', async () => {
    await using recorded = await Recorded.start({ components: [component()] });
    const { pubsub } = recorded.sidecar;
    let isClosed = true;
    await pubsub.subscribe(
      'pubsub',
      'orders',
      () => {
        if (isClosed) throw new Error('closed');
      },
      { deadLetterTopic: 'dead', retry: { maxRetries: 0 } },
    );
    await pubsub.publish('pubsub', 'orders', 1, { cloudEvent: { id: 'one' } });
    const [dead] = await recorded.until('topic=orders', allEnded(1));
    expect(dead).toMatchObject({ outcome: 'deadLettered', deadLetterTopic: 'dead' });
    expect(outcomes(dead)).toEqual(['1 deadLettered']);
    isClosed = false;
    const queue = { pubsubName: 'pubsub', topic: 'dead', group: 'shop' };
    expect(await pubsub.queues.redeliver(queue, 'all')).toBe(1);
    const [before, again] = await recorded.until('topic=orders', allEnded(2));
    expect(before?.outcome).toBe('deadLettered');
    expect(again?.messageId).toBe('one');
    expect(outcomes(again)).toEqual(['1 delivered']);
  });

  test('of one ID are told apart', async () => {
    await using recorded = await Recorded.start({ components: [component()] });
    const { pubsub } = recorded.sidecar;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await pubsub.subscribe('pubsub', 'orders', () => held);
    for (const data of ['first', 'second'])
      await pubsub.publish('pubsub', 'orders', data, { cloudEvent: { id: 'same' } });
    await recorded.until('outcome=delivering', ({ length }) => length === 1 || length === 2);
    release();
    const records = await recorded.until('', allEnded(2));
    expect(records.map(outcomes)).toEqual([['1 delivered'], ['1 delivered']]);
    expect(await recorded.messages('text=second')).toHaveLength(1);
  });

  test('of a bulk subscription have their own outcomes', async () => {
    const listener = async (request: Request): Promise<Response> => {
      if (request.method === 'GET') return Response.json([]);
      const { entries } = (await request.json()) as { entries: { entryId: string; event: { data: string } }[] };
      const statuses = entries.map(({ entryId, event }) => ({
        entryId,
        status: event.data === 'bad' ? 'DROP' : 'SUCCESS',
      }));
      return Response.json({ statuses });
    };
    const bulkSubscribe = { enabled: true, maxMessagesCount: 10, maxAwaitDuration: 20 };
    await using recorded = await Recorded.start({
      components: [component()],
      app: { fetch: listener },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders', bulkSubscribe }],
    });
    await recorded.sidecar.ready();
    for (const data of ['good', 'bad', 'good']) await recorded.sidecar.pubsub.publish('pubsub', 'orders', data);
    const isOver = ({ outcome }: MessageRecord): boolean => outcome === 'delivered' || outcome === 'dropped';
    const records = await recorded.until('', (all) => all.length === 3 && all.every(isOver));
    expect(records.map(({ outcome }) => outcome).sort()).toEqual(['delivered', 'delivered', 'dropped']);
    expect(records.every(({ route, attempts }) => route === '/orders' && attempts.length === 1)).toBe(true);
  });

  test('on topics that objects have members of are ordinary', async () => {
    await using recorded = await Recorded.start({ components: [component()] });
    const { pubsub } = recorded.sidecar;
    for (const topic of ['__proto__', 'constructor', 'toString']) {
      await pubsub.subscribe('pubsub', topic, () => undefined);
      await pubsub.publish('pubsub', topic, { topic }, { cloudEvent: { id: '__proto__' } });
      const records = await recorded.until(`topic=${topic}`, allEnded(1));
      expect(records).toMatchObject([{ topic, messageId: '__proto__', outcome: 'delivered' }]);
    }
  });
});

describe('a recorder', () => {
  test('only counts while nobody looks, and forgets some time after the last one', async () => {
    const source = vi.spyOn(SidecarEventEmitter.prototype, 'source');
    await using recorded = await Recorded.start({}, { record: 'watched' }, { lingerMs: 1_500 });
    const events = source.mock.contexts[0] as SidecarEventEmitter;
    source.mockRestore();
    const { sidecar, recorder } = recorded;
    const { pubsub } = sidecar;
    await pubsub.subscribe('pubsub', 'orders', () => undefined);
    await pubsub.publish('pubsub', 'orders', 1);
    const totalOf = (name: string): number | undefined =>
      recorder.rates().series.find((series) => series.name === name)?.total;
    await eventually('the message was counted', () => totalOf('delivered') === 1);
    expect(recorder.recordingSince).toBeUndefined();
    expect(recorder.kept.size).toBe(0);
    expect(events.listenerCount('messageDelivering')).toBe(0);

    recorder.watch();
    expect(recorder.recordingSince).toBeLessThanOrEqual(Date.now());
    await pubsub.publish('pubsub', 'orders', 2);
    await eventually('the message was counted', () => totalOf('delivered') === 2);
    expect(recorder.kept.size).toBe(1);

    await eventually('it records no more', () => recorder.recordingSince === undefined);
    expect(events.listenerCount('messageDelivering')).toBe(0);
    expect(recorder.kept).toMatchObject({ size: 0, bytes: 0 });
    await pubsub.publish('pubsub', 'orders', 3);
    await eventually('the message was counted', () => totalOf('delivered') === 3);
    expect(totalOf('published')).toBe(3);

    recorder.close();
    expect(events.eventNames()).toEqual([]);
  });

  test('keeps at most 16 MiB of payloads', async () => {
    await using recorded = await Recorded.start();
    const { pubsub } = recorded.sidecar;
    await pubsub.subscribe('pubsub', 'orders', () => undefined);
    const limit = 16 * 1024 * 1024;
    for (let n = 0; n < 1_000; n++) {
      await pubsub.publish('pubsub', 'orders', 'x'.repeat(30_000));
      expect(recorded.recorder.kept.bytes).toBeLessThanOrEqual(limit);
    }
    const { size, hasDropped, bytes } = recorded.recorder.kept;
    expect(hasDropped).toBe(true);
    expect(size).toBeGreaterThan(500);
    expect(bytes).toBeGreaterThan(limit - 40_000);
  });

  test('cuts long payloads, masks secrets, and finds neither by a text', async () => {
    await using recorded = await Recorded.start();
    const { pubsub } = recorded.sidecar;
    const order = { note: 'hello', card: { apiKey: 'k-123', access_token: ['t-123'] } };
    await pubsub.publish('pubsub', 'orders', order, { cloudEvent: { id: 'secret' } });
    const long = { password: 'p-123', text: `é${'é'.repeat(50_000)}` };
    await pubsub.publish('pubsub', 'orders', long, { cloudEvent: { id: 'long' } });
    await pubsub.publish('pubsub', 'orders', Buffer.from('raw p-123'), { rawPayload: true, contentType: 'text/plain' });
    const [secret, cut, raw] = await recorded.messages();
    const viewOf = (record: MessageRecord | undefined): unknown => {
      const entry = recorded.recorder.find(record?.key ?? '');
      return entry?.kind === 'message' ? entry.payload.view() : undefined;
    };
    expect(viewOf(secret)).toMatchObject({
      attributes: { id: 'secret', type: expect.any(String), source: 'shop', specversion: '1.0' },
      payload: { format: 'json', isCut: false, isMasked: true },
    });
    expect(JSON.stringify(viewOf(secret))).toContain('hello');
    expect(viewOf(cut)).toMatchObject({ attributes: { id: 'long' }, payload: { isCut: true, isMasked: true } });
    expect(JSON.stringify(viewOf(cut))).toContain('éé');
    expect(cut?.bytes).toBeGreaterThan(100_000);
    expect(recorded.recorder.kept.bytes).toBeLessThan(70_000);
    expect(viewOf(raw)).toMatchObject({ attributes: {}, payload: { format: 'text', value: 'raw p-123' } });
    expect(JSON.stringify([viewOf(secret), viewOf(cut)])).not.toMatch(/[kpt]-123/);
    expect(await recorded.messages('text=k-123')).toEqual([]);
    expect(await recorded.messages('text=P-123')).toMatchObject([{ key: raw?.key }]);
    expect(await recorded.messages('text=HELLO')).toMatchObject([{ key: secret?.key }]);
  });

  test.each<[string, string, (json: string) => object]>([
    ['text', 'text/plain', (data) => ({ data })],
    ['base64 of text', 'text/plain', (data) => ({ data_base64: base64(data) })],
    ['base64 of JSON', 'application/json', (data) => ({ data_base64: base64(data) })],
    ['base64 with its attributes behind it', 'application/json', (data) => ({ data_base64: base64(data), id: '1' })],
    ['text with its attributes behind it', 'text/plain', (data) => ({ data, id: '1' })],
  ])('masks secrets in %s that is cut', (_what, datacontenttype, dataOf) => {
    const entries = [0, 1, 2].map((spaces) => `${' '.repeat(spaces)}{"token":"s3cret","text":"${'é'.repeat(50_000)}"}`);
    for (const json of entries) {
      const { id, ...data } = { id: undefined, ...dataOf(json) };
      const event = { specversion: '1.0', source: 's', type: 't', datacontenttype };
      const ordered = id === undefined ? { ...event, id: '1', ...data } : { ...data, ...event, id };
      const message = { data: Buffer.from(JSON.stringify(ordered)), contentType: 'application/cloudevents+json' };
      const kept = new KeptPayloads('full').keep({ ...message, id: '1', topic: 'orders', metadata: {}, raw: false });
      const { format, value, isMasked, isCut } = kept.view().payload;
      expect([isMasked, isCut]).toEqual([true, true]);
      expect(format === 'hidden' ? '' : value.slice(0, 40)).toMatch(
        id === undefined ? /^ *{"token":"\*\*\*","text":"é/ : /^$/,
      );
      expect(Buffer.from(value, 'base64').toString()).not.toContain('s3cret');
    }
  });

  test('shows what the option makes of payloads', async () => {
    const place: unknown[] = [];
    const payloads = (value: unknown, where: unknown): unknown => {
      place.push(where);
      return { seen: value };
    };
    await using recorded = await Recorded.start({}, { payloads });
    await recorded.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
    await using hidden = await Recorded.start({}, { payloads: 'none' });
    await hidden.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
    const payloadOf = async (one: Recorded): Promise<unknown> => {
      const [record] = await one.messages();
      const entry = one.recorder.find(record?.key ?? '');
      return entry?.kind === 'message' ? entry.payload.view().payload : record;
    };
    expect(await payloadOf(recorded)).toMatchObject({ value: '{"seen":{"id":1}}', isMasked: true });
    expect(place).toEqual([{ kind: 'message', name: 'orders' }]);
    expect(await payloadOf(hidden)).toMatchObject({ format: 'hidden', value: '' });
    // Attributes are kept, and counted.
    expect(hidden.recorder.kept.bytes).toBeLessThan(300);
    await hidden.sidecar.pubsub.publish('pubsub', 'orders', 1, { cloudEvent: { subject: 'x'.repeat(10_000) } });
    expect(hidden.recorder.kept.bytes).toBeGreaterThan(10_000);
  });

  test('pages stay where they are while new records come', async () => {
    await using recorded = await Recorded.start();
    const { sidecar, recorder } = recorded;
    const publish = async (from: number): Promise<void> => {
      for (let n = from; n < from + 10; n++)
        await sidecar.pubsub.publish('pubsub', 'orders', n, { cloudEvent: { id: `m${n}` } });
    };
    await publish(0);
    const filter = readFilter(new URLSearchParams(), 'message');
    const first = await recorder.page(filter, 4);
    await publish(10);
    const second = await recorder.page(filter, 4, first.cursor);
    const third = await recorder.page(filter, 4, second.cursor);
    const ids = [first, second, third].flatMap(({ records }) =>
      (records as MessageRecord[]).map((one) => one.messageId),
    );
    expect(ids).toEqual(['m9', 'm8', 'm7', 'm6', 'm5', 'm4', 'm3', 'm2', 'm1', 'm0']);
    expect(third.cursor).toBeUndefined();
  });

  test('tells of attempts that a stop has ended', async () => {
    const recorded = await Recorded.start();
    const { pubsub } = recorded.sidecar;
    const forever = new Promise<void>(() => undefined);
    await pubsub.subscribe('pubsub', 'orders', (_, { signal }) =>
      Promise.race([
        forever,
        new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended')))),
      ]),
    );
    await pubsub.publish('pubsub', 'orders', 1);
    await recorded.until('outcome=delivering', ({ length }) => length === 1);
    await recorded.sidecar.stop();
    expect((await recorded.messages()).map(outcomes)).toEqual([['1 unsettled']]);
    recorded.recorder.close();
  });

  test('keeps no trace that is longer than one can be', async () => {
    await using recorded = await Recorded.start();
    const traceparent = `00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-01`;
    const long = { traceparent: 'x'.repeat(100_000) };
    for (const trace of [{ traceparent }, long])
      await recorded.sidecar.pubsub.publish('pubsub', 'orders', 1, { trace });
    const records = await recorded.messages();
    expect(records.map((record) => record.traceparent)).toEqual([traceparent, undefined]);
  });

  test('keeps the last 20 attempts', async () => {
    await using recorded = await Recorded.start();
    const { pubsub } = recorded.sidecar;
    let attempts = 0;
    await pubsub.subscribe(
      'pubsub',
      'orders',
      () => {
        if (++attempts < 25) throw new Error(`no ${'x'.repeat(5_000)}`);
      },
      { retry: { delay: 1, maxDelay: 1 } },
    );
    await pubsub.publish('pubsub', 'orders', 1);
    const [record] = await recorded.until('', allEnded(1));
    expect(record?.attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 20 }, (_, n) => n + 6));
    expect(record?.attempts.at(-2)?.reason?.length).toBeLessThan(1_100);
    // Of an outage, many messages have many reasons.
    expect(record?.attempts.slice(0, -2).every(({ reason }) => (reason?.length ?? 0) < 250)).toBe(true);
  });
});
