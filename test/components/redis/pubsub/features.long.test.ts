import { describe } from 'vitest';
import { redisPubSub } from '../../../../src/components/redis/index.ts';
import { brokerFeatures } from '../../../support/broker-features.ts';
import { redisCommand } from '../../../support/redis-groups.ts';
import { hasSharedRedis, sharedRedis } from '../given-redis.ts';

describe.skipIf(!hasSharedRedis())('with a server', () => {
  brokerFeatures('Redis', async () => {
    const server = await sharedRedis();
    return {
      port: server.port,
      define: ({ port = server.port, ...options } = {}) =>
        redisPubSub('pubsub', { url: `redis://127.0.0.1:${port}`, ...options }),
      publishForeign: async (topic, data) => {
        await redisCommand(server.port, ['XADD', topic, '*', 'data', Buffer.from(data)]);
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});
