import type { BrokerClient } from '../broker/broker-pubsub.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { LineOptions, LineReceiver } from '../broker/line.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import type { Properties } from './driver.ts';
import { KEY_HEADER } from './message-properties.ts';
import type { RabbitConnection } from './rabbit-connection.ts';
import { type RabbitHandle, RabbitLine } from './rabbit-line.ts';
import { RabbitPublisher } from './rabbit-publisher.ts';
import type { PreparedQueue } from './rabbit-queues.ts';
import { type QueueSpec, RabbitTopology } from './rabbit-topology.ts';

/** The dependencies of a {@link RabbitQueueClient}. */
export interface RabbitQueueClientDeps {
  readonly name: string;
  readonly publishing: RabbitConnection;
  readonly consuming: RabbitConnection;
  readonly queue: QueueSpec;
  readonly maxPrefetch: number;
  readonly newId: () => string;
  readonly logger: LineOptions['logger'];
  /** The properties of a message, but for its key. */
  readonly propertiesOf: (message: Message) => Properties;
}

/** Access to one queue of RabbitMQ, without an exchange of its own. */
export class RabbitQueueClient implements BrokerClient<RabbitHandle> {
  readonly name: string;
  readonly #deps: RabbitQueueClientDeps;
  readonly #topology: RabbitTopology;
  readonly #publisher: RabbitPublisher;
  readonly #keyPrefix: string;
  #keys = 0;
  /** The queue, once it has been declared. */
  #prepared: Promise<PreparedQueue> | undefined;

  constructor(deps: RabbitQueueClientDeps) {
    this.name = deps.name;
    this.#deps = deps;
    this.#keyPrefix = deps.newId();
    // An exclusive queue belongs to the connection that reads it.
    this.#topology = new RabbitTopology(deps.consuming);
    this.#publisher = new RabbitPublisher({
      connection: deps.publishing,
      ensureExchange: async () => undefined,
      noQueue: () => undefined,
      logger: deps.logger,
    });
  }

  get failure(): string | undefined {
    return this.#deps.publishing.failure ?? this.#deps.consuming.failure;
  }

  async publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    const failures: PublishFailure[] = [];
    await Promise.all(
      messages.map(async (message, index) => {
        try {
          await this.#publishOne(message, deadline);
        } catch (error) {
          failures.push({ index, error: error as Error });
        }
      }),
    );
    return failures;
  }

  async #publishOne(message: Message, deadline: Deadline): Promise<void> {
    const before = this.#prepared;
    await this.#prepare();
    try {
      await this.#send(message, deadline);
    } catch (error) {
      // The queue may have gone with its last reader, or with the server, since it was declared.
      if (before === undefined || before !== this.#prepared || deadline.isOver) throw error;
      this.#prepared = undefined;
      await this.#prepare();
      await this.#send(message, deadline);
    }
  }

  #send(message: Message, deadline: Deadline): Promise<void> {
    const { queue, propertiesOf } = this.#deps;
    const given = propertiesOf(message);
    const key = `${this.#keyPrefix}-${(++this.#keys).toString(36)}`;
    const properties = {
      ...given,
      persistent: true,
      mandatory: true,
      headers: { ...given.headers, [KEY_HEADER]: key },
    };
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error));
      const { data } = message;
      this.#publisher.publish({ exchange: '', routingKey: queue.name, data, properties, deadline, settle });
    });
  }

  /** Declares the queue if it is not there, once. */
  #prepare(): Promise<PreparedQueue> {
    const { queue, consuming } = this.#deps;
    this.#prepared ??= (async () => {
      await consuming.opened();
      return { name: queue.name, isAutoDelete: await this.#topology.ensureQueue(queue) };
    })().catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  async openLine(options: LineOptions, receiver: LineReceiver<RabbitHandle>): Promise<RabbitLine> {
    const { consuming: connection, maxPrefetch, newId } = this.#deps;
    const prepare = (): Promise<PreparedQueue> => {
      this.#prepared = undefined;
      return this.#prepare();
    };
    const deps = { connection, queues: { prepare }, maxPrefetch, newId, random: Math.random };
    const line = new RabbitLine({ ...deps, propertiesToMetadata: 'headers' }, options, receiver);
    await line.open();
    return line;
  }

  async close(): Promise<void> {
    const { publishing, consuming } = this.#deps;
    this.#publisher.close();
    await Promise.all([publishing.close(), consuming.close()]);
  }
}
