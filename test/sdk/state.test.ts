/** The state calls of the client of `@dapr/dapr`, unmodified, over HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyValueStore, memoryPubSub, memoryState } from '../../src/index.ts';
import { type SdkWorld, sdkWorld } from './world.ts';

let world: SdkWorld;

beforeAll(async () => {
  world = await sdkWorld({
    components: [memoryPubSub('pubsub'), keyValueStore('store', { store: memoryState() })],
  });
});

afterAll(() => world[Symbol.asyncDispose]());

test('save and get; a key that does not exist is an empty text', async () => {
  const { state } = world.client;
  const items = [
    { key: 'a', value: { n: 1 } },
    { key: 'b', value: 'text', metadata: { ttlInSeconds: '100' } },
  ];
  expect(await state.save('store', items)).toEqual({});
  expect(await state.get('store', 'a')).toEqual({ n: 1 });
  expect(await state.get('store', 'b')).toBe('text');
  expect(await state.get('store', 'never')).toBe('');
  expect(await state.get('store', 'a/b')).toBe('');
});

test('save returns the error of a wrong ETag', async () => {
  const { state } = world.client;
  await state.save('store', [{ key: 'c', value: 1 }]);
  const { error } = await state.save('store', [{ key: 'c', value: 2, etag: 'x' }]);
  expect(error?.message).toContain('ERR_STATE_SAVE');
  expect(await state.get('store', 'c')).toBe(1);
});

test('getBulk', async () => {
  const { state } = world.client;
  await state.save('store', [{ key: 'd', value: [1] }]);
  expect(await state.getBulk('store', ['d', 'never'])).toEqual([
    { key: 'd', data: [1], etag: expect.any(String) },
    { key: 'never' },
  ]);
});

test('delete, with the ETag', async () => {
  const { state } = world.client;
  await state.save('store', [{ key: 'e', value: 1 }]);
  expect((await state.delete('store', 'e', { etag: 'x' })).error?.message).toContain('ERR_STATE_DELETE');
  const [found] = await state.getBulk('store', ['e']);
  expect(await state.delete('store', 'e', { etag: String(found?.['etag']) })).toEqual({});
  expect(await state.get('store', 'e')).toBe('');
});

test('transaction', async () => {
  const { state } = world.client;
  await state.save('store', [{ key: 'f', value: 1 }]);
  await state.transaction('store', [
    { operation: 'upsert', request: { key: 'g', value: { n: 1 } } },
    { operation: 'delete', request: { key: 'f' } },
  ]);
  expect([await state.get('store', 'f'), await state.get('store', 'g')]).toEqual(['', { n: 1 }]);
});

test('query', async () => {
  const { state } = world.client;
  await state.save('store', [
    { key: 'h', value: { town: 'Ulm', n: 2 } },
    { key: 'i', value: { town: 'Ulm', n: 1 } },
  ]);
  const query = { filter: { EQ: { town: 'Ulm' } }, sort: [{ key: 'n', order: 'DESC' as const }], page: { limit: 10 } };
  const { results } = await state.query('store', query);
  expect(results.map(({ key }) => key)).toEqual(['h', 'i']);
  const none = await state.query('store', { ...query, filter: { EQ: { town: 'Bonn' } } });
  expect(none).toEqual({ results: [] });
});
