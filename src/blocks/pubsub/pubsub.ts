import { definedOnly } from '../../util/defined-only.ts';
import { ANY_TEXT, checkOptions, invalidArgument, type OptionFields } from '../../util/option-fields.ts';
import { inCode } from '../in-code.ts';
import { NO_METADATA } from '../request-metadata.ts';
import { type BulkHandler, deliverBatches } from './delivery/bulk-handler.ts';
import { deliverData, deliverEvents, type MakeDeliver } from './delivery/code-handler.ts';
import type { SubscriptionDefinition } from './delivery/define-subscription.ts';
import {
  checkSubscribeBulkOptions,
  checkSubscribeOptions,
  type SubscribeBulkOptions,
  type SubscribeOptions,
  type Subscription,
} from './delivery/subscribe-options.ts';
import type { MessageHandler, RouteSubscription, TopicHandler } from './delivery/subscription.ts';
import type { SubscriptionInfo } from './delivery/subscription-info.ts';
import { type DeadLetter, DeadLetters, type DeadLettersFilter } from './operating/dead-letters.ts';
import type { RedeliverOptions, RouteExplanation } from './operating/queue-types.ts';
import { checkEntryIds } from './publishing/bulk-publish.ts';
import { checkAsSent } from './publishing/check-as-sent.ts';
import type { PublishDestination } from './publishing/envelope.ts';
import { encodeData } from './publishing/payload.ts';
import { maxBulkPubBytes, mergedMetadata, publishRules } from './publishing/publish-metadata.ts';
import {
  type BulkPublishEntry,
  type BulkPublishOptions,
  checkBulkOptions,
  checkPublishOptions,
  metadataOf,
  metadataOfEntry,
  type PublishOptions,
} from './publishing/publish-options.ts';
import { checkTopic, isDefinition, named, type TopicDefinition } from './publishing/topic.ts';
import type { PubSubService } from './pubsub-service.ts';
import { Queues } from './queues.ts';

const EXPLAIN_FIELDS: OptionFields<Pick<PublishOptions, 'contentType'>> = { contentType: ANY_TEXT };

/** A subscription in code, checked as far as it can be without its component. */
interface Prepared {
  readonly options: RouteSubscription;
  readonly makeDeliver: MakeDeliver;
}

/**
 * Publish and subscribe. Delivery is at least once: a message is settled only after the application has responded.
 *
 * @public
 */
export class PubSub {
  /** Its queues, to operate the application. */
  readonly queues: Queues;
  readonly #service: PubSubService;
  readonly #deadLetters: DeadLetters;

  /** @internal */
  constructor(service: PubSubService) {
    this.#service = service;
    this.queues = new Queues(service.queues, () => service.admit());
    this.#deadLetters = new DeadLetters(service);
  }

  /**
   * Publishes one message to a topic. Resolves when the component has accepted it.
   *
   * @throws SidecarError `ERR_INVALID_DATA` for data that do not fit the schema of the topic; else with the codes of the
   * HTTP API: `ERR_PUBSUB_NOT_FOUND`, `ERR_PUBSUB_FORBIDDEN`, `ERR_PUBSUB_CLOUD_EVENTS_SER`,
   * `ERR_PUBSUB_PUBLISH_MESSAGE`, …
   * @example
   * ```ts
   * const orders = defineTopic<{ id: number }>('orders');
   * await sidecar.pubsub.publish(orders, { id: 1 }, { ttl: '1m' });
   * ```
   */
  publish<Input>(topic: TopicDefinition<Input, unknown>, data: NoInfer<Input>, options?: PublishOptions): Promise<void>;
  /** Publishes one message to the topic of a name. */
  publish<T>(pubsubName: string, topic: string, data: T, options?: PublishOptions): Promise<void>;
  publish(to: TopicDefinition | string, second: unknown, third?: unknown, fourth?: unknown): Promise<void> {
    if (isDefinition(to)) return this.#publishTyped(to, second, third);
    return this.#publish(() => named('publish', to, second), third, fourth);
  }

