/** Bindings with the package `@dapr/dapr`, unmodified, over HTTP. */
import { expect, test, vi } from 'vitest';
import { OwnBinding } from '../support/bindings-world.ts';
import { PATIENCE, sdkWorld } from './world.ts';

test('its client calls an output binding, and its server receives events', async () => {
  const own = new OwnBinding();
  own.answer = () => ({ data: Buffer.from('{"id":7}') });
  const received: unknown[] = [];
  await using world = await sdkWorld({
    components: [own.definition('own')],
    listens: (server) => server.binding.receive('own', async (data: unknown) => void received.push(data)),
  });
  expect(await world.client.binding.send('own', 'create', { n: 1 }, { key: 'a' })).toEqual({ id: 7 });
  const [call] = own.calls;
  expect([Buffer.from(call?.data ?? []).toString(), { ...call?.metadata }]).toEqual(['{"n":1}', { key: 'a' }]);
  await vi.waitUntil(() => own.deliver, PATIENCE);
  await own.deliver?.({ data: Buffer.from('{"n":2}'), metadata: {} });
  expect(received).toEqual([{ n: 2 }]);
});
