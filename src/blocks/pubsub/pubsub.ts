import type { QueueEntry } from '../../components/queue-access.ts';
import { ANY_TEXT, ANYTHING, badRequest, checkOptions, type OptionFields } from '../../util/option-fields.ts';
import { NO_METADATA } from '../request-metadata.ts';
import { deliverToCode } from './delivery/code-handler.ts';
import { checkSubscribeOptions, type SubscribeOptionsInCode, type Subscription } from './delivery/subscribe-options.ts';
import type { MessageHandler } from './delivery/subscription.ts';
import type { QueueName, SubscriptionInfo } from './delivery/subscription-info.ts';
import type {
  MessageSelection,
  QueuedPage,
  QueueReadOptions,
  QueueState,
  RedeliverOptions,
  RouteExplanation,
} from './operating/queue-types.ts';
import { checkEntryIds } from './publishing/bulk-publish.ts';
import { encodeData } from './publishing/payload.ts';
import { maxBulkPubBytes, mergedMetadata, publishRules } from './publishing/publish-metadata.ts';
import {
  type BulkPublishEntry,
  type BulkPublishOptions,
  checkBulkOptions,
  checkPublishOptions,
  metadataOf,
  type PublishOptions,
} from './publishing/publish-options.ts';
import type { PubSubService } from './pubsub-service.ts';

const LIST_FIELDS: OptionFields<{ readonly pubsubName?: string; readonly topic?: string }> = {
  pubsubName: ANYTHING,
  topic: ANYTHING,
};

const EXPLAIN_FIELDS: OptionFields<Pick<PublishOptions, 'contentType'>> = { contentType: ANY_TEXT };

/**
 * Publish and subscribe. Delivery is at least once: a message is settled only after the application has responded.
 *
 * @public
 */
export class PubSub {
  readonly #service: PubSubService;

  /** @internal */
  constructor(service: PubSubService) {
    this.#service = service;
  }

