import { SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { JobsWorld } from '../support/jobs-world.ts';
import { linked, RecordedTelemetry, traceparentOf } from '../support/telemetry.ts';
import { startWorld } from '../support/world.ts';

test('a run is a trace of its own, linked to the code that scheduled the job, also after a restart', async () => {
  await using recorded = new RecordedTelemetry();
  const tracer = recorded.tracerProvider.getTracer('test');
  await using world = await new JobsWorld({ telemetry: recorded.telemetry() }).start();
  world.handleAll('rep*');
  await tracer.startActiveSpan('caller', async (span) => {
    await world.sidecar.jobs.schedule('report', { dueTime: '1h' });
    span.end();
  });
  await world.restart('30m', false);
  world.run = () => tracer.startSpan('within').end();
  world.handleAll('rep*');
  await world.pass('1h');

  const run = recorded.one('job report');
  expect(run.parentSpanContext).toBeUndefined();
  expect(linked(run)).toEqual([recorded.one('caller').spanContext().spanId]);
  expect(run.attributes).toMatchObject({
    'insidecar.job.name': 'report',
    'insidecar.job.handler': 'rep*',
    'insidecar.attempt': 1,
    'insidecar.job.due_at': '2026-01-01T01:00:00.000Z',
    'insidecar.outcome': 'done',
  });
  expect(recorded.one('within').parentSpanContext?.spanId).toBe(run.spanContext().spanId);
});

test('each attempt is a span; a failed one says why', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await new JobsWorld({ telemetry: recorded.telemetry() }).start();
  world.run = (_, { attempt }) => {
    if (attempt === 1) throw new TypeError('no paper');
  };
  world.handleAll();
  await world.sidecar.jobs.schedule('report', { dueTime: '1h' });
  await world.pass('2h');

  const [first, second] = recorded.named('job report');
  expect(first?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no paper' });
  expect(first?.attributes).toMatchObject({ 'error.type': 'TypeError', 'insidecar.outcome': 'failed' });
  expect(second?.attributes).toMatchObject({ 'insidecar.attempt': 2, 'insidecar.outcome': 'done' });
  const handler = { 'insidecar.app.id': 'shop', 'insidecar.job.handler': '*' };
  expect(await recorded.points('insidecar.job.run.duration')).toEqual([
    { attributes: { ...handler, 'error.type': 'TypeError', 'insidecar.outcome': 'failed' }, value: 1 },
    { attributes: { ...handler, 'insidecar.outcome': 'done' }, value: 1 },
  ]);
  expect(await recorded.points('insidecar.job.run.lag')).toMatchObject([{ value: 1 }]);
});

test.each(['port', 'process'] as const)('the application gets the trace of the run over the %s', async (via) => {
  await using recorded = new RecordedTelemetry();
  await using world = await startWorld({ via, telemetry: recorded.telemetry() });
  await world.sidecar.jobs.schedule('report', { dueTime: '1s' });
  await world.pass('2s');

  expect(world.at('/job/report')[0]?.headers['traceparent']).toBe(traceparentOf(recorded.one('job report')));
});
