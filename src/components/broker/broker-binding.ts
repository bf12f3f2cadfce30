import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { field, type OptionFields, whole } from '../../util/option-fields.ts';
import {
  type Binding,
  BindingError,
  type BindingEvent,
  type BindingOptions,
  type BindingRequest,
  type DeliverBindingEvent,
} from '../binding.ts';
import { BINDING_FIELDS } from '../binding-options.ts';
import type { ComponentContext } from '../component.ts';
import type { Delivery, Message } from '../pubsub.ts';
import { type BrokerClient, BrokerPubSub, DEFAULT_PUBLISH_TIMEOUT_MS } from './broker-pubsub.ts';

/** Options that all bindings to brokers have. @public */
export interface BrokerBindingOptions extends BindingOptions {
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** How many events the application handles at a time. Default 1: one after the other, as they come. */
  readonly concurrency?: number | undefined;
  /**
   * How often an event that was not accepted comes again, after 100 ms at first and up to 30 s; then it is dropped with
   * an error in the log. Default: without limit.
   */
  readonly maxRetries?: number | undefined;
  /**
   * The time limit of a call, reconnecting included. If it is over, the call fails, though the broker may have the
   * message. Default `5s`.
   */
  readonly publishTimeout?: Duration | undefined;
}

/** Their checks. */
export const BROKER_BINDING_FIELDS: OptionFields<BrokerBindingOptions> = {
  ...BINDING_FIELDS,
  concurrency: whole(1, 1_000),
  maxRetries: field((value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number of 0 or more'),
  publishTimeout: duration(1),
};

/** The parts that a technology defines. */
export interface BrokerBindingDeps<Handle> {
  readonly client: BrokerClient<Handle>;
  readonly options: BrokerBindingOptions;
  readonly context: ComponentContext;
  /** What is read; none: it is no input. */
  readonly topics: readonly string[];
  /** The name of the group at the broker. */
  readonly group: string;
  /** The message of a call. @throws BindingError for a call that the broker cannot carry */
  readonly messageOf: (request: BindingRequest) => Pick<Message, 'topic' | 'metadata' | 'expiresAt'>;
  /** What an event tells beside its data. */
  readonly metadataOf: (message: Message) => BindingEvent['metadata'];
}

const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 30_000, factor: 2, jitter: 0.2 };

/** A binding to a broker, on its pub/sub client: events and calls are messages without an envelope. */
export class BrokerBinding<Handle> implements Binding {
  readonly #deps: BrokerBindingDeps<Handle>;
  readonly #pubsub: BrokerPubSub<Handle>;
  #messages = 0;

  constructor(deps: BrokerBindingDeps<Handle>) {
    this.#deps = deps;
    const { client, context, options } = deps;
    this.#pubsub = new BrokerPubSub(client, context, msOf(options.publishTimeout) ?? DEFAULT_PUBLISH_TIMEOUT_MS);
  }

  get failure(): Error | undefined {
    const { failure } = this.#deps.client;
    return failure === undefined ? undefined : new Error(failure);
  }

  async invoke(request: BindingRequest): Promise<undefined> {
    const id = `${++this.#messages}`;
    const message = this.#deps.messageOf(request);
    const parts = { id, data: request.data, contentType: 'application/json', raw: true };
    try {
      const [failed] = await this.#pubsub.publish([{ ...message, ...parts }]);
      if (failed !== undefined) throw failed.error;
    } catch (error) {
      // The texts of brokers and their clients have addresses.
      throw error instanceof BindingError ? error : new BindingError(REFUSED, {}, { cause: error });
    }
  }

  /** Each topic has its own consumer. */
  async read(deliver: DeliverBindingEvent, signal: AbortSignal): Promise<void> {
    const reading = this.#deps.topics.map((topic) => this.#readTopic(topic, deliver, signal));
    const failed = (await Promise.allSettled(reading)).find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    // Without topics there is nothing to read.
    await aborted(signal);
  }

  async #readTopic(topic: string, deliver: DeliverBindingEvent, signal: AbortSignal): Promise<void> {
    const { options, group } = this.#deps;
    const underWay = new Set<Promise<void>>();
    const subscription = await this.#pubsub.subscribe({
      ...{ topic, group, maxInFlight: options.concurrency ?? 1, ordered: false, paused: signal.aborted },
      deliver: (deliveries) => {
        for (const delivery of deliveries) {
          const handled = this.#handle(delivery, deliver).finally(() => underWay.delete(handled));
          underWay.add(handled);
        }
      },
    });
    await aborted(signal);
    subscription.pause();
    await Promise.all(underWay);
    await subscription.close();
  }

  /** Never rejects. */
  async #handle(delivery: Delivery, deliver: DeliverBindingEvent): Promise<void> {
    const { message, attempt } = delivery;
    const { context, options, metadataOf } = this.#deps;
    const { logger } = context;
    try {
      const isAccepted = await deliver({ data: message.data, metadata: metadataOf(message) }).then(
        () => true,
        () => false,
      );
      if (isAccepted) return await delivery.ack();
      if (attempt <= (options.maxRetries ?? Number.POSITIVE_INFINITY))
        return await delivery.retry(backoffDelayMs(BACKOFF, attempt, Math.random));
      logger.error(
        { topic: message.topic, attempts: attempt },
        'an event of a binding is dropped: its retries are over',
      );
      await delivery.ack();
    } catch (error) {
      // The connection that delivered it is gone: the broker delivers it again.
      logger.debug({ topic: message.topic, error }, 'an event of a binding could not be settled');
    }
  }

  close(): Promise<void> {
    return this.#pubsub.close();
  }
}

const REFUSED = 'the broker did not confirm the message: it cannot be reached, did not answer in time, or refuses it';

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
