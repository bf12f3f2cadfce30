import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { isTracingSuppressed } from '@opentelemetry/core';
import { expect, test } from 'vitest';
import { type AppPolicies, memoryState, nodeHandler, Sidecar, sharedState } from '../../src/index.ts';
import { listen, send } from '../support/http.ts';
import { type InvocationWorld, startInvocation } from '../support/invocation-world.ts';
import { TestSidecar } from '../support/sidecar.ts';
import { RecordedTelemetry, traceparentOf } from '../support/telemetry.ts';

test('each attempt of a call is a client span; a later one says how often it was sent before', async () => {
  await using recorded = new RecordedTelemetry();
  const got: unknown[] = [];
  await using bank = await listen((req, res) => {
    got.push(req.headers['traceparent']);
    res.writeHead(got.length === 1 ? 503 : 200).end();
  });
  await using world = await startInvocation({
    via: 'nowhere',
    telemetry: recorded.telemetry(),
    httpEndpoints: [{ name: 'bank', baseUrl: bank.url }],
    resiliency: {
      policies: { retries: { again: { policy: 'constant', duration: '1s', maxRetries: 3 } } },
      targets: { apps: { bank: { retry: 'again' } } },
    },
  });
  const replied = world.sidecar.invocation.invoke('bank', 'pay', { method: 'POST' });
  await expect.poll(() => got.length).toBe(1);
  await world.pass('2s');
  expect((await replied).status).toBe(200);

  const spans = recorded.named('POST bank');
  expect(spans.map(({ kind, attributes, status }) => [kind, attributes, status.code])).toEqual([
    [
      SpanKind.CLIENT,
      {
        'insidecar.app.id': 'shop',
        'http.request.method': 'POST',
        'service.peer.name': 'bank',
        'server.address': 'bank',
        'http.response.status_code': 503,
        'error.type': '503',
      },
      SpanStatusCode.ERROR,
    ],
    [
      SpanKind.CLIENT,
      {
        'insidecar.app.id': 'shop',
        'http.request.method': 'POST',
        'service.peer.name': 'bank',
        'server.address': 'bank',
        'http.request.resend_count': 1,
        'http.response.status_code': 200,
      },
      SpanStatusCode.UNSET,
    ],
  ]);
  expect(got).toEqual(spans.map(traceparentOf));
  expect(await recorded.points('insidecar.resiliency.retries')).toEqual([
    {
      attributes: { 'insidecar.app.id': 'shop', 'insidecar.target.type': 'app', 'insidecar.target': 'bank' },
      value: 1,
    },
  ]);
  expect(await recorded.points('http.client.request.duration')).toMatchObject([{ value: 1 }, { value: 1 }]);
});

test('a call of a sidecar in this process is a server span there, and its application runs within it', async () => {
  await using recorded = new RecordedTelemetry();
  const telemetry = recorded.telemetry();
  const active: unknown[] = [];
  const state = sharedState(memoryState());
  await using callee = await startInvocation({
    state,
    telemetry,
    callee: (_req, res) => {
      active.push(trace.getSpan(context.active())?.spanContext().spanId, isTracingSuppressed(context.active()));
      res.end();
    },
  });
  await using caller = await new TestSidecar({ appId: 'till', state, telemetry }).start();
  await caller.sidecar.invocation.invoke('shop', 'stock');

  const call = recorded.one('GET shop');
  const served = recorded.one('GET /v1.0/invoke/**call');
  expect(served.parentSpanContext?.spanId).toBe(call.spanContext().spanId);
  expect(active).toEqual([served.spanContext().spanId, false]);
  expect(callee.app.last.headers['traceparent']).toBe(traceparentOf(served));
});

test('the transport of a call is not traced again by an instrumented client', async () => {
  await using recorded = new RecordedTelemetry();
  const suppressed: boolean[] = [];
  const { channel } = await import('node:diagnostics_channel');
  const seen = (): void => void suppressed.push(isTracingSuppressed(context.active()));
  channel('undici:request:create').subscribe(seen);
  await using bank = await listen((_req, res) => res.end());
  await using world = await startInvocation({ via: 'nowhere', telemetry: recorded.telemetry() });
  await world.sidecar.invocation.invoke(bank.url, 'pay');
  channel('undici:request:create').unsubscribe(seen);

  expect(suppressed).toEqual([true]);
  expect(recorded.one(`GET ${new URL(bank.url).host}`).attributes['server.address']).toBe(new URL(bank.url).host);
});

