import { expect, test } from 'vitest';
import { memoryPubSub, nodeHandler, Sidecar } from '../../src/index.ts';
import { listen, send } from '../support/http.ts';
import { RecordedTelemetry, traceparentOf } from '../support/telemetry.ts';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

test('one trace goes through publish over HTTP, delivery, workflow, activity, invocation and the second service', async () => {
  await using recorded = new RecordedTelemetry();
  const telemetry = recorded.telemetry();
  const charged: (string | undefined)[] = [];
  await using billing = await listen((req, res) => {
    if (req.url === '/charge') charged.push(req.headers['traceparent'] as string | undefined);
    res.writeHead(req.url === '/charge' ? 200 : 404).end();
  });
  await using second = new Sidecar({ appId: 'billing', app: { port: billing.port }, telemetry });
  await using secondPort = await listen(nodeHandler(second));
  await second.start();
  await second.ready();
  await using first = new Sidecar({
    appId: 'orders',
    components: [memoryPubSub('pubsub')],
    nameResolution: { static: { billing: secondPort.url } },
    telemetry,
  });
  first.workflows.registerActivity('charge', async () => {
    await first.invocation.invoke('billing', 'charge', { method: 'POST', body: { orderId: 1 } });
  });
  first.workflows.register('checkout', async (context) => {
    await context.callActivity('charge');
    return 'charged';
  });
  const done = new Promise<void>((resolve) => first.events.on('workflowCompleted', () => resolve()));
  await first.start();
  await first.pubsub.subscribe('pubsub', 'orders', async () => {
    await first.workflows.start('checkout', undefined, { instanceId: 'one' });
  });
  await using port = await listen(nodeHandler(first));

  const answer = await send(port.url, 'POST', '/v1.0/publish/pubsub/orders', {
    headers: { 'content-type': 'application/json', traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` },
    body: '{"id":1}',
  });
  await done;
  await expect.poll(() => recorded.named('process orders').length).toBe(1);

  expect(answer.status).toBe(204);
  expect(recorded.tree(CALLER.traceId)).toEqual([
    'SERVER POST /v1.0/publish/:pubsubName/*topic',
    '  PRODUCER publish orders',
    '    CONSUMER process orders',
    '      PRODUCER start checkout',
    '        INTERNAL activity charge',
    '          CLIENT POST billing',
    '            SERVER POST /v1.0/invoke/**call',
    '        INTERNAL workflow checkout',
  ]);
  expect(recorded.one('POST /v1.0/publish/:pubsubName/*topic').parentSpanContext?.spanId).toBe(CALLER.spanId);
  expect(charged).toEqual([traceparentOf(recorded.one('POST /v1.0/invoke/**call'))]);
});
