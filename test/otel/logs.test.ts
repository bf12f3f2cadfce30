import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { memoryPubSub, Sidecar } from '../../src/index.ts';
import { RecordedTelemetry } from '../support/telemetry.ts';

let lines: Record<string, unknown>[];

beforeEach(() => {
  lines = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((line) => {
    lines.push(JSON.parse(String(line)) as Record<string, unknown>);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

test('a line of the default logger about a message has the IDs of the span of its attempt', async () => {
  await using recorded = new RecordedTelemetry();
  await using sidecar = new Sidecar({
    appId: 'shop',
    components: [memoryPubSub('pubsub')],
    telemetry: recorded.telemetry(),
  });
  await sidecar.start();
  await sidecar.pubsub.subscribe('pubsub', 'orders', () => 'DROP');
  await sidecar.pubsub.publish('pubsub', 'orders', 1);
  await expect.poll(() => recorded.named('process orders').length).toBe(1);

  const { traceId, spanId } = recorded.one('process orders').spanContext();
  expect(lines.filter(({ msg }) => msg === 'message not processed')).toMatchObject([
    { trace_id: traceId, span_id: spanId, trace_flags: '01' },
  ]);
});

test('a line outside of any trace has none', async () => {
  await using recorded = new RecordedTelemetry();
  new Sidecar({ appId: 'shop', apiToken: 'same', appToken: 'same', telemetry: recorded.telemetry() });
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toHaveProperty('trace_id');
});
