import { createNoopMeter, type Meter, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { durablePubSub, memoryState } from '../../src/index.ts';
import { NEVER } from '../support/app.ts';
import { OutboxWorld } from '../support/outbox-world.ts';
import { Requests } from '../support/requests.ts';
import { linked, RecordedTelemetry, telemetryWithoutSdk, traceparentOf } from '../support/telemetry.ts';
import { startWorld } from '../support/world.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const GIVEN = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const ORDERS = { pubsubname: 'pubsub', topic: 'orders', route: '/orders' };

test('a publish has a producer span, whose context goes into the event and its trace on', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry() });
  await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await world.clock.settled();

  const published = recorded.one('publish orders');
  expect(published.kind).toBe(SpanKind.PRODUCER);
  expect(published.parentSpanContext).toBeUndefined();
  const event = world.deliveries[0]?.json;
  expect(event?.['traceparent']).toBe(traceparentOf(published));
  expect(published.attributes).toEqual({
    'insidecar.app.id': 'shop',
    'insidecar.pubsub.name': 'pubsub',
    'messaging.system': 'insidecar',
    'messaging.operation.name': 'publish',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'orders',
    'messaging.message.id': event?.['id'],
    'messaging.message.body.size': world.deliveries[0]?.bytes.length,
  });
});

test.each(['port', 'process'] as const)('a delivery over the %s carries the context of its own span', async (via) => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ via, telemetry: recorded.telemetry() });
  await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await world.clock.settled();

  const processed = recorded.one('process orders');
  const published = recorded.one('publish orders').spanContext();
  expect(world.deliveries[0]?.headers['traceparent']).toBe(traceparentOf(processed));
  expect(processed.kind).toBe(SpanKind.CONSUMER);
  expect(processed.parentSpanContext?.spanId).toBe(published.spanId);
  expect(linked(processed)).toEqual([published.spanId]);
  expect(processed.attributes).toMatchObject({
    'messaging.operation.name': 'process',
    'messaging.consumer.group.name': 'shop',
    'insidecar.attempt': 1,
    'insidecar.outcome': 'delivered',
  });
});

test('with messageParent false a delivery is a trace of its own, linked to the publish', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry({ messageParent: false }) });
  await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await world.clock.settled();

  const processed = recorded.one('process orders');
  expect(processed.parentSpanContext).toBeUndefined();
  expect(linked(processed)).toEqual([recorded.one('publish orders').spanContext().spanId]);
});

test('without an SDK nothing is traced, and the trace of the publisher goes through', async () => {
  await using world = await startWorld({ telemetry: telemetryWithoutSdk() });
  await world.publish({ id: 1 });
  await world.publish({ id: 2 }, { headers: { traceparent: GIVEN } });

  expect(world.deliveries.map(({ headers }) => headers['traceparent'])).toEqual([undefined, GIVEN]);
});

test.each([
  ['in a whole event', { traceparent: GIVEN }, ''],
  ['in the metadata', undefined, `metadata.cloudevent.traceparent=${GIVEN}`],
])('a trace that the publisher has set %s stays, and is linked', async (_where, attributes, query) => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry() });
  const event = { specversion: '1.0', id: 'e', source: 's', type: 't', data: 1, ...attributes };
  const headers = { 'content-type': attributes === undefined ? 'application/json' : 'application/cloudevents+json' };
  await world.publish(event, { headers, query });

  expect(world.deliveries[0]?.json['traceparent']).toBe(GIVEN);
  expect(recorded.one('publish orders').links.map(({ context }) => context.traceId)).toEqual([TRACE_ID]);
  const processed = recorded.one('process orders');
  expect(processed.spanContext().traceId).toBe(TRACE_ID);
});

test('a traceparent of version 00 with more behind its flags is no trace, and is not linked', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry() });
  await world.publish({ id: 1 }, { query: `metadata.cloudevent.traceparent=${GIVEN}-extra` });
  await world.publish({ id: 2 }, { query: `metadata.cloudevent.traceparent=${GIVEN.replace('00', 'cc')}-extra` });

  const links = recorded.named('publish orders').map((span) => span.links.map(({ context }) => context.traceId));
  expect(links).toEqual([[], [TRACE_ID]]);
});

test('the trace that code gives with a publish is that of the publish', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry() });
  await world.sidecar.pubsub.publish('pubsub', 'orders', 1, { trace: { traceparent: GIVEN, tracestate: 'a=1' } });
  await world.clock.settled();

  const published = recorded.one('publish orders');
  expect(published.spanContext().traceId).toBe(TRACE_ID);
  expect(world.deliveries[0]?.json).toMatchObject({ traceparent: traceparentOf(published), tracestate: 'a=1' });
});

