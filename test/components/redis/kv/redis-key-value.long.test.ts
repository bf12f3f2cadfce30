import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KeyValueStore } from '../../../../src/components/key-value.ts';
import type { RedisArgument } from '../../../../src/components/redis/driver.ts';
import { redisStateStore } from '../../../../src/components/redis/index.ts';
import { keyValueConformance } from '../../../../src/kit/key-value-conformance.ts';
import { etagOf, keyValueCases, put, putOne, remove, textOf, writeOne } from '../../../support/key-value-cases.ts';
import { redisCommand, startReplica } from '../../../support/redis-groups.ts';
import { relayCases } from '../../../support/relay-cases.ts';
import { hasRedis, type OwnServer, startRedis } from '../../../support/servers.ts';
import { startStateWorld } from '../../../support/state-world.ts';
import { storeContext } from '../../../support/store-context.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';
import { hasSharedRedis, sharedRedis } from '../given-redis.ts';

/** As a daprd writes a value: its ETag counts from 1. */
const DAPR_SET = `
redis.call('HSET', KEYS[1], 'data', ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'version', 1)`;

// On a server of its own: its keys have no prefix.
describe.runIf(hasRedis())('values in Redis', () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { name, needs = [], run } of keyValueConformance)
    test.skipIf(needs.includes('list'))(name, async () => {
      await redisCommand(server.port, ['FLUSHALL']);
      const open = (): Promise<KeyValueStore> =>
        redisStateStore('store', { url: `redis://127.0.0.1:${server.port}` }).open(storeContext());
      await run({ open, pass: pause });
    });
});