test('a request that is traced already gets no span of its own, but its route', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startInvocation({ telemetry: recorded.telemetry() });
  const tracer = recorded.tracerProvider.getTracer('test');
  await using server = await listen((req, res) =>
    tracer.startActiveSpan('framework', (span) => {
      res.on('finish', () => span.end());
      nodeHandler(world.sidecar)(req, res);
    }),
  );
  await send(server.url, 'GET', '/v1.0/metadata');
  await expect.poll(() => recorded.spans.length).toBe(1);

  expect(recorded.one('framework').attributes['http.route']).toBe('/v1.0/metadata');
});

test('a request that the caller got wrong is no error of the server; health checks are not traced', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await startInvocation({ telemetry: recorded.telemetry() });
  await world.send('GET', '/v1.0/healthz');
  await world.send('POST', '/v1.0/publish/none/orders', { body: '1' });

  expect(recorded.spans.map(({ name, status, attributes }) => [name, status.code, attributes])).toEqual([
    [
      'POST /v1.0/publish/:pubsubName/*topic',
      SpanStatusCode.UNSET,
      {
        'insidecar.app.id': 'shop',
        'http.request.method': 'POST',
        'http.route': '/v1.0/publish/:pubsubName/*topic',
        'http.response.status_code': 404,
        'url.path': '/v1.0/publish/none/orders',
        'url.scheme': 'http',
        'error.type': 'ERR_PUBSUB_NOT_FOUND',
      },
    ],
  ]);
  expect(await recorded.points('http.server.request.duration')).toMatchObject([
    { attributes: { 'http.route': '/v1.0/publish/:pubsubName/*topic', 'http.response.status_code': 404 }, value: 1 },
  ]);
});

/** A shop that fails, behind circuit breakers that open at once. */
function guardedShop(recorded: RecordedTelemetry, policies: AppPolicies = {}): Promise<InvocationWorld> {
  return startInvocation({
    telemetry: recorded.telemetry(),
    callee: (_req, res) => void res.writeHead(500).end(),
    resiliency: {
      policies: { circuitBreakers: { guard: { trip: 'consecutiveFailures >= 1', timeout: '1m' } } },
      targets: { apps: { shop: { circuitBreaker: 'guard', ...policies } } },
    },
  });
}

test('the state of a circuit breaker and the health of the application are metrics', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await guardedShop(recorded);
  await world.sidecar.invocation.invoke('shop', 'stock');

  expect(await recorded.points('insidecar.resiliency.breaker.state')).toEqual([
    {
      attributes: {
        'insidecar.app.id': 'shop',
        'insidecar.target.type': 'app',
        'insidecar.target': 'shop',
        'insidecar.endpoint': '/stock',
        'insidecar.policy': 'guard',
      },
      value: 2,
    },
  ]);
  expect(await recorded.points('insidecar.app.healthy')).toMatchObject([{ value: 1 }]);
});

test('a circuit breaker that is dropped for others is no metric any more; one that has had its time is half-open', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await guardedShop(recorded, { circuitBreakerCacheSize: 2 });
  for (const path of ['a', 'b', 'c', 'd']) await world.sidecar.invocation.invoke('shop', path);
  const states = async (): Promise<unknown> =>
    (await recorded.points('insidecar.resiliency.breaker.state'))
      .map(({ attributes, value }) => [
        (attributes as { readonly [name: string]: unknown })['insidecar.endpoint'],
        value,
      ])
      .sort();
  expect(await states()).toEqual([
    ['/c', 2],
    ['/d', 2],
  ]);
  await world.clock.advance('61s');
  expect(await states()).toEqual([
    ['/c', 1],
    ['/d', 1],
  ]);
});

test('options that there are not are refused', () => {
  expect(() => new Sidecar({ appId: 'shop', telemetry: {} as never })).toThrow('options.telemetry');
});
