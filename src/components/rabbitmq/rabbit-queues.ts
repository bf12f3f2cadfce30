import { withTimeLimit } from '../../util/time-limit.ts';
import type { Held, LineOptions } from '../broker/line.ts';
import { DelayQueues } from './delay-queues.ts';
import { again } from './message-properties.ts';
import type { RabbitConnection } from './rabbit-connection.ts';
import type { RabbitHandle } from './rabbit-line.ts';
import type { RabbitPublisher } from './rabbit-publisher.ts';
import { RabbitTopology } from './rabbit-topology.ts';
import { exchangeOf, queuePlanOf, type Settings } from './settings.ts';

/** How long a message that goes back to the broker may take. */
const SEND_AGAIN_LIMIT_MS = 5_000;

/** A queue to consume. */
export interface PreparedQueue {
  readonly name: string;
  /** Whether it is deleted, with its messages, when it has no consumer. */
  readonly isAutoDelete: boolean;
}

/** The dependencies of {@link RabbitQueues}. */
export interface RabbitQueuesDeps {
  /** The name of the broker. */
  readonly name: string;
  /** The connection for consuming. */
  readonly connection: RabbitConnection;
  readonly publisher: RabbitPublisher;
  readonly settings: Settings;
  readonly logger: LineOptions['logger'];
  /** Makes keys by which deliveries of a message are recognised. */
  readonly newKey: () => string;
}

/** The queues of groups: declares them, and sends messages back to them. */
export class RabbitQueues {
  readonly #deps: RabbitQueuesDeps;
  /** Of the connection for consuming: a failure of the one for publishing must not hold it up. */
  readonly #topology: RabbitTopology;
  readonly #delays: DelayQueues;

  constructor(deps: RabbitQueuesDeps) {
    this.#deps = deps;
    this.#topology = new RabbitTopology(deps.connection);
    this.#delays = new DelayQueues(this.#topology, deps.connection);
  }

  /** Declares the queue of a group, its exchange and its dead letters, if they do not exist. */
  async prepare(options: LineOptions): Promise<PreparedQueue> {
    const { settings, connection, logger } = this.#deps;
    const exchange = exchangeOf(settings, options.topic);
    const { queue, routingKeys, deadLetters } = queuePlanOf(settings, options, connection.version[0]);
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

  /** Sends a message to a queue in `delayMs`; `undefined` if the broker cannot delay it. */
  sendLater(queue: string, entry: Held<RabbitHandle>, delayMs: number): Promise<void> | undefined {
    const delayed = this.#delays.queueFor(queue, delayMs);
    return delayed?.then((name) => this.sendAgain(name, entry));
  }

  /** Sends a message to a queue again, with the number of its deliveries. */
  async sendAgain(queue: string, { message, attempts, handle }: Held<RabbitHandle>): Promise<void> {
    const { name, publisher, newKey } = this.#deps;
    const deadline = { isOver: false };
    const properties = again(handle.message, message, attempts, newKey());
    const sent = new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error));
      const { content: data } = handle.message;
      publisher.publish({ exchange: '', routingKey: queue, data, properties, deadline, settle });
    });
    try {
      await withTimeLimit(sent, SEND_AGAIN_LIMIT_MS, () => new Error(`${name} does not respond`));
    } finally {
      deadline.isOver = true;
    }
  }
}
