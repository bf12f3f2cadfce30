import { describe } from 'vitest';
import { redisPubSub } from '../../../../src/components/redis/index.ts';
import { brokerFaults } from '../../../support/broker-faults.ts';
import { publisherDeath } from '../../../support/publisher-death.ts';
import { hasRedis, startRedis } from '../../../support/servers.ts';

const options = (port: number): { readonly url: string } => ({ url: `redis://127.0.0.1:${port}` });

describe.skipIf(!hasRedis())('with a server', () => {
  brokerFaults(
    'Redis',
    async () => ({
      server: await startRedis(),
      entry: 'redis',
      factory: 'redisPubSub',
      options,
      define: (port) => redisPubSub('pubsub', options(port)),
    }),
    {
      redeliveryMs: 8_000,
      // The other process may take over what is pending for one second, unless this one renews it.
      lease: { options: { processingTimeout: 1_000, redeliverInterval: 500 }, handlerMs: 7_000 },
    },
  );

  publisherDeath('Redis', async () => {
    const server = await startRedis();
    return {
      entry: 'redis',
      factory: 'redisPubSub',
      options: options(server.port),
      define: () => redisPubSub('pubsub', options(server.port)),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});
