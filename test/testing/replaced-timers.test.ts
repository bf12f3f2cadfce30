import { expect, test, vi } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { durablePubSub, nodeHandler, Sidecar } from '../../src/index.ts';
import { temporaryDirectory } from '../support/embedded-store.ts';
import { listen, send } from '../support/http.ts';

// Work that needs no time does not wait for the timers of a test that has replaced them.
test('publishes over HTTP, deliveries and workflows go on while the timers of a test stand still', async () => {
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [durablePubSub('pubsub')],
    state: embeddedState({ path: temporaryDirectory() }),
  });
  sidecar.workflows.register('double', async (_ctx, input: number) => 2 * input);
  await sidecar.start();
  const received: unknown[] = [];
  await sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void received.push(data));
  await using server = await listen(nodeHandler(sidecar));
  vi.useFakeTimers();
  try {
    const answer = await send(server.url, 'POST', '/v1.0/publish/pubsub/orders', { body: { id: 1 } });
    expect(answer.status).toBe(204);
    const run = async (input: number) => (await sidecar.workflows.start('double', input)).result();
    expect(await Promise.all([1, 2, 3].map(run))).toEqual([2, 4, 6]);
    await expect.poll(() => received).toEqual([{ id: 1 }]);
  } finally {
    vi.useRealTimers();
    await sidecar.stop();
  }
});
