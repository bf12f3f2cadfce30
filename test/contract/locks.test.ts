import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresqlLocks } from '../../src/components/postgresql/index.ts';
import { redisLocks } from '../../src/components/redis/index.ts';
import { durableLocks, memoryLocks, memoryState, sharedState } from '../../src/index.ts';
import type { AnyComponentDefinition, LockStoreDefinition } from '../../src/kit/index.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';
import { SteppedClock } from '../support/stepped-clock.ts';
import { storeContext } from '../support/store-context.ts';
import { type StoresWorld, storesWorld, until, WIRES } from '../support/stores-world.ts';

let postgresql: OwnServer | undefined;
let redis: OwnServer | undefined;

beforeAll(async () => {
  [postgresql, redis] = await Promise.all([
    hasPostgresql() ? startPostgresql() : undefined,
    hasRedis() ? startRedis() : undefined,
  ]);
}, 60_000);

afterAll(async () => {
  await postgresql?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
});

const redisUrl = (): string => `redis://127.0.0.1:${redis?.port ?? 0}`;
const pgUrl = (): string => `postgresql://postgres@127.0.0.1:${postgresql?.port ?? 0}/postgres`;

interface Kind {
  readonly make: (name: string) => LockStoreDefinition;
  /** Whether the clock of the sidecar decides about expiry. */
  readonly hasOwnClock: boolean;
  readonly isThere: () => boolean;
}

const KINDS: Readonly<Record<string, Kind>> = {
  memory: { make: (name) => memoryLocks(name), hasOwnClock: true, isThere: () => true },
  durable: { make: (name) => durableLocks(name), hasOwnClock: true, isThere: () => true },
  redis: {
    make: (name) => redisLocks(name, { url: redisUrl() }),
    hasOwnClock: false,
    isThere: () => redis !== undefined,
  },
  postgresql: {
    make: (name) => postgresqlLocks(name, { url: pgUrl() }),
    hasOwnClock: false,
    isThere: () => postgresql !== undefined,
  },
};

const LOCK = '/v1.0-alpha1/lock/locks';
const UNLOCK = '/v1.0-alpha1/unlock/locks';

function lock(
  world: StoresWorld,
  resourceId: string,
  lockOwner: string,
  expiryInSeconds: unknown = 60,
): Promise<unknown> {
  return world.post(LOCK, { resourceId, lockOwner, expiryInSeconds }).then(({ status, text }) => [status, text]);
}

function unlock(world: StoresWorld, resourceId: string, lockOwner: string): Promise<unknown> {
  return world.post(UNLOCK, { resourceId, lockOwner }).then(({ status, text }) => [status, text]);
}

const TAKEN = [200, '{"success":true}'];
const HELD = [200, '{"success":false}'];
const status = (number: number): unknown => [200, `{"status":${number}}`];

