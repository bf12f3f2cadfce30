import { type ConfirmChannel, connect } from 'amqplib';
import type { Message } from '../../src/index.ts';
import { startRabbitmq } from '../../test/support/servers.ts';
import type { RawClient, RunningBroker } from './brokers.ts';
import { PUBLISH_PATH } from './payload.ts';

const QUORUM = { 'x-queue-type': 'quorum' };
/** Queues of what is published and never consumed keep the latest messages. */
const KEPT = { ...QUORUM, 'x-max-length': 1_000 };

class RawRabbitmq implements RawClient {
  readonly #channel: ConfirmChannel;

  constructor(channel: ConfirmChannel) {
    this.#channel = channel;
  }

  publish(topic: string, { data }: Message): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#channel.publish(topic, '', Buffer.from(data), { persistent: true }, (error: unknown) =>
        error ? reject(error) : resolve(undefined),
      );
    });
  }

  createGroup(topic: string, group: string): Promise<void> {
    return this.declare(topic, `${group}-${topic}`, QUORUM);
  }

  async declare(topic: string, queue: string, args: object): Promise<void> {
    await this.#channel.assertExchange(topic, 'fanout', { autoDelete: true });
    await this.#channel.assertQueue(queue, { arguments: args });
    await this.#channel.bindQueue(queue, topic, '');
  }

  async consume(topic: string, group: string, count: number, window: number): Promise<void> {
    await this.#channel.prefetch(window);
    let tag = '';
    await new Promise<void>((resolve, reject) => {
      let taken = 0;
      const take: Parameters<ConfirmChannel['consume']>[1] = (message) => {
        if (message === null) return;
        this.#channel.ack(message);
        if (++taken === count) resolve();
      };
      this.#channel.consume(`${group}-${topic}`, take).then(({ consumerTag }) => {
        tag = consumerTag;
      }, reject);
    });
    await this.#channel.cancel(tag);
  }
}

/** RabbitMQ with quorum queues. */
export async function startRabbitmqBroker(): Promise<RunningBroker> {
  const server = await startRabbitmq();
  const url = `amqp://127.0.0.1:${server.port}`;
  const connection = await connect(url, { noDelay: true });
  const raw = new RawRabbitmq(await connection.createConfirmChannel());
  const overHttp = PUBLISH_PATH.split('/').at(-1) ?? '';
  // What has no queue is not stored.
  for (const topic of ['published', 'published-raw', overHttp]) await raw.declare(topic, `kept-${topic}`, KEPT);
  return {
    options: { url },
    raw,
    [Symbol.asyncDispose]: async () => {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
