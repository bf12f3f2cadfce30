import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import type { Sidecar } from '../../src/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { linked, RecordedTelemetry } from '../support/telemetry.ts';
import { workflowWorld } from '../support/workflow-world.ts';

/** A workflow that charges, waits for an event, and ships. */
function checkout({ workflows }: Sidecar): void {
  workflows.registerActivity('charge', () => 'charged');
  workflows.registerActivity('ship', () => 'shipped');
  workflows.register('checkout', async (context) => {
    await context.callActivity('charge');
    await context.waitForEvent('paid');
    return context.callActivity('ship');
  });
}

function millis([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1_000_000;
}

test('a replay after a restart makes no span again, and the workflow has its start and its end', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await workflowWorld(checkout, { telemetry: recorded.telemetry() });
  const startedAt = world.clock.now();
  await world.run('checkout');
  await world.restart(checkout, '1h');
  await world.raise('paid');

  const { traceId } = recorded.one('start checkout').spanContext();
  expect(recorded.tree(traceId)).toEqual([
    'PRODUCER start checkout',
    '  INTERNAL activity charge',
    '  INTERNAL activity ship',
    '  INTERNAL workflow checkout',
  ]);
  const workflow = recorded.one('workflow checkout');
  expect(millis(workflow.startTime)).toBe(startedAt);
  expect(millis(workflow.endTime)).toBe(startedAt + 3_600_000);
  expect(workflow.attributes).toMatchObject({
    'insidecar.workflow.name': 'checkout',
    'insidecar.workflow.instance_id': 'one',
    'insidecar.workflow.status': 'COMPLETED',
  });
});

test('the start is a producer span in the trace of its caller', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await workflowWorld(checkout, { telemetry: recorded.telemetry() });
  const tracer = recorded.tracerProvider.getTracer('test');
  await tracer.startActiveSpan('caller', async (span) => {
    await world.run('checkout');
    span.end();
  });

  const start = recorded.one('start checkout');
  expect(start.kind).toBe(SpanKind.PRODUCER);
  expect(start.parentSpanContext?.spanId).toBe(recorded.one('caller').spanContext().spanId);
});

test('each run of an endless workflow is a trace of its own, linked to the start of the one before', async () => {
  await using recorded = new RecordedTelemetry();
  const count = ({ workflows }: Sidecar): void => {
    workflows.register('count', async (context, round: number) => {
      await context.sleep('1m');
      return round === 3 ? 'done' : context.continueAsNew(round + 1);
    });
  };
  await using world = await workflowWorld(count, { telemetry: recorded.telemetry() });
  const startedAt = world.clock.now();
  await world.run('count', 1);
  await world.pass('1m');
  await world.restart();
  await world.pass('1m');
  await world.pass('1m');

  const starts = recorded.named('start count');
  const runs = recorded.named('workflow count');
  expect(runs.map(({ attributes }) => attributes['insidecar.workflow.status'])).toEqual([
    'CONTINUED_AS_NEW',
    'CONTINUED_AS_NEW',
    'COMPLETED',
  ]);
  const ids = starts.map((start) => start.spanContext().spanId);
  expect(runs.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(ids);
  expect(new Set(runs.map((run) => run.spanContext().traceId)).size).toBe(3);
  expect(starts.map(linked)).toEqual([[], [ids[0]], [ids[1]]]);
  expect(runs.map(({ startTime }) => millis(startTime))).toEqual([0, 60_000, 120_000].map((ms) => startedAt + ms));
});

test('a child is started within the trace of its parent', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await workflowWorld(
    ({ workflows }) => {
      workflows.register('child', () => 'done');
      workflows.register('parent', (context) => context.callChild('child'));
    },
    { telemetry: recorded.telemetry() },
  );
  await world.run('parent');

  expect(recorded.tree(recorded.one('start parent').spanContext().traceId)).toEqual([
    'PRODUCER start parent',
    '  PRODUCER start child',
    '    INTERNAL workflow child',
    '  INTERNAL workflow parent',
  ]);
});

