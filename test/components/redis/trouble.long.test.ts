import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { loadRedis } from '../../../src/components/redis/driver.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { put, temporaryDirectory } from '../../support/embedded-store.ts';
import { redisCommand } from '../../support/redis-groups.ts';
import { hasRedis } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { mountTmpfs, remountTmpfs } from '../../support/tmpfs.ts';
import { BACK, LOST, outages } from '../remote/outages.ts';
import type { Timeouts } from '../remote/remote-faults.ts';
import { RedisTestServer } from './redis-test-server.ts';

const works = (store: StateStore): Promise<void> =>
  vi.waitFor(async () => expect(await store.commit({ put: [put('again')] })).toBeGreaterThan(0), { timeout: 10_000 });

describe.runIf(hasRedis())('state in Redis, when the server does not do its work', () => {
  let server: RedisTestServer;
  let prefix: string;
  const command = (...words: readonly string[]): Promise<unknown> => redisCommand(server.server.port, words);
  beforeAll(async () => {
    server = await RedisTestServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    prefix = server.newPlace();
    server.logger.lines.length = 0;
  });
  const open = (timeouts: Timeouts = {}): Promise<StateStore> =>
    server.openAt(prefix, server.server.port, { operationTimeout: 1_000, callTimeout: 300, ...timeouts });

  test('a server that holds its clients is noticed, and used again afterwards', async () => {
    await using store = await open();
    await store.commit({ put: [put('a')] });
    await command('CLIENT', 'PAUSE', '2500', 'ALL');
    await expect(store.commit({ put: [put('b')] })).rejects.toMatchObject({
      kind: 'failed',
      message: /did not answer within 300 ms/,
    });
    expect(store.failure).toMatchObject({ kind: 'failed', message: /did not answer within 300 ms/ });
    await works(store);
    expect(await store.get('a')).toBeDefined();
    expect(store.failure).toBeUndefined();
    expect(outages(server.logger)[0]).toBe(LOST);
    await expect.poll(() => outages(server.logger)).toContain(BACK);
  });

  test('a full server refuses commits, can be opened and read, and works again when there is room', async () => {
    await using store = await open({ callTimeout: 5_000, operationTimeout: 10_000 });
    await store.commit({ put: [put('first')] });
    await command('CONFIG', 'SET', 'maxmemory', '8mb');
    let written = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await store.commit({ put: [put(`entry/${written}`, 200_000)] });
        written++;
      }
    };
    await expect(fill()).rejects.toMatchObject({ kind: 'full', message: /takes no more: OOM/ });
    expect(store.failure).toMatchObject({ kind: 'full' });
    await using late = await open();
    expect((await late.scan({ from: 'entry/', to: 'entry0' })).length).toBe(written);
    expect(written).toBeGreaterThan(3);
    await command('CONFIG', 'SET', 'maxmemory', '0');
    await works(store);
    expect(store.failure).toBeUndefined();
    expect((await store.scan({ from: 'entry/', to: 'entry0' })).length).toBe(written);
  });

  test('a server with as many clients as it takes is waited for, at the start and later', async () => {
    await using crowded = await RedisTestServer.start();
    const { port } = crowded.server;
    const { createClient } = await loadRedis();
    const operator = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
    operator.on('error', () => undefined);
    await operator.connect();
    await using store = await crowded.openAt(prefix, port, { operationTimeout: 30_000 });
    await operator.sendCommand(['CONFIG', 'SET', 'maxclients', '1']);
    for (const type of ['normal', 'pubsub']) await operator.sendCommand(['CLIENT', 'KILL', 'TYPE', type]);
    const refused = 'cannot be reached: ERR max number of clients reached';
    await expect.poll(() => store.failure?.message).toContain(refused);
    const committed = store.commit({ put: [put('a')] });
    await using late = await crowded.openAt(prefix, port);
    expect(late.failure?.message).toContain(refused);
    await operator.sendCommand(['CONFIG', 'SET', 'maxclients', '100']);
    operator.destroy();
    expect(await committed).toBeGreaterThan(0);
    await works(late);
  });

  test('a server that lacks the replicas that it needs for writes is waited for', async () => {
    await using lonely = await RedisTestServer.start();
    await using store = await lonely.openAt(prefix, lonely.server.port, { operationTimeout: 30_000 });
    await works(store);
    const { createClient } = await loadRedis();
    const operator = createClient({ socket: { host: '127.0.0.1', port: lonely.server.port } });
    await operator.connect();
    await operator.sendCommand(['CONFIG', 'SET', 'min-replicas-to-write', '1']);
    let isOver = false;
    const committed = store.commit({ put: [put('a')] }).finally(() => {
      isOver = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(isOver).toBe(false);
    await operator.sendCommand(['CONFIG', 'SET', 'min-replicas-to-write', '0']);
    operator.destroy();
    expect(await committed).toBeGreaterThan(0);
  });

  test('others hear of a commit once it is written, although the server has forgotten its scripts', async () => {
    await using proxy = await TcpProxy.start(server.server.port);
    await using store = await server.openAt(prefix, proxy.port);
    await using other = await open();
    await store.commit({ put: [put('a')] });
    // After such a pause, the message goes with the commit.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const found: Promise<boolean>[] = [];
    other.watch('b', () => found.push(other.get('b').then((entry) => entry !== undefined)));
    await command('SCRIPT', 'FLUSH');
    proxy.delayMs = 200;
    await store.commit({ put: [put('b')] });
    await expect.poll(() => Promise.all(found)).toContain(true);
  });

  test('a full disk is named, nothing is lost, and the store works again when there is room', async ({ skip }) => {
    const disk = temporaryDirectory();
    if (!mountTmpfs(disk, 'size=1m')) skip('mounting is not allowed here');
    // With "appendfsync always", the server ends itself.
    await using small = await RedisTestServer.start(['--dir', disk, '--appendfsync', 'everysec']);
    await using store = await small.openAt(prefix, small.server.port, { operationTimeout: 10_000 });
    const written: string[] = [];
    let refusal: unknown;
    while (refusal === undefined && written.length < 500) {
      const key = `entry/${written.length}`;
      refusal = await store.commit({ put: [put(key, 100_000)] }).then(
        () => void written.push(key),
        (error: unknown) => error,
      );
    }
    expect(refusal).toMatchObject({ kind: 'full', message: /MISCONF/ });
    expect(store.failure).toMatchObject({ kind: 'full' });
    remountTmpfs(disk, 'size=64m');
    await works(store);
    expect((await store.scan({ from: 'entry/', to: 'entry0' })).length).toBe(written.length);
  }, 60_000);

  test('a server that loads its data is waited for, and says so', async () => {
    // With a delay for each command in the log of the server.
    await using slow = await RedisTestServer.start(['--key-load-delay', '300']);
    await using store = await slow.openAt(prefix, slow.server.port, { operationTimeout: 30_000 });
    // One after the other: commits of one moment share their commands.
    for (let i = 0; i < 1_500; i++) await store.commit({ put: [put(`entry/${i}`)] });
    await slow.server.kill();
    const restarted = slow.server.restart();
    await vi.waitFor(() => expect(store.failure?.message).toContain('LOADING'), { timeout: 20_000, interval: 10 });
    await restarted;
    expect((await store.scan({ from: 'entry/', to: 'entry0' })).length).toBe(1_500);
    await expect.poll(() => store.failure).toBeUndefined();
    expect(outages(slow.logger)[0]).toBe(LOST);
    expect(outages(slow.logger).at(-1)).toBe(BACK);
  }, 60_000);

  test('entries of 40 MiB that are read in one moment come', async () => {
    await using store = await open({ callTimeout: 5_000, operationTimeout: 10_000 });
    const bytes = 8 * 1024 * 1024 - 100;
    const keys = Array.from({ length: 5 }, (_, index) => `large/${index}`);
    for (const key of keys) await store.commit({ put: [put(key, bytes)] });
    const entries = await Promise.all(keys.map((key) => store.get(key)));
    expect(entries.map((entry) => entry?.value.byteLength)).toEqual(keys.map(() => bytes));
  });
});
