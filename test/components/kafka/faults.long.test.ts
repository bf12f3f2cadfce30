import { describe } from 'vitest';
import { kafkaPubSub } from '../../../src/components/kafka/index.ts';
import { brokerFaults } from '../../support/broker-faults.ts';
import { hasKafka, startKafka } from '../../support/servers.ts';
import { createTopic } from './kafka-test-broker.ts';

describe.runIf(hasKafka())('faults', () => {
  const optionsOf = (port: number, own: number) => ({
    brokers: [`127.0.0.1:${port}`],
    // The client ID has the broker send all connections through the proxy, if there is one.
    ...(port === own ? {} : { clientId: `via-${port}` }),
    ...{ sessionTimeout: 6_000, heartbeatInterval: 500 },
  });
  brokerFaults(
    'Kafka',
    async () => {
      const server = await startKafka();
      return {
        ...{ server, entry: 'kafka', factory: 'kafkaPubSub' },
        options: (port) => optionsOf(port, server.port),
        // The broker forgets topics that it has created by itself when it is killed.
        createTopic: (topic) => createTopic(server.port, topic, 8),
        define: (port) => kafkaPubSub('pubsub', optionsOf(port, server.port)),
      };
    },
    // The session timeout, and the time in which the others notice.
    { redeliveryMs: 9_000 },
  );
});