test('each attempt of an activity is a span; failures of activities and workflows say why', async () => {
  await using recorded = new RecordedTelemetry();
  const stack = new Error('no stock');
  await using world = await workflowWorld(
    ({ workflows }) => {
      workflows.registerActivity('reserve', () => Promise.reject(stack));
      workflows.register('order', (context) =>
        context.callActivity('reserve', undefined, { retry: { maxRetries: 1, delay: 1_000 } }),
      );
    },
    { telemetry: recorded.telemetry() },
  );
  await world.run('order');
  await world.pass('10s');

  const attempts = recorded.named('activity reserve');
  expect(attempts.map(({ attributes }) => attributes['insidecar.attempt'])).toEqual([1, 2]);
  expect(attempts[1]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no stock' });
  expect(attempts[1]?.events.map(({ attributes }) => attributes?.['exception.message'])).toEqual(['no stock']);
  expect(recorded.one('workflow order')).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'insidecar.workflow.status': 'FAILED' },
  });
});

test('an activity runs within its span', async () => {
  await using recorded = new RecordedTelemetry();
  const tracer = recorded.tracerProvider.getTracer('test');
  await using world = await workflowWorld(
    ({ workflows }) => {
      workflows.registerActivity('charge', async () => {
        await new Promise((resolve) => setImmediate(resolve));
        tracer.startSpan('bank').end();
      });
      workflows.register('order', (context) => context.callActivity('charge'));
    },
    { telemetry: recorded.telemetry() },
  );
  await world.run('order');

  const bank = recorded.one('bank');
  expect(bank.parentSpanContext?.spanId).toBe(recorded.one('activity charge').spanContext().spanId);
});

test('an instance that was started without telemetry has a span without a parent', async () => {
  await using world = await workflowWorld(checkout);
  await world.run('checkout');
  await using recorded = new RecordedTelemetry();
  await using later = await workflowWorld(checkout, { state: world.store, telemetry: recorded.telemetry() });
  await world.stop();
  await later.pass('20s');
  await later.raise('paid');

  expect(recorded.one('workflow checkout').parentSpanContext).toBeUndefined();
  expect(recorded.one('activity ship').parentSpanContext).toBeUndefined();
});

test('workflows and activities are measured, and counted while they are there', async () => {
  await using recorded = new RecordedTelemetry();
  await using world = await workflowWorld(checkout, { telemetry: recorded.telemetry() });
  await world.run('checkout');
  expect(await recorded.points('insidecar.workflow.active')).toMatchObject([{ value: 1 }]);
  expect(await recorded.points('insidecar.shards.owned')).toMatchObject([{ value: 64 }]);
  await world.raise('paid');

  expect(await recorded.points('insidecar.workflow.duration')).toEqual([
    {
      attributes: {
        'insidecar.app.id': 'shop',
        'insidecar.workflow.name': 'checkout',
        'insidecar.workflow.status': 'COMPLETED',
      },
      value: 1,
    },
  ]);
  expect(await recorded.points('insidecar.workflow.activity.duration')).toMatchObject([
    { attributes: { 'insidecar.activity.name': 'charge' }, value: 1 },
    { attributes: { 'insidecar.activity.name': 'ship' }, value: 1 },
  ]);
  expect((await recorded.points('insidecar.state.commit.duration'))[0]?.value).toBeGreaterThan(0);
});

test.each([{ isApart: false }, { isApart: true }])(
  'workflows that run on another host go on with the trace of their start (%o)',
  async ({ isApart }) => {
    await using recorded = new RecordedTelemetry();
    await using fleet = new Fleet();
    const ids = Array.from({ length: 16 }, (_, index) => `flow-${index}`);
    const ran = [new Set<string>(), new Set<string>()];
    const members: Member[] = [];
    for (const seen of ran) {
      const member = await fleet.join({ telemetry: recorded.telemetry(), isApart });
      members.push(member);
      member.sidecar.workflows.registerActivity('note', (_input, { instanceId }) => void seen.add(instanceId));
      member.sidecar.workflows.register('flow', (context) => context.callActivity('note'));
    }
    await fleet.pass(5);
    for (const instanceId of ids) await members[0]?.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(5);

    expect(ran.map(({ size }) => size > 0)).toEqual([true, true]);
    const trees = recorded.named('start flow').map((start) => recorded.tree(start.spanContext().traceId));
    expect(trees).toEqual(
      ids.map(() => ['PRODUCER start flow', '  INTERNAL activity note', '  INTERNAL workflow flow']),
    );
  },
);