describe.runIf(hasSharedRedis())("values in Redis in Dapr's format", () => {
  let server: Awaited<ReturnType<typeof sharedRedis>>;
  const app = `test-${randomUUID()}`;
  const key = (name: string): string => `${app}||${name}-${randomUUID().slice(0, 8)}`;
  const command = (...args: readonly RedisArgument[]): Promise<unknown> => redisCommand(server.port, args);
  const open = (): Promise<KeyValueStore> =>
    redisStateStore('store', { url: `redis://127.0.0.1:${server.port}` }).open(storeContext(app));

  beforeAll(async () => {
    server = await sharedRedis();
  });
  afterAll(async () => {
    const keys = (await command('KEYS', `*${app}*`)) as string[];
    if (keys.length > 0) await command('DEL', ...keys);
    await server[Symbol.asyncDispose]();
  });

  keyValueCases({ open, key });
  relayCases(async () => {
    const context = storeContext(`relay-${randomUUID()}`);
    const openOne = (): Promise<KeyValueStore> =>
      redisStateStore('store', { url: `redis://127.0.0.1:${server.port}` }).open(context);
    return [await openOne(), await openOne()];
  });

  test('writes a hash with data and version, which Dapr counts on from', async () => {
    const store = await open();
    const name = key('ours');
    const etag = await putOne(store, name, '{"a":1}', 60_000);
    expect(await command('HGETALL', name)).toEqual({ data: '{"a":1}', version: etag });
    expect(Number(await command('PTTL', name))).toBeGreaterThan(58_000);
    expect(Number(etag)).toBeGreaterThan((Date.now() - Date.UTC(2025, 0)) * 1_000 - 60_000_000);
    await command('EVAL', DAPR_SET, '1', name, '2');
    expect(await etagOf(store, name)).toBe(String(BigInt(etag) + 1n));
    expect((await writeOne(store, put(name, '3', { etag }))).status).toBe('refused');
    await store.close();
  });

  test("reads and overwrites Dapr's hash, also one with the mark of a first write", async () => {
    const store = await open();
    const [name, marked] = [key('daprs'), key('marked')];
    await command('EVAL', DAPR_SET, '1', name, '{"b":2}');
    await command('HSET', marked, 'data', '1', 'first-write', '0', 'version', '1');
    expect(await store.read([name, marked])).toMatchObject([{ etag: '1' }, { etag: '1' }]);
    expect((await writeOne(store, put(name, '3', { etag: '2' }))).status).toBe('refused');
    expect((await writeOne(store, put(name, '3', { etag: '1' }))).status).toBe('done');
    expect((await writeOne(store, put(marked, '3'))).status).toBe('done');
    expect((await writeOne(store, put(marked, '4', 'absent'))).status).toBe('refused');
    // Deleted and made again by Dapr, its ETag is 1 again: what we write never is.
    await command('DEL', name);
    await command('EVAL', DAPR_SET, '1', name, '{"b":2}');
    expect(Number(await putOne(store, name, '4'))).toBeGreaterThan(1_000);
    await store.close();
  });

  test('counts on from a version beyond the numbers of a script, to the digit', async () => {
    const store = await open();
    const name = key('beyond');
    await command('HSET', name, 'data', '1', 'version', '580000000000000001');
    expect(await putOne(store, name, '2')).toBe('580000000000000002');
    await command('HSET', name, 'version', 'x1');
    expect(await etagOf(store, name)).toBe('x1');
    expect(await putOne(store, name, '3')).toMatch(/^\d+$/);
    await store.close();
  });

  test('gives each of several writes of a key in one turn an ETag of its own', async () => {
    const store = await open();
    const name = key('again');
    const etags = await Promise.all(['1', '2', '3'].map((value) => putOne(store, name, value)));
    expect(new Set(etags).size).toBe(3);
    expect(await store.read([name])).toMatchObject([{ bytes: Buffer.from('3'), etag: etags[2] }]);
    await store.close();
  });

  test('gives a key that is removed and written again in one turn an ETag that it did not have', async () => {
    const store = await open();
    const name = key('removed');
    const remove = { kind: 'remove', key: name } as const;
    const [one, two, , three] = await Promise.all([
      putOne(store, name, '1'),
      putOne(store, name, '2'),
      writeOne(store, remove),
      putOne(store, name, '3'),
      writeOne(store, remove),
      writeOne(store, put(name, '4')),
    ]);
    const [found] = await store.read([name]);
    expect(new Set([one, two, three, found?.etag]).size).toBe(4);
    expect(found).toMatchObject({ bytes: Buffer.from('4') });
    await store.close();
  });

  test('writes transactions in one turn each as a whole, beside one that may not be written', async () => {
    const store = await open();
    const [foreign, one, two, three] = [key('foreign'), key('one'), key('two'), key('three')];
    await command('RPUSH', foreign, 'x');
    const whole = { atomic: true };
    const results = await Promise.allSettled([
      store.write([put(one, '1'), put(two, '1')], whole),
      store.write([put(two, '2'), put(foreign, '2')], whole),
      store.write([put(three, '3')], whole),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const read = await store.read([one, two, three]);
    expect(read.map((value) => value?.bytes.toString())).toEqual(['1', '1', '3']);
    await store.close();
  });

  test('in one turn, takes the lifetime and the condition of each write for itself', async () => {
    const store = await open();
    const [plain, lasting, both, held] = [key('plain'), key('lasting'), key('both'), key('held')];
    const etag = await putOne(store, held, '1');
    const bytes = Buffer.from([0xff, 0x00, 0x0a]);
    const outcomes = await Promise.all([
      writeOne(store, put(plain, '1')),
      writeOne(store, { kind: 'put', key: lasting, value: bytes, ttlMs: 60_000 }),
      store.write([put(both, '1', 'absent'), put(held, '2', { etag })], { atomic: true }),
      writeOne(store, { kind: 'put', key: held, value: bytes, ttlMs: 60_000, condition: { etag } }),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'done' },
      { status: 'done' },
      [{ status: 'done' }, { status: 'done' }],
      { status: 'refused' },
    ]);
    const [one, other, , last] = await store.read([plain, lasting, both, held]);
    expect(one?.expiresAt).toBeUndefined();
    expect(other?.bytes).toEqual(bytes);
    expect(other?.expiresAt).toBeGreaterThan(Date.now() + 50_000);
    expect(last).toMatchObject({ bytes: Buffer.from('2') });
    expect(last?.expiresAt).toBeUndefined();
    await store.close();
  });

  test('a write of a key does not overtake one that waits for a slow replica', async () => {
    await using primary = await startRedis();
    await using replica = await startReplica(primary.port);
    const url = `redis://127.0.0.1:${primary.port}`;
    const store = await redisStateStore('store', { url }).open(storeContext(app));
    // The connection of strong writes is made.
    await store.write([put('made', '0')], { atomic: true, isStrong: true });
    replica.signal('SIGSTOP');
    const write = (key: string, value: string, isStrong: boolean): Promise<unknown> =>
      store.write([put(key, value)], { atomic: false, isStrong });
    await Promise.all([
      // The strong ones behind it wait for the replica as long as it does: a second.
      write('other', '1', true),
      write('key', '1', false),
      pause(100).then(() =>
        Promise.all([
          write('key', '2', true),
          write('key', '3', false),
          write('key', '4', true),
          write('key', '5', false),
        ]),
      ),
    ]);
    replica.signal('SIGCONT');
    expect(await textOf(store, 'key')).toBe('5');
    await store.close();
  });

  test.each([
    { when: 'while it waits for its replicas', answersLeft: Number.POSITIVE_INFINITY },
    { when: 'before its first answer', answersLeft: 0 },
  ])(
    'a strong write whose connection breaks $when: an error, made once, and later ones go on',
    async (given) => {
      await using primary = await startRedis();
      await using replica = await startReplica(primary.port);
      await using proxy = await TcpProxy.start(primary.port);
      const openAt = (port: number): Promise<KeyValueStore> =>
        redisStateStore('store', { url: `redis://127.0.0.1:${port}`, callTimeout: 2_000 }).open(storeContext(app));
      const [store, direct] = [await openAt(proxy.port), await openAt(primary.port)];
      const strong = { atomic: false, isStrong: true } as const;
      const [first] = await store.write([put('key', '1')], strong);
      const etag = first?.status === 'done' ? (first.etag ?? '') : '';
      const writesDone = async (): Promise<number> => {
        const stats = String(await redisCommand(primary.port, ['INFO', 'commandstats']));
        return Number(/cmdstat_hset:calls=(\d+)/.exec(stats)?.[1]);
      };
      const before = await writesDone();
      replica.signal('SIGSTOP');
      proxy.answersLeft = given.answersLeft;
      const broken = expect(store.write([put('key', '2', { etag })], strong)).rejects.toThrow('may have been made');
      // It waits behind the strong one, whose outcome nobody knows.
      const behind = store.write([put('key', '3')], { atomic: false }).catch((error: Error) => error);
      await vi.waitFor(async () => expect(await textOf(direct, 'key')).not.toBe('1'), { timeout: 5_000 });
      proxy.cut();
      await broken;
      await behind;
      proxy.answersLeft = Number.POSITIVE_INFINITY;
      // Neither was made twice: the first once, the second at most once.
      expect((await writesDone()) - before).toBeLessThanOrEqual(2);
      replica.signal('SIGCONT');
      const patience = { timeout: 20_000, interval: 100 };
      await vi.waitFor(async () => expect(await store.write([put('key', '4')], strong)).toHaveLength(1), patience);
      await vi.waitFor(async () => expect(await putOne(store, 'key', '5')).toMatch(/^\d+$/), patience);
      expect(await textOf(direct, 'key')).toBe('5');
      await Promise.all([store.close(), direct.close()]);
    },
    60_000,
  );

  test('over HTTP, a strong write that is not confirmed is 500, and with an ETag it is not tried again', async () => {
    await using primary = await startRedis();
    await using replica = await startReplica(primary.port);
    await using proxy = await TcpProxy.start(primary.port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const resiliency = {
      policies: { retries: { again: { policy: 'constant', duration: '100ms', maxRetries: 20 } } },
      targets: { components: { redis: { outbound: { retry: 'again' } } } },
    } as const;
    const components = [redisStateStore('redis', { url, callTimeout: 2_000 })];
    await using world = await startStateWorld({ components, resiliency });
    const save = (item: object) =>
      world.send('POST', '/v1.0/state/redis', [{ key: 'key', options: { consistency: 'strong' }, ...item }]);
    expect((await save({ value: 1 })).status).toBe(204);
    const { headers } = await world.send('GET', '/v1.0/state/redis/key');
    replica.signal('SIGSTOP');
    const saved = save({ value: 2, etag: headers['etag'] });
    const stored = (): Promise<unknown> => redisCommand(primary.port, ['HGET', 'shop||key', 'data']);
    await vi.waitFor(async () => expect(await stored()).toBe('2'), { timeout: 5_000 });
    proxy.cut();
    const answer = await saved;
    expect(answer.error).toEqual([500, 'ERR_STATE_SAVE']);
    expect(answer.text).toContain('may have been made');
    replica.signal('SIGCONT');
  }, 60_000);

  test('reads a string as a value without ETag, and overwrites it with a hash', async () => {
    const store = await open();
    const name = key('string');
    await command('SET', name, 'not JSON', 'PX', '60000');
    const [found] = await store.read([name]);
    expect(found).toMatchObject({ bytes: Buffer.from('not JSON'), etag: undefined });
    expect(found?.expiresAt).toBeGreaterThan(Date.now() + 50_000);
    expect((await writeOne(store, put(name, '1', 'absent'))).status).toBe('refused');
    expect((await writeOne(store, put(name, '1', { etag: '1' }))).status).toBe('refused');
    await putOne(store, name, '1');
    expect(await command('TTL', name)).toBe(-1);
    expect(await command('TYPE', name)).toBe('hash');
    await store.close();
  });

  test('an empty ETag is that of a string, or of a hash without a version, and of nothing else', async () => {
    const store = await open();
    const [text, hash, ours, none] = [key('text'), key('no-version'), key('ours'), key('none')];
    await command('SET', text, '1');
    await command('HSET', hash, 'data', '1');
    await putOne(store, ours, '1');
    const writes = [text, hash, ours, none].map((name) => writeOne(store, put(name, '2', { etag: '' })));
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(['done', 'done', 'refused', 'refused']);
    expect((await writeOne(store, put(text, '3', { etag: '' }))).status).toBe('refused');
    await store.close();
  });

  test('updates of a string that another program has stored: none is lost, and it has an ETag then', async () => {
    const options = { url: `redis://127.0.0.1:${server.port}`, keyPrefix: 'none' };
    await using one = await startStateWorld({ components: [redisStateStore('redis', options)] });
    await using other = await startStateWorld({ components: [redisStateStore('redis', options)] });
    const name = `${app}-counted`;
    await command('SET', name, '100');
    expect(await one.sidecar.state.get('redis', name)).toEqual({ value: 100, etag: '' });
    const add = ({ sidecar }: typeof one): Promise<unknown> =>
      sidecar.state.update<number>('redis', name, (n = 0) => n + 1, { maxAttempts: 100 });
    await Promise.all(Array.from({ length: 20 }, (_value, index) => add(index % 2 === 0 ? one : other)));
    const expected = { value: 120, etag: expect.stringMatching(/^\d+$/) };
    expect(await other.sidecar.state.get('redis', name)).toEqual(expected);
  });

  test.each([
    { type: 'list', make: ['RPUSH', 'item'] },
    { type: 'stream', make: ['XADD', '*', 'a', 'b'] },
    { type: 'hash without the field data', make: ['HSET', 'other', '1'] },
  ])('neither reads nor overwrites a $type; what is asked for at the same time is done', async ({ type, make }) => {
    const store = await open();
    const [name, beside] = [key('foreign'), key('beside')];
    const [verb = '', ...rest] = make;
    await command(verb, name, ...rest);
    const [read, write, other] = await Promise.allSettled([
      store.read([name]),
      store.write([put(name, '1'), put(key('same'), '1')], { atomic: true }),
      store.write([put(beside, '1')], { atomic: true }),
    ]);
    const reason = expect.objectContaining({ message: expect.stringContaining(`holds a ${type}`) });
    expect(read).toMatchObject({ status: 'rejected', reason });
    expect(write).toMatchObject({ status: 'rejected', reason });
    expect(other).toMatchObject({ status: 'fulfilled', value: [{ status: 'done' }] });
    expect(await textOf(store, beside)).toBe('1');
    await expect(writeOne(store, remove(name))).rejects.toThrow(`holds a ${type}`);
    await store.close();
  });

  test('in a bulk read, a key of another program is an error of its own', async () => {
    const options = { url: `redis://127.0.0.1:${server.port}`, keyPrefix: 'none' };
    await using world = await startStateWorld({ components: [redisStateStore('redis', options)] });
    const [list, beside] = [`${app}-list`, `${app}-beside`];
    await command('RPUSH', list, 'item');
    await world.save('redis', beside, 1);
    const answer = await world.send('POST', '/v1.0/state/redis/bulk', { keys: [list, `${app}-none`, beside] });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual([
      { key: list, error: expect.stringContaining('holds a list') },
      { key: `${app}-none` },
      { key: beside, data: 1, etag: expect.any(String) },
    ]);
    expect((await world.send('GET', `/v1.0/state/redis/${list}`)).error).toEqual([500, 'ERR_STATE_GET']);
  });

  test('sends its scripts again when the server has forgotten them', async () => {
    const store = await open();
    const name = key('scripts');
    await putOne(store, name, '1');
    await command('SCRIPT', 'FLUSH');
    expect(await textOf(store, name)).toBe('1');
    await command('SCRIPT', 'FLUSH');
    await putOne(store, name, '2');
    expect(await textOf(store, name)).toBe('2');
    await store.close();
  });
});