test('every attempt is a span of the trace of its message; a failed one says why', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({
    telemetry: recorded.telemetry(),
    answer: (_received, nth) => ({ status: nth < 3 ? 503 : 200 }),
  });
  await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await world.pass('10s');

  const spans = recorded.named('process orders');
  expect(spans.map(({ attributes }) => [attributes['insidecar.attempt'], attributes['insidecar.outcome']])).toEqual([
    [1, 'retrying'],
    [2, 'retrying'],
    [3, 'delivered'],
  ]);
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(spans[0]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the application answered 503' });
  expect(spans[0]?.attributes['error.type']).toBe('503');
  expect(spans[2]?.status.code).toBe(SpanStatusCode.UNSET);
  expect(world.deliveries.map(({ headers }) => headers['traceparent'])).toEqual(spans.map(traceparentOf));
});

test('a dead letter is published within the attempt that failed, and keeps the context of its creation', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({
    telemetry: recorded.telemetry(),
    discovery: [
      { ...ORDERS, deadLetterTopic: 'dead' },
      { pubsubname: 'pubsub', topic: 'dead', route: '/dead' },
    ],
    answer: ({ path }) => ({ status: path === '/orders' ? 404 : 200 }),
  });
  await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await world.clock.settled();

  const published = recorded.one('publish orders');
  expect(recorded.tree(published.spanContext().traceId)).toEqual([
    'PRODUCER publish orders',
    '  CONSUMER process orders',
    '    PRODUCER publish dead',
    '  CONSUMER process dead',
  ]);
  expect(recorded.one('process orders').attributes['insidecar.outcome']).toBe('dead_lettered');
  expect(world.at('/dead')[0]?.json['traceparent']).toBe(traceparentOf(published));
});

test('a bulk publish is one span for all its messages', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry() });
  await world.publishBulk([
    { entryId: '1', event: { id: 1 }, contentType: 'application/json' },
    { entryId: '2', event: { id: 2 }, contentType: 'application/json' },
  ]);

  const published = recorded.one('publish orders');
  expect(published.attributes['messaging.batch.message_count']).toBe(2);
  expect(world.deliveries.map(({ json }) => json['traceparent'])).toEqual([
    traceparentOf(published),
    traceparentOf(published),
  ]);
});

test('a bulk delivery is a trace of its own, with a link to the publish of each message', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({
    telemetry: recorded.telemetry(),
    discovery: [{ ...ORDERS, bulkSubscribe: { enabled: true, maxMessagesCount: 2 } }],
    answer: ({ entries }) => ({ body: { statuses: [{ entryId: entries[0]?.entryId, status: 'SUCCESS' }] } }),
  });
  await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
  await world.sidecar.pubsub.publish('pubsub', 'orders', 2);
  await world.clock.settled();

  const processed = recorded.one('process orders');
  expect(processed.parentSpanContext).toBeUndefined();
  expect(linked(processed)).toEqual(recorded.named('publish orders').map((span) => span.spanContext().spanId));
  expect(processed.attributes).toMatchObject({ 'messaging.batch.message_count': 2, 'insidecar.outcome': 'mixed' });
  expect(world.deliveries[0]?.headers['traceparent']).toBe(traceparentOf(processed));
  expect(await recorded.points('messaging.client.consumed.messages')).toMatchObject([
    { attributes: { 'insidecar.outcome': 'delivered' }, value: 1 },
    { attributes: { 'insidecar.outcome': 'retrying' }, value: 1 },
  ]);
});

test('a function in code runs within the span of its message', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry() });
  const { pubsub } = world.sidecar;
  await pubsub.subscribe('pubsub', 'first', () => pubsub.publish('pubsub', 'second', 2));
  await pubsub.publish('pubsub', 'first', 1);
  await world.clock.settled();

  expect(recorded.tree(recorded.one('publish first').spanContext().traceId)).toEqual([
    'PRODUCER publish first',
    '  CONSUMER process first',
    '    PRODUCER publish second',
  ]);
});

test('without insidecar/otel, functions and listeners run in no trace of a request', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ discovery: [] });
  const seen: unknown[] = [];
  world.sidecar.events.on('messagePublished', () => seen.push(['published', trace.getActiveSpan()]));
  await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', () => {
    seen.push(['message', trace.getActiveSpan()]);
  });
  await recorded.tracerProvider.getTracer('test').startActiveSpan('request', async (request) => {
    await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
    expect(trace.getActiveSpan()).toBe(request);
    request.end();
  });
  await world.clock.settled();
  expect(seen.toSorted()).toEqual([
    ['message', undefined],
    ['published', undefined],
  ]);
});

test('with insidecar/otel, functions and listeners have their own spans, and nothing else of a request', async () => {
  const requests = new Requests();
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ discovery: [], telemetry: recorded.telemetry() });
  const seen: unknown[] = [];
  const note = (what: string): void => {
    requests.note(what);
    seen.push([what, trace.getActiveSpan()?.spanContext().spanId]);
  };
  world.sidecar.events.on('messagePublished', () => note('published'));
  await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', () => note('message'));
  await requests.as('publisher', () => world.sidecar.pubsub.publish('pubsub', 'orders', 1));
  await world.clock.settled();
  expect(seen.toSorted()).toEqual([
    ['message', recorded.one('process orders').spanContext().spanId],
    ['published', recorded.one('publish orders').spanContext().spanId],
  ]);
  expect(requests.inRequests).toEqual({});
});

