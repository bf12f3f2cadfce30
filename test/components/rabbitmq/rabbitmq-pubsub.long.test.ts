import { afterAll, beforeAll, describe } from 'vitest';
import type { PubSubDefinition } from '../../../src/components/pubsub.ts';
import { rabbitmqPubSub } from '../../../src/components/rabbitmq/index.ts';
import { brokerFeatures } from '../../support/broker-features.ts';
import { publisherDeath } from '../../support/publisher-death.ts';
import { bindings } from './bindings.ts';
import { hasBroker, startBroker, type TestBroker, urlOf, withClient } from './broker.ts';
import { closing } from './closing.ts';
import { conformance } from './conformance.ts';
import { declarations } from './declarations.ts';
import { interop } from './interop.ts';
import { silence } from './silence.ts';
import { traffic } from './traffic.ts';

// All in one file: a server takes ten seconds and more to start.
describe.skipIf(!hasBroker())('RabbitMQ', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  }, 90_000);
  afterAll(() => broker?.[Symbol.asyncDispose]());
  const port = (): number => broker.port;

  conformance(port);
  bindings(port);
  interop(port);
  declarations(port);
  traffic(port);
  silence(port);
  closing(port);
  publisherDeath('RabbitMQ', async () => {
    const options = { url: urlOf(port()) };
    const define = (): PubSubDefinition => rabbitmqPubSub('pubsub', options);
    const [entry, factory] = ['rabbitmq', 'rabbitmqPubSub'];
    return { entry, factory, options, define, [Symbol.asyncDispose]: async () => undefined };
  });
  brokerFeatures('RabbitMQ', async () => ({
    port: port(),
    define: ({ port: other = port(), ...options } = {}) =>
      rabbitmqPubSub('pubsub', { url: urlOf(other), maxReconnectDelay: 500, ...options }),
    publishForeign: (topic, data) =>
      withClient(port(), async (connection) => {
        const channel = await connection.createConfirmChannel();
        channel.publish(topic, '', Buffer.from(data));
        await channel.waitForConfirms();
      }),
    [Symbol.asyncDispose]: async () => undefined,
  }));
});
