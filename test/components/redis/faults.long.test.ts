import { describe, expect, test } from 'vitest';
import { type RedisOptions, redisState } from '../../../src/components/redis/index.ts';
import { hasRedis } from '../../support/servers.ts';
import { remoteFaults } from '../remote/remote-faults.ts';
import { RedisTestServer } from './redis-test-server.ts';

remoteFaults('state in Redis', hasRedis(), () => RedisTestServer.start());

describe.runIf(hasRedis())('opening state in Redis', () => {
  test.each<[what: string, settings: readonly string[], options: object, message: RegExp]>([
    ['eviction', ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'], {}, /allkeys-lru.*must be noeviction/],
    ['a missing password', ['--requirepass', 'secret'], {}, /NOAUTH/],
    ['a wrong password', ['--requirepass', 'secret'], { password: 'guess' }, /WRONGPASS/],
  ])('rejects: %s', async (_what, settings, options, message) => {
    await using server = await RedisTestServer.start(settings);
    const error = await server.open(options).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'failed', message: expect.stringMatching(message) });
    expect(JSON.stringify(error) + String(error)).not.toContain('guess');
  });

  test('a full server refuses commits, keeps what it has, and goes on when there is room', async () => {
    await using server = await RedisTestServer.start(['--maxmemory', '4mb']);
    await using store = await server.open();
    const value = new Uint8Array(200_000);
    let written = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await store.commit({ put: [{ key: `k${written}`, value }] });
        written++;
      }
    };
    await expect(fill()).rejects.toMatchObject({ kind: 'full' });
    expect(written).toBeGreaterThan(1);
    expect((await store.scan({ from: '' })).length).toBe(written);
  });
});

test.each<[what: string, options: unknown, message: RegExp]>([
  ['an unknown option', { url: 'redis://h', prefx: 'x' }, /prefx.*prefix/],
  ['neither url nor nodes', {}, /either url or nodes/],
  ['both', { url: 'redis://h', nodes: ['h'] }, /either url or nodes/],
  ['another protocol', { url: 'http://:secret@h' }, /must be like "redis:/],
  ['a password that is not percent-encoded', { url: 'redis://:100%secret@h' }, /must be like "redis:/],
  ['a node with a path', { nodes: ['h/0'], cluster: true, prefix: '{x}' }, /without braces/],
  ['a node that is none', { nodes: ['h:port'] }, /^nodes\[0\] of redisState must be like "host:6379"/],
  [
    'a database that is none',
    { url: 'redis://h', database: -1 },
    /^database in options of redisState is -1: expected a whole number of 0 or more$/,
  ],
  [
    'a time limit that no timer can have',
    { url: 'redis://h', callTimeout: 2 ** 31 },
    /^callTimeout in options of redisState is 2147483648: expected a duration: .* of 1 ms or more and 2147483647 ms at most$/,
  ],
])('redisState() refuses %s', (_what, options, message) => {
  const make = (): unknown => redisState(options as RedisOptions);
  expect(make).toThrow(message);
  expect(make).not.toThrow(/secret/);
});
