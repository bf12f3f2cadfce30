import { describe, expect, test } from 'vitest';
import { isSidecarError, keyValueStore } from '../../../src/index.ts';
import { startStateWorld } from '../../support/state-world.ts';

interface Order {
  readonly total: number;
}

const errorOf = (promise: Promise<unknown>): Promise<readonly unknown[]> =>
  promise.then(
    () => ['no error'],
    (error: unknown) => (isSidecarError(error) ? [error.status, error.code] : [error]),
  );

describe('sidecar.state', () => {
  test('set returns the ETag that get and HTTP return', async () => {
    await using world = await startStateWorld();
    const { state } = world.sidecar;
    const { etag } = await state.set('own', 'a', { total: 5 });
    expect(await state.get<Order>('own', 'a')).toEqual({ value: { total: 5 }, etag });
    expect((await world.send('GET', '/v1.0/state/own/a')).headers['etag']).toBe(etag);
    expect(await state.get('own', 'never')).toBeUndefined();
  });

  test('conditions hold, or are 409 with the code of the operation', async () => {
    await using world = await startStateWorld();
    const { state } = world.sidecar;
    const { etag } = await state.set('own', 'a', 1, { ifAbsent: true });
    expect(await errorOf(state.set('own', 'a', 2, { ifAbsent: true }))).toEqual([409, 'ERR_STATE_SAVE']);
    const next = await state.set('own', 'a', 2, { etag });
    expect(await errorOf(state.set('own', 'a', 3, { etag }))).toEqual([409, 'ERR_STATE_SAVE']);
    expect(await errorOf(state.delete('own', 'a', { etag }))).toEqual([409, 'ERR_STATE_DELETE']);
    await state.delete('own', 'a', next);
    expect(await state.get('own', 'a')).toBeUndefined();
  });

  test('ttl is milliseconds or a duration, and moves with the clock', async () => {
    await using world = await startStateWorld();
    const { state } = world.sidecar;
    await state.set('own', 'a', 1, { ttl: '1m30s' });
    await state.set('own', 'b', 1, { ttl: 500 });
    expect((await state.get('own', 'a'))?.expiresAt).toBe(world.clock.now() + 90_000);
    await world.clock.advance(500);
    expect(await state.getMany('own', ['b', 'a'])).toEqual([undefined, expect.objectContaining({ value: 1 })]);
  });

  test('update reads and writes until nobody was in between', async () => {
    await using world = await startStateWorld();
    const { state } = world.sidecar;
    const add = (): Promise<unknown> => state.update<number>('own', 'n', (n = 0) => n + 1, { maxAttempts: 100 });
    await Promise.all(Array.from({ length: 20 }, add));
    expect((await state.get('own', 'n'))?.value).toBe(20);
    const unchanged = await state.update<number>('own', 'n', () => undefined);
    expect(unchanged?.value).toBe(20);
    const never = state.update<number>('own', 'n', async (n = 0) => {
      await state.set('own', 'n', n);
      return n + 1;
    });
    expect(await errorOf(never)).toEqual([409, 'ERR_STATE_SAVE']);
  });

  test('an empty ETag is that of no value, since all have one here', async () => {
    await using world = await startStateWorld();
    const { state } = world.sidecar;
    for (const store of ['own', 'memory']) {
      await state.set(store, 'a', 1);
      expect(await errorOf(state.set(store, 'a', 2, { etag: '' }))).toEqual([409, 'ERR_STATE_SAVE']);
      expect(await errorOf(state.set(store, 'b', 2, { etag: '' }))).toEqual([409, 'ERR_STATE_SAVE']);
      expect(await errorOf(state.delete(store, 'a', { etag: '' }))).toEqual([409, 'ERR_STATE_DELETE']);
      expect(await world.read(store, 'a')).toBe(1);
    }
  });

  test('transact does all or nothing, and returns the ETags', async () => {
    await using world = await startStateWorld();
    const { state } = world.sidecar;
    const etags = await state.transact('own', [
      { operation: 'upsert', key: 'a', value: 1 },
      { operation: 'upsert', key: 'b', value: 2, ifAbsent: true },
      { operation: 'delete', key: 'c' },
    ]);
    expect((await state.get('own', 'b'))?.etag).toBe(etags.get('b'));
    const wrong = state.transact('own', [
      { operation: 'upsert', key: 'a', value: 5 },
      { operation: 'delete', key: 'b', etag: `${etags.get('b')}x` },
    ]);
    expect(await errorOf(wrong)).toEqual([409, 'ERR_STATE_TRANSACTION']);
    expect((await state.get('own', 'a'))?.value).toBe(1);
  });

  test.each<
    readonly [string, (state: Awaited<ReturnType<typeof startStateWorld>>['sidecar']['state']) => Promise<unknown>]
  >([
    ['a function', (state) => state.set('own', 'a', () => 1)],
    ['undefined', (state) => state.set('own', 'a', undefined)],
    ['a BigInt', (state) => state.set('own', 'a', { n: 1n })],
    ['an unknown option', (state) => state.set('own', 'a', 1, { ttlMs: 5 } as object)],
    ['a wrong TTL', (state) => state.set('own', 'a', 1, { ttl: '3 days' as never })],
    ['a negative TTL', (state) => state.set('own', 'a', 1, { ttl: -1 })],
    ['a TTL of too long', (state) => state.set('own', 'a', 1, { ttl: 2 ** 31 * 1_000 })],
    ['an ETag that is no text', (state) => state.set('own', 'a', 1, { etag: 5 as unknown as string })],
    ['an ETag and ifAbsent', (state) => state.set('own', 'a', 1, { etag: 'x', ifAbsent: true })],
    ['an empty key', (state) => state.get('own', '')],
    ['no key', (state) => state.get('own', undefined as unknown as string)],
    ['keys that are no list', (state) => state.getMany('own', 'a' as unknown as string[])],
    ['an operation that is no text', (state) => state.transact('own', [{ operation: 5, key: 'a' } as never])],
  ])('%s is refused', async (_, call) => {
    await using world = await startStateWorld();
    expect(await errorOf(call(world.sidecar.state))).toEqual([400, 'ERR_INVALID_ARGUMENT']);
    expect(await world.read('own', 'a')).toBeUndefined();
  });

  test.each([{ operation: 'put', key: 'a' }, { key: 'a' }])(
    'the operation of %j is refused as over HTTP',
    async (one) => {
      await using world = await startStateWorld();
      const call = world.sidecar.state.transact('own', [one as never]);
      expect(await errorOf(call)).toEqual([400, 'ERR_NOT_SUPPORTED_STATE_OPERATION']);
    },
  );

  test('an unknown store lists those that there are', async () => {
    await using world = await startStateWorld();
    await expect(world.sidecar.state.get('onw', 'a')).rejects.toThrow(
      'state store onw is not found: expected memory, own; did you mean "own"?',
    );
  });
});