test('messages are counted and measured by topic, group and outcome', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({
    telemetry: recorded.telemetry(),
    answer: (_received, nth) => ({ status: nth === 1 ? 500 : 200 }),
  });
  await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
  await world.pass('1s');

  const messaging = {
    'insidecar.app.id': 'shop',
    'insidecar.pubsub.name': 'pubsub',
    'messaging.system': 'insidecar',
    'messaging.destination.name': 'orders',
  };
  const publish = { ...messaging, 'messaging.operation.name': 'publish' };
  const process = { ...messaging, 'messaging.operation.name': 'process', 'messaging.consumer.group.name': 'shop' };
  expect(await recorded.points('messaging.client.sent.messages')).toEqual([{ attributes: publish, value: 1 }]);
  expect(await recorded.points('messaging.client.operation.duration')).toEqual([{ attributes: publish, value: 1 }]);
  expect(await recorded.points('messaging.client.consumed.messages')).toEqual([
    { attributes: { ...process, 'error.type': '500', 'insidecar.outcome': 'retrying' }, value: 1 },
    { attributes: { ...process, 'insidecar.outcome': 'delivered' }, value: 1 },
  ]);
  expect(await recorded.points('messaging.process.duration')).toMatchObject([{ value: 1 }, { value: 1 }]);
});

test('a publish that fails says why, and counts its message with the error', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ telemetry: recorded.telemetry(), memory: { maxMessages: 1 }, discovery: [] });
  await world.sidecar.pubsub.subscribe('pubsub', 'orders', () => new Promise(() => undefined));
  await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
  await expect(world.sidecar.pubsub.publish('pubsub', 'orders', 2)).rejects.toThrow();

  expect(recorded.named('publish orders')[1]).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'ERR_PUBSUB_PUBLISH_MESSAGE' },
  });
  expect(await recorded.points('messaging.client.sent.messages')).toMatchObject([
    { value: 1 },
    { attributes: { 'error.type': 'ERR_PUBSUB_PUBLISH_MESSAGE' }, value: 1 },
  ]);
});

test('what waits in queues is counted when metrics are collected', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({
    telemetry: recorded.telemetry(),
    answer: (_received, nth) => (nth === 1 ? { status: 500 } : NEVER),
    discovery: [{ ...ORDERS, concurrency: 1, retry: { initialDelayMs: 3_600_000 }, group: 'one' }],
  });
  await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
  await world.sidecar.pubsub.publish('pubsub', 'orders', 2);
  await world.pass('5s');

  const queue = { 'messaging.destination.name': 'orders', 'messaging.consumer.group.name': 'shop/one' };
  const points = await recorded.points('insidecar.queue.messages');
  expect(points).toEqual(
    expect.arrayContaining([
      { attributes: expect.objectContaining({ ...queue, 'insidecar.queue.state': 'ready' }), value: 1 },
    ]),
  );
  expect(await recorded.points('insidecar.queue.oldest_age')).toMatchObject([{ attributes: queue, value: 5 }]);
  await world.stop();
});

test('telemetry that throws fails no publish and no delivery', async () => {
  await using recorded = new RecordedTelemetry();
  const broken = (): never => {
    throw new Error('a broken SDK');
  };
  const meter: Meter = Object.create(createNoopMeter(), { createHistogram: { value: () => ({ record: broken }) } });
  const telemetry = recorded.telemetry({ meterProvider: { getMeter: () => meter } });
  await using world = await startWorld({ telemetry, components: [durablePubSub('pubsub')] });
  propagation.disable();
  propagation.setGlobalPropagator({ inject: broken, extract: (context) => context, fields: () => [] });
  await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await world.clock.settled();
  expect(world.deliveries.map(({ json }) => json?.['data'])).toEqual([{ id: 1 }]);
  expect(world.deliveries[0]?.headers['traceparent']).toBe(traceparentOf(recorded.one('process orders')));
});

test('events in the commit of a transaction have one producer span, a child of its span', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await new OutboxWorld({ state: memoryState(), telemetry: recorded.telemetry() }).start();
  const traceparents: unknown[] = [];
  await world.sidecar.pubsub.subscribe('pubsub', 'placed', (event) => void traceparents.push(event['traceparent']));
  await world.transact({ a: 1, b: 2 });
  await world.clock.settled();

  const published = recorded.one('publish placed');
  expect(published.parentSpanContext?.spanId).toBe(recorded.one('state transact').spanContext().spanId);
  expect(published.attributes['messaging.batch.message_count']).toBe(2);
  expect(traceparents).toEqual([traceparentOf(published), traceparentOf(published)]);

  await expect(world.transact({ a: 1 }, '7')).rejects.toThrow();
  const [, refused] = recorded.named('publish placed');
  expect(refused?.status.code).toBe(SpanStatusCode.ERROR);
});
