/** Values of another realm, as those of tests under Jest are, and what JSON would write as members by index. */
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { startWorld } from '../support/world.ts';

const foreign = (expression: string): unknown => runInNewContext(expression);
const ARRAYS = [
  'Int8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint32Array',
  'Float64Array',
  'BigInt64Array',
] as const;

test('bytes of another realm are published as bytes', async () => {
  await using world = await startWorld();
  const bytes = foreign('new Uint8Array([0, 65, 66, 255, 0]).subarray(1, 4)');
  expect(bytes).not.toBeInstanceOf(Uint8Array);
  await world.sidecar.pubsub.publish('pubsub', 'orders', bytes);
  const headers = { 'content-type': 'application/octet-stream' };
  await world.sidecar.handle(request('POST', '/v1.0/publish/pubsub/orders', { headers, body: bytes }));
  await world.pass(0);
  expect(world.deliveries.map(({ text }) => JSON.parse(text).data_base64)).toEqual(['QUL/', 'QUL/']);
});

test.each(ARRAYS)(
  'a %s is no JSON, and refused by name in place of an object with a member for each number',
  async (name) => {
    await using world = await startWorld();
    for (const array of [foreign(`new ${name}(2)`), new globalThis[name](2)]) {
      for (const data of [array, { list: [array] }])
        await expect(world.sidecar.pubsub.publish('pubsub', 'orders', data)).rejects.toThrow(`${name}`);
      await expect(world.sidecar.jobs.schedule('report', { dueTime: '1h', data: { array } })).rejects.toThrow(name);
    }
    expect(world.deliveries).toEqual([]);
  },
);

test('bytes in data of a job or in an object are no JSON, and refused by name', async () => {
  await using world = await startWorld();
  for (const bytes of [foreign('new Uint8Array(2)'), new Uint8Array(2)]) {
    await expect(world.sidecar.pubsub.publish('pubsub', 'orders', { bytes })).rejects.toThrow('a Uint8Array at bytes');
    const scheduled = world.sidecar.jobs.schedule('report', { dueTime: '1h', data: bytes });
    await expect(scheduled).rejects.toThrow('a Uint8Array');
  }
});
