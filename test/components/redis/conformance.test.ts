import { afterAll, beforeAll, describe, test } from 'vitest';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import { compareWithModel } from '../../support/store-model.ts';
import { hasSharedRedis, SharedRedisState } from './given-redis.ts';

describe.runIf(hasSharedRedis())('state in Redis', () => {
  let server: SharedRedisState;
  beforeAll(async () => {
    server = await SharedRedisState.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { name, run } of stateStoreConformance)
    test(name, () => {
      const prefix = server.newPlace();
      return run(() => server.open(prefix));
    });

  test('behaves like a sorted map in random histories', () => compareWithModel(() => server.open(), 20));
});