  /**
   * Publishes one message. Resolves when the component has accepted it.
   *
   * @throws SidecarError with the codes of the HTTP API: `ERR_PUBSUB_NOT_FOUND`, `ERR_PUBSUB_FORBIDDEN`,
   * `ERR_PUBSUB_CLOUD_EVENTS_SER`, `ERR_PUBSUB_PUBLISH_MESSAGE`, …
   * @example
   * ```ts
   * await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 }, { ttlMs: 60_000 });
   * ```
   */
  async publish<T>(pubsubName: string, topic: string, data: T, options: PublishOptions = {}): Promise<void> {
    this.#service.admit();
    checkPublishOptions(options);
    const metadata = metadataOf(options);
    const target = this.#service.targetInCode({ pubsubName, topic }, metadata);
    const rules = publishRules(metadata, pubsubName);
    const form = { contentType: options.contentType, rawPayload: rules.rawPayload };
    const { bytes, contentType } = encodeData(data, form, target.address);
    await this.#service.send(target, {
      address: target.address,
      bytes,
      contentType,
      metadata,
      rules,
      trace: options.trace,
    });
  }

  /**
   * Publishes several messages. Resolves when the component has accepted all of them.
   *
   * @throws SidecarError like {@link PubSub.publish}. If some entries failed, `ERR_PUBSUB_PUBLISH_MESSAGE` with
   * `failedEntries`: all others are published.
   * @example
   * ```ts
   * await sidecar.pubsub.publishBulk('pubsub', 'orders', [
   *   { entryId: '1', event: { id: 1 } },
   *   { entryId: '2', event: { id: 2 } },
   * ]);
   * ```
   */
  async publishBulk(
    pubsubName: string,
    topic: string,
    entries: readonly BulkPublishEntry[],
    options: BulkPublishOptions = {},
  ): Promise<void> {
    this.#service.admit();
    checkBulkOptions(options, entries);
    const metadata = metadataOf(options);
    const target = this.#service.targetInCode({ pubsubName, topic }, metadata, true);
    const limitBytes = maxBulkPubBytes(metadata, pubsubName);
    const publishes = entries.map(({ entryId, event, contentType, metadata: own }) => {
      const merged = own === undefined ? metadata : mergedMetadata(metadata, own);
      const { address } = target;
      const rules = publishRules(merged, pubsubName);
      const { rawPayload } = rules;
      return {
        entryId,
        publish: {
          address,
          metadata: merged,
          rules,
          trace: options.trace,
          ...encodeData(event, { contentType, rawPayload }, address),
        },
      };
    });
    checkEntryIds(entries, target.address);
    await this.#service.sendBulk(target, publishes, limitBytes);
  }

  /**
   * Calls a function for every message of a topic, in the group of this app ID or in a group of its own. A delivery
   * lasts until the function returns, however long that takes. A delivery without a time-out that takes more than five
   * minutes is logged as a warning, once.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`; `ERR_PUBSUB_FORBIDDEN`; `ERR_CONFIGURATION` for invalid options, a
   * handler that is not a function, or a second subscription to a topic in one group without `competing: true`;
   * `ERR_PUBSUB_SUBSCRIBE` if the component cannot, for example because its broker does not answer.
   * @example
   * ```ts
   * const subscription = await sidecar.pubsub.subscribe<{ id: number }>(
   *   'pubsub',
   *   'orders',
   *   async ({ data }, { signal }) => ship(data, signal),
   *   { deadLetterTopic: 'dead-orders', concurrency: 5 },
   * );
   * await subscription.close();
   * ```
   */
  async subscribe<T = unknown>(
    pubsubName: string,
    topic: string,
    handler: MessageHandler<T>,
    options: SubscribeOptionsInCode = {},
  ): Promise<Subscription> {
    // Only functions receive these events: without them, the sidecar starts faster.
    const { CloudEvent: eventClass } = await import('cloudevents');
    this.#service.admit();
    checkSubscribeOptions(topic, handler, options);
    const { rawPayload, metadata, ...rest } = options;
    const raw = rawPayload ? { rawPayload: 'true' } : {};
    const given = { pubsubname: pubsubName, topic, route: '/', metadata: { ...metadata, ...raw }, ...rest };
    const end = await this.#service.subscribe(given, deliverToCode(handler, eventClass));
    let ended: Promise<void> | undefined;
    const close = (): Promise<void> => {
      ended ??= end();
      return ended;
    };
    return { close, [Symbol.asyncDispose]: close };
  }

  /**
   * The queues and how much waits in them: of all components, of one, or of a topic. Components without access to their
   * queues are left out.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`; `ERR_QUEUES_NOT_SUPPORTED` if the component named has no access.
   * @example
   * ```ts
   * for (const { topic, group, ready } of await sidecar.pubsub.queues())
   *   console.log(`${topic} → ${group}: ${ready} ready`);
   * ```
   */
  async queues(
    options: { readonly pubsubName?: string; readonly topic?: string } = {},
  ): Promise<readonly QueueState[]> {
    checkOptions('options of queues', options, LIST_FIELDS, badRequest);
    this.#service.admit();
    return this.#service.queues.list(options.pubsubName, options.topic);
  }

  /**
   * Reads messages of a queue, a page at a time. Nothing is consumed. Ready messages come in order, then delayed ones by
   * their instant; those that this process is delivering are among them.
   *
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND`; `ERR_BAD_REQUEST` for invalid options.
   * @example
   * ```ts
   * const failed = { pubsubName: 'pubsub', topic: 'dead-orders', group: 'shop' };
   * const { messages } = await sidecar.pubsub.messages(failed, { limit: 10 });
   * for (const { key, message } of messages) console.log(key, message.deadLetter?.reason);
   * ```
   */
  async messages(queue: QueueName, options: QueueReadOptions = {}): Promise<QueuedPage> {
    this.#service.admit();
    return this.#service.queues.read(queue, options);
  }

  /**
   * The message of a key, as {@link PubSub.messages} has told it; `undefined` if it is no longer in the queue.
   *
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND`; `ERR_BAD_REQUEST`.
   */
  async message(queue: QueueName, key: string): Promise<QueueEntry | undefined> {
    this.#service.admit();
    return this.#service.queues.find(queue, key);
  }

  /**
   * Moves messages of a queue to where they came from, for dead letters: to the group that could not process them, and
   * to no other. They begin again with the first attempt. Each message is moved in one step, so that a crash neither
   * loses nor doubles it. Messages in flight, and those without an origin, stay unless `to` says where to.
   *
   * @param selection - the keys of messages, `'all'`, or what the origin of dead letters must be
   * @returns how many were moved
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND`, for the origin too; `ERR_QUEUE_BUSY` if another host is handing the
   * messages out; `ERR_BAD_REQUEST`.
   * @example
   * ```ts
   * const failed = { pubsubName: 'pubsub', topic: 'dead-orders', group: 'shop' };
   * await sidecar.pubsub.redeliver(failed, 'all');
   * ```
   */
  async redeliver(queue: QueueName, selection: MessageSelection, options: RedeliverOptions = {}): Promise<number> {
    this.#service.admit();
    return this.#service.queues.redeliver(queue, selection, options);
  }

  /**
   * Removes messages of a queue for good; those in flight stay.
   *
   * @returns how many were removed
   * @throws SidecarError like {@link PubSub.redeliver}.
   * @example
   * ```ts
   * const failed = { pubsubName: 'pubsub', topic: 'dead-orders', group: 'shop' };
   * await sidecar.pubsub.discard(failed, { reason: 'no such customer' });
   * ```
   */
  async discard(queue: QueueName, selection: MessageSelection): Promise<number> {
    this.#service.admit();
    return this.#service.queues.discard(queue, selection);
  }

  /**
   * Removes all messages of a queue for good; those in flight stay.
   *
   * @returns how many were removed
   * @throws SidecarError like {@link PubSub.redeliver}.
   */
  purge(queue: QueueName): Promise<number> {
    return this.discard(queue, 'all');
  }

  /**
   * Delivers no more messages of a queue, on all hosts, until {@link PubSub.resume}; the queue goes on collecting. A
   * durable component keeps this over a restart. Deliveries that have begun are settled.
   *
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND`.
   * @example
   * ```ts
   * await sidecar.pubsub.pause({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
   * ```
   */
  async pause(queue: QueueName): Promise<void> {
    this.#service.admit();
    await this.#service.queues.setPaused(queue, true);
  }

  /** Delivers the messages of a queue again. */
  async resume(queue: QueueName): Promise<void> {
    this.#service.admit();
    await this.#service.queues.setPaused(queue, false);
  }

  /**
   * Adds a group without a subscription: it collects all messages of the topic from now on.
   *
   * @returns whether there was none
   * @example
   * ```ts
   * await sidecar.pubsub.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop/audit' });
   * ```
   */
  async addGroup(queue: QueueName): Promise<boolean> {
    this.#service.admit();
    return this.#service.queues.addGroup(queue);
  }

  /**
   * Removes a group that has no subscriptions any more, with its messages.
   *
   * @returns whether there was one
   * @throws SidecarError `ERR_QUEUE_BUSY` if it has subscriptions, or another host is handing its messages out.
   * @example
   * ```ts
   * await sidecar.pubsub.removeGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop/audit' });
   * ```
   */
  async removeGroup(queue: QueueName): Promise<boolean> {
    this.#service.admit();
    return this.#service.queues.removeGroup(queue);
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
   * @param options - its content type, as for {@link PubSub.publish}
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
    checkOptions('options of explain', options, EXPLAIN_FIELDS, badRequest);
    const { address } = this.#service.targetInCode({ pubsubName, topic }, NO_METADATA);
    const { bytes, contentType } = encodeData(event, { contentType: options.contentType, rawPayload: false }, address);
    const rules = publishRules(NO_METADATA, pubsubName);
    const publish = { address, bytes, contentType, metadata: NO_METADATA, rules, trace: undefined };
    return this.#service.explain(address, publish);
  }
}
