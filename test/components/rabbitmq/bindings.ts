import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import { afterAll, expect, test } from 'vitest';
import { rabbitmqBinding } from '../../../src/components/rabbitmq/index.ts';
import { bindingsWorld } from '../../support/bindings-world.ts';
import { brokerBindingTests } from '../../support/broker-bindings.ts';
import { until } from '../../support/stores-world.ts';
import { urlOf } from './broker.ts';

/** Bindings on a queue; `port` is that of a broker that runs. */
export function bindings(port: () => number): void {
  const used: string[] = [];
  afterAll(async () => {
    const connection = await connect(urlOf(port()));
    const channel = await connection.createChannel();
    for (const queue of used) await channel.deleteQueue(queue);
    await connection.close();
  });

  brokerBindingTests({
    define: (name, queueName, options = {}) => {
      used.push(queueName);
      return rabbitmqBinding(name, { url: urlOf(port()), queueName, ...options });
    },
    unreachable: (nothing) =>
      rabbitmqBinding('events', {
        url: `amqp://user:hidden@127.0.0.1:${nothing}`,
        queueName: 'a',
        publishTimeout: 300,
      }),
    carriesMetadata: true,
  });

  test('other programs see plain messages, and theirs come in', async () => {
    const queueName = `insidecar-binding-${randomUUID()}`;
    used.push(queueName);
    const connection = await connect(urlOf(port()));
    const channel = await connection.createChannel();
    // As daprd declares it.
    await channel.assertQueue(queueName, { durable: false, autoDelete: false });
    const url = urlOf(port());
    await using out = await bindingsWorld({
      components: [rabbitmqBinding('events', { url, queueName, direction: ['output'] })],
      hasApp: false,
    });
    const metadata = { colour: 'green', ttlInSeconds: '60', priority: '3' };
    expect((await out.invoke('events', { operation: 'create', data: { n: 1 }, metadata })).status).toBe(204);
    let message: Awaited<ReturnType<typeof channel.get>> = false;
    await until(
      async () => {
        message = await channel.get(queueName, { noAck: true });
        return message !== false;
      },
      () => 'the message',
    );
    expect(message).toMatchObject({
      properties: { expiration: '60000', priority: 3, deliveryMode: 2, headers: metadata },
    });
    expect(String((message as unknown as { content: Buffer }).content)).toBe('{"n":1}');
    await using world = await bindingsWorld({
      components: [rabbitmqBinding('events', { url, queueName, direction: ['input'] })],
    });
    channel.sendToQueue(queueName, Buffer.from('plain'), { headers: { shape: 'round', count: 3 } });
    await until(
      () => world.delivered.length === 1,
      () => 'the event',
    );
    expect(world.delivered[0]).toMatchObject({ body: 'plain', headers: { shape: 'round', count: '3' } });
    await connection.close();
  });

  test('a queue that was deleted is made again', async () => {
    const queueName = `insidecar-binding-${randomUUID()}`;
    used.push(queueName);
    const components = [rabbitmqBinding('events', { url: urlOf(port()), queueName, direction: ['output'] })];
    await using world = await bindingsWorld({ components, hasApp: false });
    const create = async () => (await world.invoke('events', { operation: 'create', data: 1 })).status;
    expect(await create()).toBe(204);
    const connection = await connect(urlOf(port()));
    const channel = await connection.createChannel();
    await channel.deleteQueue(queueName);
    expect(await create()).toBe(204);
    expect((await channel.checkQueue(queueName)).messageCount).toBe(1);
    await connection.close();
  });

  test.each([
    [{ ttlInSeconds: '0' }, 'metadata ttlInSeconds must be a whole number from 1'],
    [{ ttlInSeconds: 'soon' }, 'metadata ttlInSeconds must be'],
    [{ priority: '-1' }, 'metadata priority must be a whole number from 0 to 255'],
    [{ ['x'.repeat(300)]: 'y' }, 'which no header can have'],
  ])('refuses the metadata %o', async (metadata, problem) => {
    const components = [rabbitmqBinding('events', { url: urlOf(port()), queueName: 'a', direction: ['output'] })];
    await using world = await bindingsWorld({ components, hasApp: false });
    const { status, text } = await world.invoke('events', { operation: 'create', data: 1, metadata });
    expect([status, text.includes(problem)]).toEqual([500, true]);
  });

  test('refuses wrong options', () => {
    expect(() => rabbitmqBinding('events', {} as never)).toThrow('queueName');
    expect(() => rabbitmqBinding('events', { queueName: 'x'.repeat(256) })).toThrow('255 bytes');
    expect(() => rabbitmqBinding('events', { queueName: 'a', url: 'http://user:hidden@a' })).toThrow(/^(?!.*hidden)/s);
  });
}
