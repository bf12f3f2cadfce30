import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KeyValueStore } from '../../../../src/components/key-value.ts';
import { type RedisStateStoreOptions, redisStateStore } from '../../../../src/components/redis/index.ts';
import { memoryPubSub } from '../../../../src/index.ts';
import { keyValueCases, put, putOne, remove, textOf, writeOne } from '../../../support/key-value-cases.ts';
import { holderOf, moveSlot, redisCommand, startCluster, startClusterReplica } from '../../../support/redis-groups.ts';
import { hasRedis, type OwnServer } from '../../../support/servers.ts';
import { startStateWorld } from '../../../support/state-world.ts';
import { storeContext } from '../../../support/store-context.ts';

describe.runIf(hasRedis())('values in a Redis cluster', () => {
  let nodes: readonly OwnServer[];
  beforeAll(async () => {
    nodes = await startCluster();
  }, 60_000);
  afterAll(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
  });

  const connection = (): RedisStateStoreOptions => ({
    nodes: nodes.map(({ port }) => `127.0.0.1:${port}`),
    cluster: true,
    callTimeout: 3_000,
  });
  const open = (): Promise<KeyValueStore> => redisStateStore('store', connection()).open(storeContext());
  const newTag = (): string => `tag-${randomUUID().slice(0, 8)}`;
  /** Keys of all nodes. */
  const scattered = (count: number): readonly string[] =>
    Array.from({ length: count }, () => `orders||${randomUUID()}`);

  // Keys of one tag are in one slot, where transactions are what they are on a single server.
  keyValueCases({ open, key: (name) => `orders||{cases}-${randomUUID()}-${name}`, hasOutbox: false });

  test('keys of all nodes are written and read in one call, in their order', async () => {
    const store = await open();
    const keys = scattered(500);
    const written = await store.write(
      keys.map((key, index) => put(key, String(index))),
      { atomic: false },
    );
    expect(new Set(written.map(({ status }) => status))).toEqual(new Set(['done']));
    const counts = await Promise.all(nodes.map(({ port }) => redisCommand(port, ['DBSIZE'])));
    expect(Math.min(...counts.map(Number))).toBeGreaterThan(50);
    const found = await store.read([...keys].reverse());
    expect(found.map((one) => one && Buffer.from(one.bytes).toString())).toEqual(
      keys.map((_key, index) => String(index)).reverse(),
    );
    await store.close();
  });

  test('keys of all nodes are found by a scan, page by page', async () => {
    const store = await open();
    const prefix = `scanned-${randomUUID().slice(0, 8)}||`;
    const keys = Array.from({ length: 1_000 }, () => prefix + randomUUID());
    await store.write(
      keys.map((key) => put(key, '1')),
      { atomic: false },
    );
    const found = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined; pages === 0 || cursor !== undefined; pages++) {
      const page = await store.scan?.(prefix, { limit: 100, ...(cursor === undefined ? {} : { cursor }) });
      for (const { key } of page?.keys ?? []) found.add(key);
      cursor = page?.cursor;
    }
    expect([...found].sort()).toEqual([...keys].sort());
    expect(pages).toBeGreaterThan(3);
    await store.close();
  });

  test('a transaction over several slots is refused, and nothing of it is written', async () => {
    await using world = await startStateWorld({ components: [redisStateStore('redis', connection())] });
    const [tag, ...names] = [newTag(), randomUUID(), randomUUID(), randomUUID()];
    const transact = (keys: readonly string[]) =>
      world.send('POST', '/v1.0/state/redis/transaction', {
        operations: keys.map((key) => ({ operation: 'upsert', request: { key, value: 1 } })),
      });
    const refused = await transact(names);
    expect(refused.error).toEqual([500, 'ERR_STATE_TRANSACTION']);
    expect(refused.text).toContain('expected keys with one hash tag, such as {order-1}-item');
    expect(await Promise.all(names.map((key) => world.read('redis', key)))).toEqual(names.map(() => undefined));
    const tagged = names.map((name) => `{${tag}}-${name}`);
    expect((await transact(tagged)).status).toBe(204);
    expect(await Promise.all(tagged.map((key) => world.read('redis', key)))).toEqual([1, 1, 1]);
  });

  test('a save of keys of several slots is not a transaction: one that is refused does not keep the others', async () => {
    await using world = await startStateWorld({ components: [redisStateStore('redis', connection())] });
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const items = keys.map((key, index) => ({ key, value: index, ...(index === 7 ? { etag: '1' } : {}) }));
    expect((await world.send('POST', '/v1.0/state/redis', items)).error).toEqual([409, 'ERR_STATE_SAVE']);
    const read = await world.send('POST', '/v1.0/state/redis/bulk', { keys });
    const values = (read.json as readonly { readonly data?: number }[]).map(({ data }) => data);
    expect(values).toEqual(keys.map((_key, index) => (index === 7 ? undefined : index)));
  });

  test('an outbox is refused at the start', async () => {
    const outbox = { pubsubName: 'pubsub', topic: 'placed' };
    const components = [redisStateStore('redis', { ...connection(), outbox }), memoryPubSub('pubsub')];
    await expect(startStateWorld({ components })).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION',
      message: 'state store redis has an outbox, and cannot keep its events, as a Redis cluster',
    });
  });

  test('the slot moves to another node while its keys are written, by transactions, too: none is lost', async () => {
    const store = await open();
    const tag = newTag();
    const from = await holderOf(nodes, tag);
    const to = nodes.find((node) => node !== from) ?? from;
    const written = new Map<string, string>();
    let isDone = false;
    const failures: unknown[] = [];
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; !isDone; n++) {
        const [one, other] = [`orders||{${tag}}-${writer}-${n}-a`, `orders||{${tag}}-${writer}-${n}-b`];
        const outcome = store.write([put(one, `${n}`), put(other, `${n}`)], { atomic: true });
        await outcome.then(
          () => written.set(one, `${n}`).set(other, `${n}`),
          (error: unknown) => failures.push(error),
        );
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    const more = (): Promise<unknown> => {
      const { size } = written;
      return vi.waitFor(() => expect(written.size).toBeGreaterThan(size + 100), { timeout: 10_000 });
    };
    await more();
    await moveSlot(from, to, tag, async () => {
      // The keys are at one node and the slot at the other, which asks for each.
      expect(await textOf(store, [...written.keys()][0] ?? '')).toBe('0');
    });
    await more();
    await moveSlot(to, from, tag);
    await more();
    isDone = true;
    await Promise.all(writers);
    const keys = [...written.keys()];
    const found = await store.read(keys);
    const texts = found.map((one) => one && Buffer.from(one.bytes).toString());
    expect(keys.filter((key, index) => texts[index] !== written.get(key))).toEqual([]);
    // Those whose keys were at two nodes meanwhile were tried again.
    expect(failures).toEqual([]);
    await store.close();
  }, 60_000);

  // The last case: the cluster lacks a node afterwards.
  test('a node that is killed: calls of its keys fail and name the cluster, then work at its replica', async () => {
    const tag = newTag();
    const holder = await holderOf(nodes, tag);
    await using _replica = await startClusterReplica(holder);
    const store = await open();
    const [key, removed] = [`orders||{${tag}}-a`, `orders||{${tag}}-b`];
    await putOne(store, removed, '1');
    const outcome = await store.write([put(key, '1')], { atomic: true, isStrong: true });
    const etag = (outcome[0] as { readonly etag: string }).etag;
    await holder.kill();
    await expect(writeOne(store, put(key, 'lost', { etag: '1' }))).rejects.toThrow('Redis at 127.0.0.1:');
    const patience = { timeout: 30_000, interval: 100 };
    await vi.waitFor(async () => expect(await textOf(store, key)).toBe('1'), patience);
    await vi.waitFor(
      async () => expect((await writeOne(store, put(key, '2', { etag }))).status).toBe('done'),
      patience,
    );
    expect((await writeOne(store, put(key, '3', { etag }))).status).toBe('refused');
    expect((await writeOne(store, remove(removed))).status).toBe('done');
    await store.close();
  }, 60_000);
});