  async #publishTyped(topic: TopicDefinition, data: unknown, options: unknown): Promise<void> {
    this.#service.admit();
    checkTopic(topic, 'the topic of publish');
    const destination = this.#service.destinationOf(topic);
    await this.#publish(() => destination, data, options, topic);
  }

  async #publish(
    destinationOf: () => PublishDestination,
    data: unknown,
    given: unknown,
    topic?: TopicDefinition,
  ): Promise<void> {
    try {
      this.#service.admit();
      const destination = destinationOf();
      const options = (given === undefined ? {} : given) as PublishOptions;
      checkPublishOptions(options);
      const metadata = metadataOf(options);
      const target = this.#service.targetInCode(destination, metadata);
      const rules = publishRules(metadata, destination.pubsubName);
      const form = { contentType: options.contentType, rawPayload: rules.rawPayload };
      const encoded = encodeData(data, form, target.address);
      if (topic?.schema !== undefined) await checkAsSent(topic, data, encoded);
      await this.#service.send(target, {
        address: target.address,
        bytes: encoded.bytes,
        contentType: encoded.contentType,
        metadata,
        rules,
        trace: options.trace,
      });
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * Publishes several messages. Resolves when the component has accepted all of them.
   *
   * @throws SidecarError like `publish`. If some entries failed, `ERR_PUBSUB_PUBLISH_MESSAGE` with
   * `failedEntries`: all others are published.
   * @example
   * ```ts
   * const orders = defineTopic<{ id: number }>('orders');
   * await sidecar.pubsub.publishBulk(orders, [
   *   { entryId: '1', event: { id: 1 } },
   *   { entryId: '2', event: { id: 2 } },
   * ]);
   * ```
   */
  publishBulk<Input>(
    topic: TopicDefinition<Input, unknown>,
    entries: readonly BulkPublishEntry<NoInfer<Input>>[],
    options?: BulkPublishOptions,
  ): Promise<void>;
  /** Publishes several messages to the topic of a name. */
  publishBulk(
    pubsubName: string,
    topic: string,
    entries: readonly BulkPublishEntry[],
    options?: BulkPublishOptions,
  ): Promise<void>;
  async publishBulk(to: TopicDefinition | string, ...rest: readonly unknown[]): Promise<void> {
    try {
      this.#service.admit();
      const isTyped = isDefinition(to);
      if (isTyped) checkTopic(to, 'the topic of publishBulk');
      const destination = isTyped ? this.#service.destinationOf(to) : named('publishBulk', to, rest[0]);
      const [entries, options = {}] = (isTyped ? rest : rest.slice(1)) as [
        readonly BulkPublishEntry[],
        BulkPublishOptions?,
      ];
      const { pubsubName } = destination;
      checkBulkOptions(options, entries);
      const metadata = metadataOf(options);
      const target = this.#service.targetInCode(destination, metadata, true);
      const { address } = target;
      const limitBytes = maxBulkPubBytes(metadata, pubsubName);
      const publishes = entries.map((entry) => {
        const { entryId, event, contentType } = entry;
        const own = metadataOfEntry(entry);
        const merged = own === undefined ? metadata : mergedMetadata(metadata, own);
        const rules = publishRules(merged, pubsubName);
        const encoded = encodeData(event, { contentType, rawPayload: rules.rawPayload }, address);
        return { entryId, publish: { address, metadata: merged, rules, trace: options.trace, ...encoded } };
      });
      checkEntryIds(entries, address);
      if (isTyped && to.schema !== undefined)
        for (const [index, { publish }] of publishes.entries()) await checkAsSent(to, entries[index]?.event, publish);
      await this.#service.sendBulk(target, publishes, limitBytes);
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * Calls a function for every message of a topic, in the group of this app ID or in a group of its own. The function
   * gets the data and, second, their context with the event. A delivery lasts until the function returns, however long
   * that takes. A delivery without a time-out that takes more than five minutes is logged as a warning, once.
   *
   * Before the start this resolves at once; the subscription is there before the first message can be published, and the
   * function is called from the start on. After it, this resolves when the function receives messages.
   *
   * Data that do not fit the schema of the topic are dead-lettered with the reason, or dropped with an error in the log
   * where there is no dead-letter topic. Such a message is not delivered again.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`; `ERR_PUBSUB_FORBIDDEN`; `ERR_INVALID_ARGUMENT` for invalid options and a
   * handler that is not a function; `ERR_CONFIGURATION` for a second subscription to a topic in one group without `competing: true`, before
   * the start from `start()`; `ERR_PUBSUB_SUBSCRIBE` if the component cannot, for example because its broker does not
   * answer: a subscription of before the start is tried again instead.
   * @example
   * ```ts
   * const orders = defineTopic<{ id: number }>('orders');
   * const subscription = await sidecar.pubsub.subscribe(orders, (order, { signal }) => ship(order, signal), {
   *   deadLetterTopic: 'dead-orders',
   *   concurrency: 5,
   * });
   * await subscription.close();
   * ```
   */
  subscribe<Output>(
    topic: TopicDefinition<unknown, Output>,
    handler: TopicHandler<Output>,
    options?: SubscribeOptions,
  ): Promise<Subscription>;
  /** Calls a function for every message of the topic of a name. It gets the event, whose `data` may be absent. */
  subscribe<T = unknown>(
    pubsubName: string,
    topic: string,
    handler: MessageHandler<T>,
    options?: SubscribeOptions,
  ): Promise<Subscription>;
  async subscribe(to: TopicDefinition | string, ...rest: readonly unknown[]): Promise<Subscription> {
    const [first, second, third] = rest;
    const { options, makeDeliver } = isDefinition(to)
      ? this.#typed(to, first, second)
      : this.#byName(named('subscribe', to, first), second, third);
    return subscriptionOf(await this.#service.subscribe(options, makeDeliver));
  }

  /**
   * Like `subscribe`, for batches: the function gets a list of messages, at most `maxMessagesCount`, and its
   * result says which of them are done. A batch is delivered when it is full, or when its oldest message has waited for
   * `maxAwaitDuration`; `concurrency` is the number of batches at a time. Order is not kept.
   *
   * Data that do not fit the schema of the topic are dead-lettered by themselves, and are not in the batch.
   *
   * @throws SidecarError as `subscribe` does.
   * @example
   * ```ts
   * const clicks = defineTopic<{ page: string }>('clicks');
   * await sidecar.pubsub.subscribeBulk(clicks, (entries) => insert(entries.map(({ data }) => data)), {
   *   maxMessagesCount: 500,
   *   maxAwaitDuration: '200ms',
   * });
   * ```
   */
  subscribeBulk<Output>(
    topic: TopicDefinition<unknown, Output>,
    handler: BulkHandler<Output>,
    options?: SubscribeBulkOptions,
  ): Promise<Subscription>;
  /** Calls a function for batches of messages of the topic of a name. */
  subscribeBulk<T = unknown>(
    pubsubName: string,
    topic: string,
    handler: BulkHandler<T>,
    options?: SubscribeBulkOptions,
  ): Promise<Subscription>;
  async subscribeBulk(to: TopicDefinition | string, ...rest: readonly unknown[]): Promise<Subscription> {
    const isTyped = isDefinition(to);
    if (isTyped) checkTopic(to, 'the topic of subscribeBulk');
    const destination = isTyped ? this.#service.destinationOf(to) : named('subscribeBulk', to, rest[0]);
    const topic = isTyped ? to : { name: destination.topic, schema: undefined };
    const [handler, given = {}] = (isTyped ? rest : rest.slice(1)) as [BulkHandler<unknown>, SubscribeBulkOptions?];
    checkSubscribeBulkOptions(destination.topic, handler, given);
    const { maxMessagesCount, maxAwaitDuration, ...options } = given;
    const bulkSubscribe = { enabled: true, ...definedOnly({ maxMessagesCount, maxAwaitDuration }) };
    const inCode = { ...optionsInCode(destination, options), bulkSubscribe };
    return subscriptionOf(await this.#service.subscribe(inCode, deliverBatches(topic, handler)));
  }

  /** Adds a subscription before the start. @internal */
  attach({ topic, handler, options }: SubscriptionDefinition): void {
    const attached = this.#typed(topic, handler, options);
    this.#service.attach(attached.options, attached.makeDeliver);
  }

  #byName(destination: PublishDestination, handler: unknown, given: unknown = {}): Prepared {
    checkSubscribeOptions(destination.topic, handler, given as SubscribeOptions);
    const options = optionsInCode(destination, given as SubscribeOptions);
    return { options, makeDeliver: deliverEvents(handler as MessageHandler<unknown>) };
  }

  #typed(topic: TopicDefinition, handler: unknown, given: unknown = {}): Prepared {
    checkTopic(topic, 'the topic of subscribe');
    const destination = this.#service.destinationOf(topic);
    checkSubscribeOptions(destination.topic, handler, given as SubscribeOptions);
    const options = optionsInCode(destination, given as SubscribeOptions);
    return { options, makeDeliver: deliverData(topic, handler as TopicHandler<unknown>) };
  }

  /**
   * The dead letters of all queues, or those that a filter means, for `for await`. Nothing is consumed.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for a filter that cannot be understood, `ERR_PUBSUB_NOT_FOUND`; with the first
   * dead letter.
   * @example
   * ```ts
   * for await (const letter of sidecar.pubsub.deadLetters<{ id: number }>({ topic: 'orders' }))
   *   if (letter.reason.includes('timeout')) await letter.redeliver();
   *   else console.log(letter.data.id, letter.reason);
   * ```
   */
  deadLetters<T = unknown>(filter: DeadLettersFilter = {}): AsyncIterable<DeadLetter<T>> {
    return this.#deadLetters.list(filter) as AsyncIterable<DeadLetter<T>>;
  }

  /**
   * Moves dead letters to the groups that could not process them, or to `to`: all of them, or those that a filter means.
   * What fails in one queue does not keep the others from it; the first error is thrown in the end.
   *
   * @returns how many were moved; 0 when there are none
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND` if the queue of an origin, or of `to`, is gone; `ERR_QUEUE_BUSY` if another
   * host is handing the dead letters out; `ERR_INVALID_ARGUMENT`.
   * @example
   * ```ts
   * console.log(await sidecar.pubsub.redeliverAll({ topic: 'orders', reason: '503' }), 'are tried again');
   * ```
   */
  async redeliverAll(filter: DeadLettersFilter = {}, options: Pick<RedeliverOptions, 'to'> = {}): Promise<number> {
    return this.#deadLetters.redeliverAll(filter, options);
  }

  /**
   * Removes dead letters for good: all of them, or those that a filter means.
   *
   * @returns how many were removed; 0 when there are none
   * @throws SidecarError `ERR_QUEUE_BUSY`, `ERR_INVALID_ARGUMENT`; see {@link PubSub.redeliverAll}.
   * @example
   * ```ts
   * await sidecar.pubsub.discardAll({ until: Date.now() - 30 * 24 * 3_600_000 });
   * ```
   */
  discardAll(filter: DeadLettersFilter = {}): Promise<number> {
    return this.#deadLetters.discardAll(filter);
  }

  /**
   * The subscriptions of this sidecar, refused ones too, and whether they receive messages.
   *
   * @example
   * ```ts
   * for (const { topic, group } of sidecar.pubsub.subscriptions()) console.log(topic, group);
   * ```
   */
  subscriptions(): readonly SubscriptionInfo[] {
    return this.#service.describe();
  }

  /**
   * Where an event goes when it is published to a topic, and why: the rules of every subscription and what comes of them.
   * Nothing is published.
   *
   * @param event - what would be published: a `CloudEvent`, or data
   * @param options - its content type, as for `publish`
   * @example
   * ```ts
   * console.log(sidecar.pubsub.explain('pubsub', 'orders', { type: 'order.placed', data: { amount: 12 } }));
   * ```
   */
  explain(
    pubsubName: string,
    topic: string,
    event: unknown,
    options: Pick<PublishOptions, 'contentType'> = {},
  ): RouteExplanation {
    checkOptions('options of explain', options, EXPLAIN_FIELDS, invalidArgument);
    try {
      const { address } = this.#service.targetInCode({ pubsubName, topic }, NO_METADATA);
      const { bytes, contentType } = encodeData(
        event,
        { contentType: options.contentType, rawPayload: false },
        address,
      );
      const rules = publishRules(NO_METADATA, pubsubName);
      const publish = { address, bytes, contentType, metadata: NO_METADATA, rules, trace: undefined };
      return this.#service.explain(address, publish);
    } catch (error) {
      throw inCode(error);
    }
  }
}

function optionsInCode({ pubsubName, topic }: PublishDestination, options: SubscribeOptions): RouteSubscription {
  const { rawPayload, metadata, ...rest } = options;
  const raw = rawPayload ? { rawPayload: 'true' } : {};
  return { pubsubName, topic, route: '/', metadata: { ...metadata, ...raw }, ...rest };
}

function subscriptionOf(end: () => Promise<void>): Subscription {
  let ended: Promise<void> | undefined;
  const close = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  return { close, [Symbol.asyncDispose]: close };
}
