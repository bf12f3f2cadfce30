import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { memoryPubSub, Sidecar, SidecarError } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';

test('an error prints what it has, and no empty field', () => {
  const printed = inspect(new SidecarError('ERR_NOT_FOUND', 'there is none'));
  expect(printed).toContain("code: 'ERR_NOT_FOUND'");
  expect(printed).not.toMatch(/undefined|details|failedEntries|headers|argument/);
});

test('what it has is printed, and can be read either way', () => {
  const full = new SidecarError('ERR_NOT_FOUND', 'there is none', { headers: { allow: 'GET' } });
  expect(inspect(full)).toContain("headers: { allow: 'GET' }");
  const plain = new SidecarError('ERR_NOT_FOUND', 'there is none');
  expect([plain.headers, plain.details, plain.failedEntries]).toEqual([{}, undefined, undefined]);
});

test.each<[argument: string, call: (sidecar: Sidecar) => unknown]>([
  ['options.limit', ({ jobs }) => jobs.listPage({ limit: 0 })],
  ['options.cursor', ({ jobs }) => jobs.listPage({ prefix: 'a', cursor: 'b' })],
  ['options.limit', ({ workflows }) => workflows.listPage({ limit: 0 })],
  ['by', () => virtualClock().advance(-1)],
])('a wrong argument is ERR_INVALID_ARGUMENT, which names its path: %s', async (argument, call) => {
  await using sidecar = new Sidecar({ appId: 'orders', components: [memoryPubSub('pubsub')] });
  await sidecar.start();
  await expect(Promise.resolve().then(() => call(sidecar))).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    status: 400,
    argument,
  });
});

test('a call before the start is ERR_NOT_STARTED', async () => {
  const sidecar = new Sidecar({ appId: 'orders', components: [memoryPubSub('pubsub')] });
  await expect(sidecar.pubsub.publish('pubsub', 'orders', 1)).rejects.toMatchObject({ code: 'ERR_NOT_STARTED' });
});
