import { Producer } from '@platformatic/kafka';
import { describe } from 'vitest';
import { brokerFeatures } from '../../support/broker-features.ts';
import { hasBroker, KafkaTestBroker } from './kafka-test-broker.ts';

describe.runIf(hasBroker())('features', () => {
  brokerFeatures('Kafka', async () => {
    const broker = await KafkaTestBroker.start();
    const other = new Producer({ clientId: 'other', bootstrapBrokers: broker.brokers, autocreateTopics: true });
    return {
      port: broker.port,
      // The client ID has the broker send all connections through the proxy.
      define: ({ port, ...options } = {}) =>
        broker.define({
          ...(port === undefined ? {} : { brokers: [`127.0.0.1:${port}`], clientId: `via-${port}` }),
          // A message that nobody has subscribed to yet is told by no test to be skipped.
          ...{ initialOffset: 'oldest', ...options },
        }),
      publishForeign: async (topic, data) =>
        void (await other.send({ messages: [{ topic, value: Buffer.from(data) }], acks: -1 })),
      [Symbol.asyncDispose]: async () => {
        await other.close();
        await broker[Symbol.asyncDispose]();
      },
    };
  });
});
