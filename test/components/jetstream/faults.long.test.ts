import { describe } from 'vitest';
import { jetstreamPubSub } from '../../../src/components/jetstream/index.ts';
import { brokerFaults } from '../../support/broker-faults.ts';
import { hasNats, startNats } from '../../support/servers.ts';

describe.skipIf(!hasNats())('with a server', () => {
  brokerFaults(
    'NATS JetStream',
    async () => {
      const server = await startNats();
      const options = (port: number): object => ({ url: `nats://127.0.0.1:${port}`, createStream: true });
      return {
        server,
        entry: 'jetstream',
        factory: 'jetstreamPubSub',
        options,
        define: (port) => jetstreamPubSub('pubsub', options(port)),
      };
    },
    { redeliveryMs: 12_000, lease: { options: { ackWait: 1_000 }, handlerMs: 3_500 } },
  );
});
