import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rabbitmqPubSub } from '../../../src/components/rabbitmq/index.ts';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { newTopic } from '../../../src/kit/pubsub-case.ts';
import { brokerFaults } from '../../support/broker-faults.ts';
import { until } from '../../support/broker-world.ts';
import { Certificates } from '../../support/certificates.ts';
import { freePort } from '../../support/http.ts';
import { hasRabbitmq, type OwnServer, rabbitmqctl, startRabbitmq } from '../../support/servers.ts';
import { openComponent, queueState, urlOf } from './broker.ts';

const PATIENCE_MS = 60_000;
const MAX_MESSAGE_BYTES = 10_000;
const optionsOf = (port: number) => ({ url: urlOf(port), maxReconnectDelay: 500 });

describe.skipIf(!hasRabbitmq())('faults', () => {
  brokerFaults(
    'RabbitMQ',
    async () => ({
      server: await startRabbitmq(),
      entry: 'rabbitmq',
      factory: 'rabbitmqPubSub',
      options: optionsOf,
      define: (port) => rabbitmqPubSub('pubsub', optionsOf(port)),
    }),
    { redeliveryMs: 1_000 },
  );
});

describe.skipIf(!hasRabbitmq())('on RabbitMQ,', () => {
  let server: OwnServer;
  let tlsPort: number;
  let certificates: Certificates;
  // A broker takes many seconds to start: one for all tests, with the settings of each.
  beforeAll(async () => {
    certificates = new Certificates();
    tlsPort = await freePort();
    const { ca, cert, key } = certificates;
    server = await startRabbitmq([
      `max_message_size = ${MAX_MESSAGE_BYTES}`,
      `listeners.ssl.1 = 127.0.0.1:${tlsPort}`,
      ...[`cacertfile = ${ca}`, `certfile = ${cert}`, `keyfile = ${key}`].map((file) => `ssl_options.${file}`),
    ]);
  }, PATIENCE_MS);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    certificates?.[Symbol.dispose]();
  });

  test('while the broker is short of memory, publishes wait, and consumers go on', {
    timeout: PATIENCE_MS,
  }, async () => {
    const { component, logger } = await openComponent(server.port, { publishTimeout: 20_000 });
    const topic = newTopic();
    const consumer = await Collector.join(component, { topic, maxInFlight: 1 });
    await publishTexts(component, topic, ['a', 'b']);
    const [first] = await consumer.expect(1);
    await rabbitmqctl(server, 'set_vm_memory_high_watermark', '0.0001');
    const blocked = [publishTexts(component, topic, ['c']), publishTexts(component, topic, ['d'])];
    await until('it is told', () => logger.at('warn').some(({ message }) => message.includes('short of memory')));
    blocked.push(publishTexts(component, topic, ['e']));
    await first?.ack();
    await consumer.expect(2);
    await rabbitmqctl(server, 'set_vm_memory_high_watermark', '0.6');
    await Promise.all(blocked);
    for (let count = 2; count < 5; count++) await (await consumer.expect(count)).at(-1)?.ack();
    await consumer.expect(5);
    expect([...consumer.texts].sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
    await component.close();
  });

  test('a message that is too large for the broker fails by itself', { timeout: PATIENCE_MS }, async () => {
    const { component } = await openComponent(server.port);
    const topic = newTopic();
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const failures = await component.publish(
      ['a', 'b'.repeat(2 * MAX_MESSAGE_BYTES), 'c', 'd'].map((text) => textMessage(topic, text)),
    );
    expect(failures.map(({ index, error }) => [index, error.message])).toEqual([
      [1, expect.stringContaining('message size 20000 is larger than')],
    ]);
    await until('the others arrived', () => new Set(consumer.texts).size === 3);
    await component.close();
  });

  test('without the right to write to the default exchange, messages go back without their count, at once', {
    timeout: PATIENCE_MS,
  }, async () => {
    await rabbitmqctl(server, 'add_user', 'limited', 'secret');
    await rabbitmqctl(server, 'set_permissions', 'limited', '.*', '^(?!amq[.]default$)', '.*');
    const limited = { username: 'limited', password: 'secret', queueType: 'classic' } as const;
    const { component, logger } = await openComponent(server.port, limited);
    const topic = newTopic();
    const consumer = await Collector.join(component, { topic, group: 'orders' }, (delivery) => {
      if (delivery.attempt < 3) void delivery.retry(0);
    });
    await publishTexts(component, topic, ['a']);
    await consumer.expect(3);
    const startedAt = performance.now();
    await component.close();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(logger.at('warn')).toMatchObject([{ details: { error: expect.stringContaining('403: ') } }]);
    expect(await queueState(server.port, `orders-${topic}`)).toMatchObject({ messageCount: 1 });
  });

  test('over TLS, with a certificate that is verified', { timeout: PATIENCE_MS }, async () => {
    const url = `amqps://localhost:${tlsPort}`;
    const { component } = await openComponent(0, { url, tls: certificates.trust });
    const topic = newTopic();
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await publishTexts(component, topic, ['a']);
    await consumer.expect(1);
    await component.close();
    const untrusting = await openComponent(0, { url, publishTimeout: 500 });
    await expect(Collector.join(untrusting.component, { topic })).rejects.toThrow(/cannot be reached: .*certificate/);
    await untrusting.component.close();
  });

  test('a wrong password is told without it', { timeout: PATIENCE_MS }, async () => {
    const { component, logger } = await openComponent(server.port, { username: 'guest', password: 'opensesame' });
    const refused = expect(Collector.join(component, { topic: 't' })).rejects;
    await refused.toThrow(/cannot be reached: .*403 \(ACCESS-REFUSED\)/);
    await component.close();
    expect(JSON.stringify(logger.lines)).not.toContain('opensesame');
  });
});
