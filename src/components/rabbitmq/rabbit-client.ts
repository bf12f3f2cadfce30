import { LruCache } from '../../util/lru.ts';
import type { BrokerClient } from '../broker/broker-pubsub.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { LineOptions, LineReceiver } from '../broker/line.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import { addressed } from './message-properties.ts';
import type { RabbitConnection } from './rabbit-connection.ts';
import { type RabbitHandle, RabbitLine } from './rabbit-line.ts';
import { RabbitPublisher } from './rabbit-publisher.ts';
import { RabbitQueues } from './rabbit-queues.ts';
import { RabbitTopology } from './rabbit-topology.ts';
import { exchangeOf, type Settings } from './settings.ts';

/** Of so many topics whose name is cut at the broker the whole name is known, for reports. */
const MAX_LONG_TOPICS = 1_000;

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
  readonly #queues: RabbitQueues;
  readonly #keyPrefix: string;
  /** By the name of the exchange, where that is not the topic. */
  readonly #longTopics = new LruCache<string>(MAX_LONG_TOPICS);
  #keys = 0;

  constructor(deps: RabbitClientDeps) {
    const { name, publishing, consuming, settings, logger, newId, noGroup } = deps;
    this.name = name;
    this.#deps = deps;
    this.#keyPrefix = newId();
    const exchanges = new RabbitTopology(publishing);
    const topicOf = (exchange: string): string => this.#longTopics.get(exchange) ?? exchange;
    this.#publisher = new RabbitPublisher({
      connection: publishing,
      ensureExchange: (exchange) => exchanges.ensureExchange(exchangeOf(settings, exchange)),
      noQueue: (exchange) => noGroup(topicOf(exchange)),
      logger,
    });
    const newKey = (): string => this.#newKey();
    this.#queues = new RabbitQueues({
      name,
      connection: consuming,
      publisher: this.#publisher,
      settings,
      logger,
      newKey,
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
    const deps = { connection, queues: this.#queues, maxPrefetch, propertiesToMetadata, newId, random };
    const line = new RabbitLine(deps, options, receiver);
    await line.open();
    return line;
  }

  async close(): Promise<void> {
    const { publishing, consuming } = this.#deps;
    this.#publisher.close();
    await Promise.all([publishing.close(), consuming.close()]);
  }
}
