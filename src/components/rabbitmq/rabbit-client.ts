import { LruCache } from '../../util/lru.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import type { BrokerClient } from '../broker/broker-pubsub.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { Held, LineOptions, LineReceiver } from '../broker/line.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import { DelayQueues } from './delay-queues.ts';
import { addressed, again } from './message-properties.ts';
import type { RabbitConnection } from './rabbit-connection.ts';
import { type PreparedQueue, type RabbitHandle, RabbitLine } from './rabbit-line.ts';
import { RabbitPublisher } from './rabbit-publisher.ts';
import { RabbitTopology } from './rabbit-topology.ts';
import { exchangeOf, queuePlanOf, type Settings } from './settings.ts';

/** Of so many topics whose name is cut at the broker the whole name is known, for reports. */
const MAX_LONG_TOPICS = 1_000;
/** How long a message that goes back to the broker may take. */
const SEND_AGAIN_LIMIT_MS = 5_000;

/** The dependencies of a {@link RabbitClient}. */
export interface RabbitClientDeps {
  readonly name: string;
  /** Connections of their own: the server stops reading from publishers when it is short of memory. */
  readonly publishing: RabbitConnection;
  readonly consuming: RabbitConnection;
  readonly settings: Settings;
  /** For messages without their own that are no dead letters. */
  readonly ttlMs: number | undefined;
  readonly maxPrefetch: number;
  readonly propertiesToMetadata: boolean;
  readonly now: () => number;
  readonly newId: () => string;
  readonly random: () => number;
  readonly logger: LineOptions['logger'];
  /** Messages came to no queue, because the topic has none. */
  readonly noGroup: (topic: string) => void;
}

/** A sidecar's access to RabbitMQ. */
export class RabbitClient implements BrokerClient<RabbitHandle> {
  readonly name: string;
  readonly #deps: RabbitClientDeps;
  readonly #publisher: RabbitPublisher;
  /** By connection, since a failure of the one must not hold up the other. */
  readonly #topology: RabbitTopology;
  readonly #delays: DelayQueues;
  readonly #keyPrefix: string;
  /** By the name of the exchange, where that is not the topic. */
  readonly #longTopics = new LruCache<string>(MAX_LONG_TOPICS);
  #keys = 0;

  constructor(deps: RabbitClientDeps) {
    const { name, publishing, consuming, settings, logger, newId, noGroup } = deps;
    this.name = name;
    this.#deps = deps;
    this.#keyPrefix = newId();
    this.#topology = new RabbitTopology(consuming);
    this.#delays = new DelayQueues(this.#topology, consuming);
    const exchanges = new RabbitTopology(publishing);
    const topicOf = (exchange: string): string => this.#longTopics.get(exchange) ?? exchange;
    this.#publisher = new RabbitPublisher({
      connection: publishing,
      ensureExchange: (exchange) => exchanges.ensureExchange(exchangeOf(settings, exchange)),
      noQueue: (exchange) => noGroup(topicOf(exchange)),
      logger,
    });
  }

  get failure(): string | undefined {
    return this.#deps.publishing.failure;
  }

  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    const failures: PublishFailure[] = [];
    let open = messages.length;
    return new Promise((resolve) => {
      const settle = (index: number, error: Error | undefined): void => {
        if (error !== undefined) failures.push({ index, error });
        if (--open <= 0) resolve(failures.sort((one, other) => one.index - other.index));
      };
      if (open === 0) resolve(failures);
      for (const [index, message] of messages.entries())
        this.#publishOne(message, deadline, (error) => settle(index, error));
    });
  }

  #publishOne(message: Message, deadline: Deadline, settle: (error?: Error) => void): void {
    const { settings, now, ttlMs } = this.#deps;
    const { topic, data } = message;
    try {
      const { name: exchange } = exchangeOf(settings, topic);
      if (exchange !== topic) this.#longTopics.set(exchange, topic);
      const { routingKey, properties } = addressed(message, { key: this.#newKey(), now: now(), ttlMs });
      this.#publisher.publish({ exchange, routingKey, data, properties, deadline, settle });
    } catch (error) {
      settle(error as Error);
    }
  }

  #newKey(): string {
    return `${this.#keyPrefix}-${(++this.#keys).toString(36)}`;
  }

  async openLine(options: LineOptions, receiver: LineReceiver<RabbitHandle>): Promise<RabbitLine> {
    const { consuming: connection, maxPrefetch, propertiesToMetadata, newId, random } = this.#deps;
    const line = new RabbitLine(
      {
        connection,
        prepare: () => this.#prepare(options),
        sendAgain: (queue, entry) => this.#send(queue, entry),
        sendLater: (queue, entry, delayMs) => this.#sendLater(queue, entry, delayMs),
        ...{ maxPrefetch, propertiesToMetadata, newId, random },
      },
      options,
      receiver,
    );
    await line.open();
    return line;
  }

  async #prepare(options: LineOptions): Promise<PreparedQueue> {
    const { settings, consuming, logger } = this.#deps;
    const exchange = exchangeOf(settings, options.topic);
    const { queue, routingKeys, deadLetters } = queuePlanOf(settings, options, consuming.version[0]);
    await this.#topology.ensureExchange(exchange);
    if (deadLetters !== undefined) {
      await this.#topology.ensureExchange(deadLetters.exchange);
      await this.#topology.ensureQueue(deadLetters.queue);
      await this.#topology.bind(deadLetters.queue.name, deadLetters.exchange.name, ['']);
    }
    const isAutoDelete = await this.#topology.ensureQueue(queue);
    await this.#topology.bind(queue.name, exchange.name, routingKeys);
    if (isAutoDelete && !queue.autoDelete)
      logger.warn(
        { topic: exchange.name, queue: queue.name },
        'another program has declared the queue: it is deleted with its last consumer, and its messages are lost then',
      );
    return { name: queue.name, isAutoDelete };
  }

  #sendLater(queue: string, entry: Held<RabbitHandle>, delayMs: number): Promise<void> | undefined {
    const delayed = this.#delays.queueFor(queue, delayMs);
    return delayed?.then((name) => this.#send(name, entry));
  }

  /** Sends a message to a queue by its name. */
  async #send(routingKey: string, { message, attempts, handle }: Held<RabbitHandle>): Promise<void> {
    const deadline = { isOver: false };
    const properties = again(handle.message, message, attempts, this.#newKey());
    const sent = new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error));
      const { content: data } = handle.message;
      this.#publisher.publish({ exchange: '', routingKey, data, properties, deadline, settle });
    });
    try {
      await withTimeLimit(sent, SEND_AGAIN_LIMIT_MS, () => new Error(`${this.name} does not respond`));
    } finally {
      deadline.isOver = true;
    }
  }

  async close(): Promise<void> {
    const { publishing, consuming } = this.#deps;
    this.#publisher.close();
    await Promise.all([publishing.close(), consuming.close()]);
  }
}