describe.each(Object.entries(KINDS))('locks: %s', (_kind, { make, hasOwnClock, isThere }) => {
  test('of several at the same time, one gets the lock', async ({ skip }) => {
    if (!isThere()) return skip();
    await using world = await storesWorld({ components: [make('locks')] });
    const resource = randomUUID();
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => lock(world, resource, `o${index}`)));
    expect(outcomes.filter((outcome) => String(outcome) === String(TAKEN))).toHaveLength(1);
    expect(outcomes.filter((outcome) => String(outcome) === String(HELD))).toHaveLength(19);
  });

  test('a lock is not re-entrant, and released by its owner alone', async ({ skip }) => {
    if (!isThere()) return skip();
    await using world = await storesWorld({ components: [make('locks')] });
    const resource = randomUUID();
    expect(await unlock(world, resource, 'me')).toEqual(status(1));
    expect(await lock(world, resource, 'me')).toEqual(TAKEN);
    expect(await lock(world, resource, 'me')).toEqual(HELD);
    expect(await lock(world, resource, 'you')).toEqual(HELD);
    expect(await unlock(world, resource, 'you')).toEqual(status(2));
    expect(await unlock(world, resource, 'me')).toEqual(status(0));
    expect(await unlock(world, resource, 'me')).toEqual(status(1));
    expect(await lock(world, resource, 'you')).toEqual(TAKEN);
  });

  test('a lock ends with its expiry, which a second attempt does not prolong', async ({ skip }) => {
    if (!isThere()) return skip();
    await using world = await storesWorld({ components: [make('locks')] });
    const resource = randomUUID();
    expect(await lock(world, resource, 'me', 1)).toEqual(TAKEN);
    expect(await lock(world, resource, 'me', 1000)).toEqual(HELD);
    if (hasOwnClock) {
      await world.pass('999ms');
      expect(await lock(world, resource, 'you')).toEqual(HELD);
      await world.pass('1ms');
    } else {
      await until(
        async () => String(await unlock(world, resource, 'nobody')) === String(status(1)),
        () => 'expired',
      );
    }
    expect(await unlock(world, resource, 'me')).toEqual(status(1));
    expect(await lock(world, resource, 'you')).toEqual(TAKEN);
    expect(await unlock(world, resource, 'me')).toEqual(status(2));
  });

  test('the longest expiry and names with any characters', async ({ skip }) => {
    if (!isThere()) return skip();
    await using world = await storesWorld({ components: [make('locks')] });
    const resource = `${randomUUID()}|ä\u0000 "'\\;DROP TABLE`;
    const owner = `\u0000ö"'${'x'.repeat(200)}`;
    expect(await lock(world, resource, owner, 2 ** 31 - 1)).toEqual(TAKEN);
    expect(await unlock(world, resource, owner)).toEqual(status(0));
    expect(await lock(world, '__proto__', '__proto__')).toEqual(TAKEN);
    expect(await unlock(world, '__proto__', '__proto__')).toEqual(status(0));
  });

  test('resources belong to the application, and the lock outlives the sidecar', async ({ skip }) => {
    if (!isThere()) return skip();
    const state = sharedState(memoryState());
    await using keeper = await storesWorld({ components: [], state });
    const definition = make('locks');
    const resource = randomUUID();
    const first = await storesWorld({ components: [definition], state });
    await using other = await storesWorld({ components: [definition], state, appId: 'other' });
    expect(await lock(first, resource, 'me')).toEqual(TAKEN);
    expect(await lock(other, resource, 'me')).toEqual(TAKEN);
    await first[Symbol.asyncDispose]();
    await using again = await storesWorld({ components: [definition], state });
    expect(await lock(again, resource, 'you')).toEqual(HELD);
    expect(await unlock(again, resource, 'me')).toEqual(status(0));
    expect(keeper.logger.at('error')).toEqual([]);
  });
});

