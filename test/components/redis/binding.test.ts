import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisBinding } from '../../../src/components/redis/index.ts';
import { bindingConforms, conformingBinding } from '../../support/binding-conformance.ts';
import { type BindingsWorld, bindingsWorld } from '../../support/bindings-world.ts';
import { freePort } from '../../support/http.ts';
import { until, WIRES } from '../../support/stores-world.ts';
import { hasSharedRedis, sharedRedis } from './given-redis.ts';

const errorOf = (text: string): { readonly errorCode: string; readonly message: string } => JSON.parse(text) as never;

describe.runIf(hasSharedRedis())('bindings.redis', () => {
  let server: Awaited<ReturnType<typeof sharedRedis>>;
  const prefix = `insidecar-test-${randomUUID()}`;

  beforeAll(async () => {
    server = await sharedRedis();
  });

  afterAll(async () => {
    await using own = await world();
    for (const key of ['value', 'short', 'count', 'list', 'none'])
      await own.invoke('cache', { operation: 'delete', metadata: { key: `${prefix}:${key}` } });
    await server[Symbol.asyncDispose]();
  });

  const world = (wire: 'sidecar' | 'dapr' = 'sidecar'): Promise<BindingsWorld> =>
    bindingsWorld({
      wire,
      components: [redisBinding('cache', { url: `redis://127.0.0.1:${server.port}` })],
      hasApp: false,
    });

  const call = (to: BindingsWorld, operation: string, key: string | undefined, more: object = {}, data?: unknown) =>
    to.invoke('cache', {
      operation,
      data,
      metadata: { ...(key === undefined ? {} : { key: `${prefix}:${key}` }), ...more },
    });

  describe('conformance', () => {
    bindingConforms(
      () =>
        conformingBinding({
          definition: redisBinding('cache', { url: `redis://127.0.0.1:${server.port}` }),
          call: { operation: 'create', data: 1, metadata: { key: `${prefix}:value` } },
          refused: { operation: 'create', data: 1 },
          secrets: ['127.0.0.1'],
        }),
      'input',
    );
  });

  test.each(WIRES)('wire %s: creates, gets, deletes; a get of nothing is empty', async (wire) => {
    await using own = await world(wire);
    const created = await own.invoke(
      'cache',
      `{"operation":"create","data":{"n":12345678901234567890.10},"metadata":{"key":"${prefix}:value"}}`,
    );
    expect([created.status, created.text]).toEqual([204, '']);
    const got = await call(own, 'get', 'value');
    expect([got.status, got.text]).toEqual([200, '{"n":12345678901234567890.10}']);
    expect((await call(own, 'get', 'value', { delete: 'true' })).text).toBe('{"n":12345678901234567890.10}');
    const nothing = await call(own, 'get', 'value');
    expect([nothing.status, nothing.text]).toEqual([200, '']);
    await call(own, 'create', 'value', {}, 'text');
    expect((await call(own, 'get', 'value')).text).toBe('"text"');
    expect((await call(own, 'delete', 'value')).status).toBe(204);
    expect((await call(own, 'get', 'value')).text).toBe('');
    expect((await call(own, 'delete', 'none')).status).toBe(204);
  });

  test('counts; values and counts end with their time to live', async () => {
    await using own = await world();
    expect((await call(own, 'increment', 'count')).status).toBe(204);
    await call(own, 'increment', 'count', { ttlInSeconds: '1' });
    expect((await call(own, 'get', 'count')).text).toBe('2');
    await call(own, 'create', 'short', { ttlInSeconds: '1' }, 'x');
    await until(
      async () => (await call(own, 'get', 'short')).text === '' && (await call(own, 'get', 'count')).text === '',
      () => 'the end of both',
    );
  });

  test.each([
    ['get', undefined, {}, 'metadata key is missing'],
    ['create', undefined, { key: '' }, 'metadata key is missing'],
    ['create', 'value', { ttlInSeconds: '0' }, 'ttlInSeconds must be a whole number of 1 or more'],
    ['create', 'value', { ttlInSeconds: '-5' }, 'ttlInSeconds must be'],
    ['create', 'value', { ttlInSeconds: 'soon' }, 'ttlInSeconds must be'],
    ['list', 'value', {}, 'expected create, get, delete, increment'],
  ])('refuses %s of %s with %o', async (operation, key, more, problem) => {
    await using own = await world();
    const { status, text } = await call(own, operation, key, more, 'x');
    expect([status, errorOf(text).errorCode]).toEqual([500, 'ERR_INVOKE_OUTPUT_BINDING']);
    expect(errorOf(text).message).toContain(problem);
  });

  test('a refusal of the server has its code alone', async () => {
    await using own = await world();
    await call(own, 'create', 'list', {}, 'hidden');
    const { status, text } = await call(own, 'increment', 'list');
    expect([status, errorOf(text).message]).toEqual([
      500,
      'error invoking output binding cache: Redis refuses the command (ERR)',
    ]);
  });
});

test('a server that is down: the start succeeds, calls fail without its address', async () => {
  const port = await freePort();
  const components = [redisBinding('cache', { url: `redis://user:hidden@127.0.0.1:${port}`, callTimeout: 500 })];
  await using own = await bindingsWorld({ components, hasApp: false });
  const { status, text } = await own.invoke('cache', { operation: 'get', metadata: { key: 'a' } });
  expect([status, errorOf(text).message]).toEqual([
    500,
    'error invoking output binding cache: Redis cannot be reached, or did not answer in time',
  ]);
  expect((await own.send('GET', '/v1.0/healthz/outbound')).status).toBe(500);
});

test('refuses wrong options', () => {
  expect(() => redisBinding('cache', { url: 'http://a' })).toThrow('url');
  expect(() => redisBinding('cache', { direction: ['up' as never] })).toThrow('direction');
});
