/** Another library of the process may have given all objects a field that can be enumerated. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineWorkflow, memoryPubSub, Sidecar } from '../../src/index.ts';
import { RecordingLogger } from '../support/logger.ts';

const all: Record<string, unknown> = Object.prototype as never;

beforeEach(() => {
  all['extra'] = () => 'of another library';
});
afterEach(() => {
  delete all['extra'];
});

test('options are accepted, and workflows run, when all objects have one more field', async () => {
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [memoryPubSub('pubsub')],
    logger: new RecordingLogger(),
    workflows: { retention: { completedMs: 60_000 } },
  });
  const flow = defineWorkflow('flow', (ctx, input: object) => ctx.waitForEvent('go').then(() => input));
  sidecar.workflows.register(flow);
  await sidecar.start();
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 }, { ttlMs: 60_000 });
  const id = await sidecar.workflows.start(flow, { id: 2 }, { instanceId: 'one' });
  await sidecar.workflows.raiseEvent(id, 'go');
  expect(JSON.stringify((await sidecar.workflows.waitForCompletion(id)).output)).toBe('{"id":2}');
  await sidecar.stop();
});
