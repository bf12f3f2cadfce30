import { SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { type BindingEventInfo, cronBinding, type FailureInfo } from '../../src/index.ts';
import { BindingError } from '../../src/kit/index.ts';
import { type AppRequest, bindingsWorld, OwnBinding } from '../support/bindings-world.ts';
import { linked, RecordedTelemetry, traceparentOf } from '../support/telemetry.ts';

const APP = { 'insidecar.app.id': 'shop' };
const event = (metadata: Readonly<Record<string, string>> = {}) => ({ data: Buffer.from('1'), metadata });
const INPUT = { options: { direction: ['input'] } } as const;

test('an event is a trace of its own, which the application gets; a failed one has its status', async () => {
  await using recorded = new RecordedTelemetry();
  const own = new OwnBinding();
  const answer = ({ method }: AppRequest, nth: number) =>
    method === 'POST' && nth === 1 ? { status: 503 } : undefined;
  const components = [own.definition('in', INPUT)];
  await using world = await bindingsWorld({ telemetry: recorded.telemetry(), answer, components });
  await expect(own.deliver?.(event())).rejects.toThrow('503');
  await own.deliver?.(event());
  const [failed, accepted] = recorded.named('binding in');
  expect(failed?.parentSpanContext).toBeUndefined();
  expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the application answered 503' });
  expect(failed?.attributes).toMatchObject({ ...APP, 'insidecar.binding.name': 'in', 'error.type': '503' });
  expect(accepted?.attributes).not.toHaveProperty('error.type');
  expect(world.delivered.map(({ headers }) => headers['traceparent'])).toEqual(
    [failed, accepted].map((span) => span && traceparentOf(span)),
  );
  const name = { ...APP, 'insidecar.binding.name': 'in' };
  expect(await recorded.points('insidecar.binding.delivery.duration')).toEqual([
    { attributes: { ...name, 'error.type': '503' }, value: 1 },
    { attributes: name, value: 1 },
  ]);
});

test('an event with a trace of its own belongs to it', async () => {
  await using recorded = new RecordedTelemetry();
  const own = new OwnBinding();
  const telemetry = recorded.telemetry();
  await using _world = await bindingsWorld({ telemetry, components: [own.definition('in', INPUT)] });
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  await own.deliver?.(event({ traceparent: `00-${traceId}-${spanId}-01` }));
  const span = recorded.one('binding in');
  expect([span.spanContext().traceId, span.parentSpanContext?.spanId, linked(span)]).toEqual([
    traceId,
    spanId,
    [spanId],
  ]);
});

test('code runs within the span of its event, and calls of bindings are spans', async () => {
  await using recorded = new RecordedTelemetry();
  const own = new OwnBinding();
  const components = [cronBinding('tick', { schedule: '@every 10s' }), own.definition('out')];
  await using world = await bindingsWorld({ telemetry: recorded.telemetry(), components, hasApp: false });
  own.answer = ({ operation }) => (operation === 'get' ? Promise.reject(new BindingError('no')) : undefined);
  const { bindings } = world.sidecar;
  bindings.on('tick', async () => {
    await bindings.invoke('out', { operation: 'create' });
    await bindings.invoke('out', { operation: 'get' }).catch(() => undefined);
  });
  await world.pass('10s');
  const tick = recorded.one('binding tick');
  expect(recorded.tree(tick.spanContext().traceId)).toEqual([
    'CONSUMER binding tick',
    '  CLIENT bindings create',
    '  CLIENT bindings get',
  ]);
  expect(own.calls[0]?.traceHeaders['traceparent']).toBe(traceparentOf(recorded.one('bindings create')));
  const called = { ...APP, 'insidecar.store.block': 'bindings', 'insidecar.store.name': 'out' };
  expect(await recorded.points('insidecar.store.operation.duration')).toEqual([
    { attributes: { ...called, 'insidecar.store.action': 'create' }, value: 1 },
    { attributes: { ...called, 'insidecar.store.action': 'get', 'error.type': 'BindingError' }, value: 1 },
  ]);
});

test('sidecar.events tell of each delivery, after the retries of a policy', async () => {
  const own = new OwnBinding();
  const resiliency = {
    policies: { retries: { again: { policy: 'constant', duration: '1s', maxRetries: 1 } } },
    targets: { components: { in: { inbound: { retry: 'again' } } } },
  } as const;
  const answer = ({ method }: AppRequest, nth: number) => (method === 'POST' && nth <= 3 ? { status: 500 } : undefined);
  await using world = await bindingsWorld({ answer, resiliency, components: [own.definition('in', INPUT)] });
  const delivered: BindingEventInfo[] = [];
  const failed: (BindingEventInfo & FailureInfo)[] = [];
  world.sidecar.events.on('bindingDelivered', (info) => delivered.push(info));
  world.sidecar.events.on('bindingFailed', (info) => failed.push(info));
  const inTime = async (delivery: Promise<void> | undefined): Promise<string> => {
    let outcome = '';
    void delivery?.then(
      () => {
        outcome = 'accepted';
      },
      () => {
        outcome = 'failed';
      },
    );
    await expect
      .poll(async () => {
        await world.clock.advance('100ms');
        return outcome;
      })
      .not.toBe('');
    return outcome;
  };
  expect(await inTime(own.deliver?.(event()))).toBe('failed');
  expect(failed).toMatchObject([{ bindingName: 'in', reason: 'the application answered 500', error: { status: 500 } }]);
  expect(failed[0]?.durationMs).toBeGreaterThanOrEqual(1_000);
  expect(await inTime(own.deliver?.(event()))).toBe('accepted');
  expect(delivered).toMatchObject([{ bindingName: 'in' }]);
});
