import { afterAll, beforeAll, describe, test } from 'vitest';
import { stateStoreConformance } from '../../../src/testing/store-conformance.ts';
import { hasRedis } from '../../support/servers.ts';
import { compareWithModel } from '../../support/store-model.ts';
import { RedisTestServer } from './redis-test-server.ts';

describe.runIf(hasRedis())('state in Redis', () => {
  let server: RedisTestServer;
  beforeAll(async () => {
    server = await RedisTestServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { name, run } of stateStoreConformance)
    test(name, () => {
      const prefix = server.newPlace();
      return run(() => server.open({ prefix }));
    });

  test('behaves like a sorted map in random histories', () => compareWithModel(() => server.open(), 20));
});
