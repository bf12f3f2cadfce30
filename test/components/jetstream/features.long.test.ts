import { describe } from 'vitest';
import { jetstreamPubSub } from '../../../src/components/jetstream/index.ts';
import { brokerFeatures } from '../../support/broker-features.ts';
import { hasNats, startNats } from '../../support/servers.ts';

describe.skipIf(!hasNats())('with a server', () => {
  brokerFeatures('NATS JetStream', async () => {
    const server = await startNats();
    const { connect } = await import('@nats-io/transport-node');
    const raw = await connect({ servers: `127.0.0.1:${server.port}` });
    return {
      port: server.port,
      define: ({ port = server.port, ...options } = {}) =>
        jetstreamPubSub('pubsub', { url: `nats://127.0.0.1:${port}`, createStream: true, ...options }),
      publishForeign: async (topic, data) => {
        raw.publish(topic, data);
        await raw.flush();
      },
      [Symbol.asyncDispose]: async () => {
        await raw.close();
        await server[Symbol.asyncDispose]();
      },
    };
  });
});
