import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisOptions, redisState } from '../../../src/components/redis/index.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { put } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { redisCommand } from '../../support/redis-groups.ts';
import { hasRedis } from '../../support/servers.ts';
import { TlsRedis } from '../../support/tls-redis.ts';

describe.runIf(hasRedis())('state in Redis with TLS and a user with few rights', () => {
  let redisServer: TlsRedis;
  beforeAll(async () => {
    redisServer = await TlsRedis.start('state-servers.md', /ACL SETUSER app on >secret (.*)/);
    expect(redisServer.rules).toContain('+eval');
  });
  afterAll(() => redisServer[Symbol.asyncDispose]());

  const open = (options: Partial<RedisOptions> = {}): Promise<StateStore> =>
    redisState({
      url: redisServer.url,
      tls: redisServer.certificates.trust,
      callTimeout: 2_000,
      ...options,
    }).open({ clock: systemClock, logger: new RecordingLogger() });

  // One after the other in the same place, since the user has rights on that one only.
  for (const { name, run } of stateStoreConformance.filter((_case, index) => index % 4 === 0))
    test(name, async () => {
      await redisCommand(redisServer.server.port, ['FLUSHALL']);
      await run(() => open());
    });

  test('another prefix is refused, and the error says what is missing', async () => {
    const error = await open({ prefix: 'other' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'failed', message: expect.stringContaining('NOPERM') });
    expect(String(error) + JSON.stringify(error)).not.toContain('secret');
  });

  test('opening rejects: an unknown authority', async () => {
    await expect(open({ tls: true })).rejects.toMatchObject({
      kind: 'failed',
      message: /certificate that this process does not trust.*"ca"/,
    });
  });

  test('a server without TLS does not answer, which is said', async () => {
    const url = `rediss://127.0.0.1:${redisServer.server.port}`;
    await using store = await open({ url, callTimeout: 300, operationTimeout: 300 });
    expect(store.failure?.message).toMatch(/with TLS did not answer within 300 ms/);
  });

  test('a server that demands TLS is not healthy without it', async () => {
    await using store = await open({
      url: `redis://127.0.0.1:${redisServer.tlsPort}`,
      tls: false,
      operationTimeout: 300,
    });
    expect(store.failure?.message).toMatch(/cannot be reached: .*(closed|ECONNRESET)/i);
    await expect(store.commit({ put: [put('a')] })).rejects.toMatchObject({ kind: 'failed' });
  });
});
