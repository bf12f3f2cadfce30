/** The calls of the client of `@dapr/dapr` for secrets and locks, unmodified, over HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environmentSecrets, memoryLocks } from '../../src/index.ts';
import { type SdkWorld, sdkWorld } from './world.ts';

let world: SdkWorld;

beforeAll(async () => {
  world = await sdkWorld({
    components: [environmentSecrets('secrets', { environment: { A: '1', B: '2' } }), memoryLocks('locks')],
  });
});

afterAll(() => world[Symbol.asyncDispose]());

test('secret.get and secret.getBulk', async () => {
  const { secret } = world.client;
  expect(await secret.get('secrets', 'A')).toEqual({ A: '1' });
  expect(await secret.get('secrets', 'A', 'metadata.version=1')).toEqual({ A: '1' });
  expect(await secret.getBulk('secrets')).toEqual({ A: { A: '1' }, B: { B: '2' } });
});

test('lock.lock and lock.unlock', async () => {
  const { lock } = world.client;
  expect(await lock.lock('locks', 'r', 'me', 60)).toEqual({ success: true });
  expect(await lock.lock('locks', 'r', 'you', 60)).toEqual({ success: false });
  expect(await lock.unlock('locks', 'r', 'you')).toEqual({ status: 2 });
  expect(await lock.unlock('locks', 'r', 'me')).toEqual({ status: 0 });
  expect(await lock.unlock('locks', 'r', 'me')).toEqual({ status: 1 });
});