describe('key prefixes', () => {
  test.each([
    [undefined, 'shop||a'],
    ['appid', 'shop||a'],
    ['AppId', 'shop||a'],
    ['name', 'kv||a'],
    ['none', 'a'],
    ['Planets', 'planets||a'],
    ['namespace', 'shop||a'],
  ])('%s: %s', async (keyPrefix, expected) => {
    const keys: string[] = [];
    const own = keyValueStore('kv', keyPrefix === undefined ? {} : { keyPrefix });
    const spied: typeof own = {
      ...own,
      open: async (context) => {
        const store = await own.open(context);
        return new Proxy(store, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name);
            if (name === 'read')
              return (read: readonly string[]) => {
                keys.push(...read);
                return target.read(read);
              };
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
      },
    };
    await using world = await startStateWorld({ components: [spied] });
    await world.sidecar.state.set('kv', 'a', 1);
    expect((await world.sidecar.state.get('kv', 'a'))?.value).toBe(1);
    expect(keys).toEqual([expected]);
  });

  test('one with || is refused', () => {
    expect(() => keyValueStore('kv', { keyPrefix: 'a||b' })).toThrow(/keyPrefix in .* is "a\|\|b": .*without \|\|/);
  });
});

describe('encryption', () => {
  const primaryEncryptionKey = { name: 'new', key: '0123456789abcdef0123456789ABCDEF' };
  const secondaryEncryptionKey = { name: 'old', key: 'f'.repeat(64) };

  test('what is stored is not the value; what is read is', async () => {
    const plain = keyValueStore('plain', { keyPrefix: 'none' });
    const secret = keyValueStore('secret', { keyPrefix: 'none', primaryEncryptionKey });
    // The same keys under another name.
    const sameKeys = { ...plain, name: 'raw', open: secret.open };
    await using world = await startStateWorld({ components: [secret, sameKeys] });
    const { state } = world.sidecar;
    for (const value of ['text', { a: 1 }, null, 1.5]) {
      await state.set('secret', 'a', value);
      expect((await state.get('secret', 'a'))?.value).toEqual(value);
      const stored = await world.send('GET', '/v1.0/state/raw/a');
      expect(stored.headers['content-type']).toBe('application/octet-stream');
      expect(stored.text).toMatch(/^[A-Za-z0-9+/]+={0,2}\|\|new$/);
    }
    await state.set('raw', 'b', 'not encrypted');
    expect((await world.send('GET', '/v1.0/state/secret/b')).error).toEqual([500, 'ERR_STATE_GET']);
    const bulk = await world.send('POST', '/v1.0/state/secret/bulk', { keys: ['b', 'a'] });
    expect(bulk.json).toEqual([
      { key: 'b', error: expect.stringContaining('not encrypted') },
      expect.objectContaining({ key: 'a', data: 1.5 }),
    ]);
    expect((await world.send('POST', '/v1.0-alpha1/state/secret/query', {})).error).toEqual([500, 'ERR_STATE_QUERY']);
    const { json } = await world.send('GET', '/v1.0/metadata');
    const { components } = json as { readonly components: readonly { name: string; capabilities: string[] }[] };
    expect(components.find(({ name }) => name === 'secret')?.capabilities).not.toContain('QUERY_API');
  });

  test('a value is read with the key that it names', async () => {
    const before = keyValueStore('kv', { primaryEncryptionKey: secondaryEncryptionKey });
    const rotated = keyValueStore('kv', { primaryEncryptionKey, secondaryEncryptionKey });
    const forgotten = keyValueStore('kv', { primaryEncryptionKey });
    await using world = await startStateWorld({
      components: [
        { ...before, name: 'before' },
        { ...rotated, name: 'rotated' },
        { ...forgotten, name: 'forgotten' },
      ],
    });
    const { state } = world.sidecar;
    await state.set('before', 'a', 1);
    expect((await state.get('rotated', 'a'))?.value).toBe(1);
    expect((await world.send('GET', '/v1.0/state/forgotten/a')).error).toEqual([500, 'ERR_STATE_GET']);
    await state.set('rotated', 'a', 2);
    expect((await state.get('forgotten', 'a'))?.value).toBe(2);
  });

  test.each(['', 'xyz', '0'.repeat(31), '0'.repeat(34)])('the key %j stops the start, and is not shown', (key) => {
    const make = (): unknown => keyValueStore('kv', { primaryEncryptionKey: { name: 'a', key } });
    expect(make).toThrow(/16, 24 or 32 bytes in hexadecimal/);
    if (key !== '') expect(make).not.toThrow(new RegExp(key));
  });
});
