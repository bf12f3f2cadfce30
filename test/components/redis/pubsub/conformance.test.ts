import { afterAll, beforeAll, describe, test } from 'vitest';
import { pubSubConformance } from '../../../../src/kit/pubsub-conformance.ts';
import { hasSharedRedis, sharedRedis } from '../given-redis.ts';
import { openPubSub } from './open-pubsub.ts';

describe.runIf(hasSharedRedis())('pub/sub in Redis', () => {
  let server: Awaited<ReturnType<typeof sharedRedis>>;
  beforeAll(async () => {
    server = await sharedRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { name, run } of pubSubConformance) test(name, () => run(() => openPubSub(server.port)));
});
