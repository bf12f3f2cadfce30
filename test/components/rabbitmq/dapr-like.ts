import { type Channel, type ChannelModel, type ConsumeMessage, connect, type Options } from 'amqplib';
import { urlOf } from './broker.ts';

/** Metadata of daprd's component and subscription. */
export interface DaprSettings {
  readonly consumerID: string;
  /** What its application subscribes to. Default: it publishes only. */
  readonly topic?: string;
  readonly deletedWhenUnused?: boolean;
  readonly queueType?: string;
  readonly prefetchCount?: number;
  readonly routingKey?: string;
  readonly exchangeKind?: string;
}

/** Does at the broker what was recorded of daprd 1.18, with the driver alone. */
export class DaprLike {
  readonly messages: ConsumeMessage[] = [];
  readonly #settings: DaprSettings;
  readonly #connection: ChannelModel;
  readonly #channel: Channel;

  private constructor(settings: DaprSettings, connection: ChannelModel, channel: Channel) {
    this.#settings = settings;
    this.#connection = connection;
    this.#channel = channel;
  }

  static async start(port: number, settings: DaprSettings): Promise<DaprLike> {
    const connection = await connect(urlOf(port));
    connection.on('error', () => undefined);
    const channel = await connection.createChannel();
    // The operation that fails rejects.
    channel.on('error', () => undefined);
    const dapr = new DaprLike(settings, connection, channel);
    if (settings.topic !== undefined) await dapr.#subscribe(settings.topic);
    return dapr;
  }

  async #declare(topic: string): Promise<void> {
    const { deletedWhenUnused: autoDelete = true, exchangeKind = 'fanout' } = this.#settings;
    await this.#channel.assertExchange(topic, exchangeKind, { durable: true, autoDelete });
  }

  async #subscribe(topic: string): Promise<void> {
    const { consumerID, deletedWhenUnused: autoDelete = true, queueType = 'classic' } = this.#settings;
    const { prefetchCount, routingKey = '' } = this.#settings;
    const queue = `${consumerID}-${topic}`;
    await this.#declare(topic);
    await this.#channel.assertQueue(queue, { durable: true, autoDelete, arguments: { 'x-queue-type': queueType } });
    if (prefetchCount !== undefined) await this.#channel.prefetch(prefetchCount);
    await this.#channel.bindQueue(queue, topic, routingKey);
    await this.#channel.consume(queue, (message) => {
      if (message === null) return;
      this.messages.push(message);
      this.#channel.ack(message);
    });
  }

  get texts(): string[] {
    return this.messages.map(({ content }) => content.toString());
  }

  /** Publishes as daprd does: transient, unconfirmed. Resolves when the broker has it. */
  async publish(
    text: string,
    topic = this.#settings.topic ?? '',
    properties: Options.Publish = { contentType: 'text/plain' },
  ): Promise<void> {
    await this.#declare(topic);
    this.#channel.publish(topic, '', Buffer.from(text), properties);
    await this.#channel.checkExchange(topic);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
