import { SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { Actor, type ActorTickContext } from '../../src/index.ts';
import { TestSidecar } from '../support/sidecar.ts';
import { RecordedTelemetry } from '../support/telemetry.ts';

class Cart extends Actor {
  start(): void {
    this.reminders.set('expire', { dueTime: '1h', retry: { delay: '1m' } });
    this.timers.set('flush', { dueTime: '1s' });
  }

  override onReminder(_name: string, _data: unknown, { attempt }: ActorTickContext): void {
    if (attempt === 1) throw new TypeError('not yet');
  }
}

test('a turn is a span: of a call in the trace of its caller, of a reminder and a timer in one of its own', async () => {
  await using recorded = new RecordedTelemetry();
  await using own = new TestSidecar({ telemetry: recorded.telemetry() });
  own.sidecar.actors.register(Cart);
  await own.start();
  const tracer = recorded.tracerProvider.getTracer('test');
  await tracer.startActiveSpan('caller', async (span) => {
    await own.sidecar.actors.get(Cart, 'a').start();
    span.end();
  });
  await own.clock.advance('2h');
  await own.clock.settled();

  const call = recorded.one('Cart/start');
  expect(call.parentSpanContext?.spanId).toBe(recorded.one('caller').spanContext().spanId);
  expect(call.attributes).toMatchObject({ 'insidecar.actor.type': 'Cart', 'insidecar.actor.id': 'a' });
  const timer = recorded.one('timer Cart/flush');
  expect([timer.parentSpanContext, timer.status.code]).toEqual([undefined, SpanStatusCode.UNSET]);
  const [first, second] = recorded.named('reminder Cart/expire');
  expect(first?.status).toMatchObject({ code: SpanStatusCode.ERROR, message: expect.stringContaining('not yet') });
  expect([second?.parentSpanContext, second?.status.code]).toEqual([undefined, SpanStatusCode.UNSET]);
});