describe.each(WIRES)('the API of locks on the wire %s', (wire) => {
  const world = (components: readonly AnyComponentDefinition[] = [memoryLocks('locks')]): Promise<StoresWorld> =>
    storesWorld({ components, wire });

  test.each<[body: unknown, outcome: unknown]>([
    [{ resourceId: 'a', lockOwner: 'b', expiryInSeconds: 5 }, TAKEN],
    [{ resource_id: 'a', lock_owner: 'b', expiry_in_seconds: 5 }, TAKEN],
    [{ resourceId: 'a', lockOwner: 'b', expiryInSeconds: '5' }, TAKEN],
    [{ resourceId: null, resource_id: 'a', lockOwner: 'b', expiryInSeconds: 5, more: [] }, TAKEN],
  ])('%j takes a lock', async (body, outcome) => {
    await using made = await world();
    const { status: code, text } = await made.post(LOCK, body, { headers: { 'content-type': 'text/plain' } });
    expect([code, text]).toEqual(outcome);
  });

  const good = { resourceId: 'a', lockOwner: 'b', expiryInSeconds: 5 };
  test.each<[body: unknown]>([
    [''],
    ['{'],
    ['null'],
    ['[]'],
    ['"text"'],
    [`${JSON.stringify(good)} x`],
    [Buffer.from([0x7b, 0xff, 0x7d])],
    [{ ...good, resourceId: undefined }],
    [{ ...good, resourceId: null }],
    [{ ...good, resourceId: '' }],
    [{ ...good, resourceId: 5 }],
    [{ ...good, resourceId: 'a||b' }],
    [{ ...good, resourceId: 'x'.repeat(513) }],
    [{ ...good, resourceId: 'ä'.repeat(257) }],
    ['{"resourceId":"\\ud800","lockOwner":"b","expiryInSeconds":5}'],
    [{ ...good, lockOwner: undefined }],
    [{ ...good, lockOwner: '' }],
    [{ ...good, lockOwner: true }],
    [{ ...good, lockOwner: 'x'.repeat(257) }],
    [{ ...good, expiryInSeconds: undefined }],
    [{ ...good, expiryInSeconds: null }],
    [{ ...good, expiryInSeconds: 0 }],
    [{ ...good, expiryInSeconds: -1 }],
    [{ ...good, expiryInSeconds: 1.5 }],
    [{ ...good, expiryInSeconds: 2 ** 31 }],
    [{ ...good, expiryInSeconds: '1e3' }],
    [{ ...good, expiryInSeconds: ' 5' }],
    [{ ...good, expiryInSeconds: '' }],
    [{ ...good, expiryInSeconds: true }],
  ])('%j is refused', async (body) => {
    await using made = await world();
    expect((await made.post(LOCK, body)).error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
  });

  test.each<[body: unknown]>([
    ['{'],
    ['[]'],
    [{ resourceId: 'a' }],
    [{ lockOwner: 'a' }],
    [{ resourceId: 'a||b', lockOwner: 'c' }],
  ])('unlock %j is refused', async (body) => {
    await using made = await world();
    expect((await made.post(UNLOCK, body)).error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
  });

  test('errors of stores come before those of bodies', async () => {
    await using none = await world([]);
    await using made = await world([memoryLocks('locks'), { ...memoryLocks('theirs'), scopes: ['other'] }]);
    for (const operation of ['lock', 'unlock']) {
      expect((await none.post(`/v1.0-alpha1/${operation}/x`, '{')).error).toEqual([
        500,
        'ERR_LOCK_STORE_NOT_CONFIGURED',
      ]);
      for (const name of ['x', 'theirs'])
        expect((await made.post(`/v1.0-alpha1/${operation}/${name}`, '{')).error).toEqual([
          400,
          'ERR_LOCK_STORE_NOT_FOUND',
        ]);
      expect((await made.send('GET', `/v1.0-alpha1/${operation}/locks`)).status).toBe(405);
    }
  });

  test('a store that fails: 500', async () => {
    const fails = (): Promise<never> => Promise.reject(new Error('down'));
    const broken: LockStoreDefinition = {
      ...memoryLocks('locks'),
      open: async () => ({ tryLock: fails, unlock: fails, close: async () => undefined }),
    };
    await using made = await world([broken]);
    expect((await made.post(LOCK, good)).error).toEqual([500, 'ERR_TRY_LOCK']);
    expect((await made.post(UNLOCK, good)).error).toEqual([500, 'ERR_UNLOCK']);
  });

  test('an answer that is lost is no reason to try again, whatever the policy says: the lock may be taken', async () => {
    let calls = 0;
    const lost = (): Promise<never> => {
      calls += 1;
      return Promise.reject(new Error('the answer is lost'));
    };
    const store: LockStoreDefinition = {
      ...memoryLocks('locks'),
      open: async () => ({ tryLock: lost, unlock: lost, close: async () => undefined }),
    };
    await using made = await storesWorld({
      components: [store],
      wire,
      resiliency: {
        policies: { retries: { often: { policy: 'constant', duration: '1ms', maxRetries: 3 } } },
        targets: { components: { locks: { outbound: { retry: 'often' } } } },
      },
    });
    expect((await made.post(LOCK, good)).error).toEqual([500, 'ERR_TRY_LOCK']);
    expect(calls).toBe(1);
    expect((await made.post(UNLOCK, good)).error).toEqual([500, 'ERR_UNLOCK']);
    expect(calls).toBe(2);
  });

  test('a body beyond the limit: 413', async () => {
    await using made = await storesWorld({ components: [memoryLocks('locks')], wire, bodyLimitBytes: 100 });
    expect((await made.post(LOCK, { ...good, lockOwner: 'x'.repeat(200) })).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test('API lists know lock and unlock', async () => {
    await using made = await storesWorld({
      components: [memoryLocks('locks')],
      wire,
      api: { denied: [{ name: 'unlock', version: 'v1alpha1' }] },
    });
    expect((await made.post(LOCK, good)).status).toBe(200);
    expect((await made.post(UNLOCK, good)).status).toBe(404);
  });
});

describe('in code', () => {
  test('await using releases the lock', async () => {
    await using world = await storesWorld({ components: [memoryLocks('locks')] });
    const { locks } = world.sidecar;
    {
      await using held = await locks.tryLock('locks', 'r', { ttl: '1m' });
      expect(held).toMatchObject({ resource: 'r', owner: expect.any(String), expiresAt: world.clock.now() + 60_000 });
      expect(await locks.tryLock('locks', 'r', { ttl: 1_000 })).toBeUndefined();
    }
    const again = await locks.tryLock('locks', 'r', { ttl: 1, owner: 'me' });
    expect(again).toMatchObject({ owner: 'me', expiresAt: world.clock.now() + 1_000 });
    expect([await again?.unlock(), await again?.unlock()]).toEqual([true, false]);
    await again?.[Symbol.asyncDispose]();
    expect(world.logger.lines).toEqual([]);
  });

  test('a clock that is set back neither ends a lock nor prolongs it beyond its instant', async () => {
    const clock = new SteppedClock();
    const store = await memoryLocks('locks').open({ ...storeContext(), clock });
    expect(await store.tryLock('r', 'me', 10_000)).toBe(true);
    clock.step(-3_600_000);
    expect([await store.tryLock('r', 'you', 10_000), await store.unlock('r', 'you')]).toEqual([false, 'foreign']);
    await clock.time.advance('1h');
    expect(await store.tryLock('r', 'you', 10_000)).toBe(false);
    await clock.time.advance('10s');
    expect([await store.tryLock('r', 'you', 10_000), await store.unlock('r', 'me')]).toEqual([true, 'foreign']);
    await store.close();
  });

  test('a lock that has expired is told of when it is released', async () => {
    await using world = await storesWorld({ components: [memoryLocks('locks')] });
    const held = await world.sidecar.locks.tryLock('locks', 'r', { ttl: '1s' });
    await world.pass('2s');
    await held?.[Symbol.asyncDispose]();
    expect(world.logger.at('warn')).toEqual([
      {
        level: 'warn',
        message: 'a lock had expired before it was released',
        details: { store: 'locks', resource: 'r' },
      },
    ]);
  });

  test('unlock by name', async () => {
    await using world = await storesWorld({ components: [memoryLocks('locks')] });
    const { locks } = world.sidecar;
    await locks.tryLock('locks', 'r', { ttl: '1m', owner: 'me' });
    expect([await locks.unlock('locks', 'r', 'you'), await locks.unlock('locks', 'r', 'me')]).toEqual([
      'foreign',
      'released',
    ]);
    expect(await locks.unlock('locks', 'r', 'me')).toBe('missing');
  });

  test.each<[options: object, code: string]>([
    [{}, 'ERR_INVALID_ARGUMENT'],
    [{ ttl: 0 }, 'ERR_INVALID_ARGUMENT'],
    [{ ttl: -1 }, 'ERR_INVALID_ARGUMENT'],
    [{ ttl: 'soon' }, 'ERR_INVALID_ARGUMENT'],
    [{ ttl: Number.NaN }, 'ERR_INVALID_ARGUMENT'],
    [{ ttl: 2 ** 31 * 1_000 }, 'ERR_INVALID_ARGUMENT'],
    [{ ttlMs: 5 }, 'ERR_INVALID_ARGUMENT'],
    [{ ttl: 1, owner: '' }, 'ERR_INVALID_ARGUMENT'],
  ])('%j is refused', async (options, code) => {
    await using world = await storesWorld({ components: [memoryLocks('locks')] });
    await expect(world.sidecar.locks.tryLock('locks', 'r', options as { ttl: number })).rejects.toMatchObject({ code });
  });
});

describe('the form in Redis', () => {
  test.each([
    [undefined, 'lock||shop||r'],
    ['appid', 'lock||shop||r'],
    ['APPID', 'lock||shop||r'],
    ['name', 'lock||locks||r'],
    ['none', 'lock||r'],
    ['Planets', 'lock||planets||r'],
  ])('with keyPrefix %s the owner is at %s', async (keyPrefix, key) => {
    if (redis === undefined) return;
    const options = { url: redisUrl(), ...(keyPrefix === undefined ? {} : { keyPrefix }) };
    await using world = await storesWorld({ components: [redisLocks('locks', options)] });
    const { createClient } = await import('redis');
    const client = await createClient({ url: redisUrl() }).connect();
    await client.del(key);
    expect(await lock(world, 'r', 'me', 50)).toEqual(TAKEN);
    expect(await client.get(key)).toBe('me');
    expect(await client.ttl(key)).toBeGreaterThan(40);
    await client.set(key, 'daprd');
    expect(await unlock(world, 'r', 'me')).toEqual(status(2));
    await client.del(key);
    expect(await unlock(world, 'r', 'me')).toEqual(status(1));
    await client.destroy();
  });

  test('a prefix with || and a cluster are refused', () => {
    expect(() => redisLocks('l', { url: 'redis://a', keyPrefix: 'a||b' })).toThrow(
      'is "a||b": expected appid, name, none',
    );
    expect(() => redisLocks('l', { nodes: ['a:1'], cluster: true })).toThrow('cannot use a cluster');
  });
});
