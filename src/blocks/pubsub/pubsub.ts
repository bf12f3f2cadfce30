import type { Shards } from '../../cluster/shards.ts';
import type { Message, PublishFailure, PubSubDefinition } from '../../components/pubsub.ts';
import { SidecarError } from '../../errors.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { StateStore } from '../../state/store.ts';
import type { Expected, ExpectedOne } from '../../util/expected.ts';
import { AppSubscriptions } from './delivery/app-subscriptions.ts';
import { deliverToCode } from './delivery/code-handler.ts';
import type { DeliveryHost } from './delivery/delivery-host.ts';
import type { SubscriptionState } from './delivery/precedence.ts';
import {
  type MessageHandler,
  parseSubscription,
  parseSubscriptions,
  type Subscriber,
  type SubscriptionOptions,
} from './delivery/subscription.ts';
import { type SubscribablePubSub, Subscriptions } from './delivery/subscriptions.ts';
import { publishFailed, pubsubNameEmpty, pubsubNotFound, topicEmpty, topicForbidden } from './errors.ts';
import { openComponent } from './open-component.ts';
import { bulkFailed, checkEntryIds, publishInPortions } from './publishing/bulk-publish.ts';
import { encodeMessage, type Publish } from './publishing/encode.ts';
import type { Address, Destination } from './publishing/envelope.ts';
import { encodeData } from './publishing/payload.ts';
import {
  type BulkPublishEntry,
  type BulkPublishOptions,
  checkBulkOptions,
  checkPublishOptions,
  checkSubscribeOptions,
  metadataOf,
  type PublishOptions,
  type SubscribeOptionsInCode,
  type Subscription,
} from './publishing/publish-options.ts';
import {
  type Metadata,
  maxBulkPubBytes,
  mergedMetadata,
  NO_METADATA,
  publishRules,
} from './publishing/request-metadata.ts';
import { Unsubscribed, type UnsubscribedTopic } from './publishing/unsubscribed.ts';
import { mayPublish, maySubscribe } from './scopes.ts';

/** What the block is made of. */
export interface PubSubParts {
  readonly appId: string;
  /** Those that the application may use. */
  readonly definitions: readonly PubSubDefinition[];
  readonly subscriptions: readonly SubscriptionOptions[];
  readonly host: DeliveryHost;
  readonly resiliency: Resiliency;
  /** Throws when no work is taken now. */
  readonly admit: () => void;
  /** Whether there is an application that is asked for subscriptions. */
  readonly asksApp: boolean;
  /** Whose subscriptions are expected on a component that the sidecars of a state store share. */
  readonly expectedOn: (component: string) => Expected;
}

/** A component and topic that the application may publish to. @internal */
export interface PublishTarget {
  readonly address: Address;
  readonly pubsub: SubscribablePubSub;
}

/**
 * Publish and subscribe. Delivery is at least once: a message is settled only after the application answered.
 *
 * @public
 */
export class PubSub {
  readonly #parts: PubSubParts;
  readonly #open = new Map<string, SubscribablePubSub>();
  readonly #subscriptions: Subscriptions;
  readonly #app: AppSubscriptions;
  readonly #unsubscribed: Unsubscribed;
  /** By component: that the subscriptions of this application are expected there. */
  readonly #expected = new Map<string, ExpectedOne>();

  /** @internal */
  constructor(parts: PubSubParts) {
    this.#parts = parts;
    const { appId, host } = parts;
    this.#subscriptions = new Subscriptions(appId, this.#open, host);
    this.#app = new AppSubscriptions({ appId, host, take: (list) => this.#takeDiscovered(list) });
    this.#unsubscribed = new Unsubscribed(host.logger);
  }

  /**
   * Publishes one message. Resolves when the component has it.
   *
   * @throws SidecarError with the codes of the HTTP API: `ERR_PUBSUB_NOT_FOUND`, `ERR_PUBSUB_FORBIDDEN`,
   * `ERR_PUBSUB_CLOUD_EVENTS_SER`, `ERR_PUBSUB_PUBLISH_MESSAGE`, …
   */
  async publish<T>(pubsubName: string, topic: string, data: T, options: PublishOptions = {}): Promise<void> {
    this.#parts.admit();
    checkPublishOptions(options);
    const metadata = metadataOf(options);
    const target = this.#targetInCode({ pubsubName, topic }, metadata);
    const rules = publishRules(metadata, pubsubName);
    const { bytes, contentType } = encodeData(data, options.contentType, target.address);
    await this.send(target, { address: target.address, bytes, contentType, metadata, rules, trace: options.trace });
  }

  /**
   * Publishes several messages. Resolves when the component has all of them.
   *
   * @throws SidecarError as {@link PubSub.publish}; when some entries failed, `ERR_PUBSUB_PUBLISH_MESSAGE` with
   * `failedEntries`: the others are published.
   */
  async publishBulk(
    pubsubName: string,
    topic: string,
    entries: readonly BulkPublishEntry[],
    options: BulkPublishOptions = {},
  ): Promise<void> {
    this.#parts.admit();
    checkBulkOptions(options, entries);
    const metadata = metadataOf(options);
    const target = this.#targetInCode({ pubsubName, topic }, metadata, true);
    const limitBytes = maxBulkPubBytes(metadata, pubsubName);
    const publishes = entries.map(({ entryId, event, contentType, metadata: own }) => {
      const merged = own === undefined ? metadata : mergedMetadata(metadata, own);
      const { address } = target;
      return {
        entryId,
        publish: {
          address,
          metadata: merged,
          rules: publishRules(merged, pubsubName),
          trace: options.trace,
          ...encodeData(event, contentType, address),
        },
      };
    });
    checkEntryIds(entries, target.address);
    await this.sendBulk(target, publishes, limitBytes);
  }

  /**
   * Calls a function for every message of a topic, in the group of this app ID or in one of its own. A delivery lasts
   * until the function has returned, however long that takes. One that has no time-out and takes more than five minutes
   * is warned of in the log, once.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`, `ERR_PUBSUB_FORBIDDEN`, `ERR_CONFIGURATION` for options that cannot be
   * used, for a handler that is no function, and for a second subscription of a topic in one group that does not say `competing: true`.
   */
  async subscribe<T = unknown>(
    pubsubName: string,
    topic: string,
    handler: MessageHandler<T>,
    options: SubscribeOptionsInCode = {},
  ): Promise<Subscription> {
    // Only functions receive such events: a sidecar without them starts faster.
    const { CloudEvent: eventClass } = await import('cloudevents');
    this.#parts.admit();
    checkSubscribeOptions(topic, handler, options);
    const { rawPayload, ...rest } = options;
    const metadata = rawPayload ? { rawPayload: 'true' } : {};
    const given = { pubsubname: pubsubName, topic, route: '/', metadata, ...rest };
    const spec = parseSubscription(given, 'STREAMING', this.#subscriber);
    if ('problem' in spec) throw new SidecarError('ERR_CONFIGURATION', spec.problem);
    const pubsub = this.#open.get(pubsubName);
    if (pubsub === undefined) throw pubsubNotFound(pubsubName, NO_METADATA, { known: this.#open.keys() });
    const { appId } = this.#parts;
    if (!maySubscribe(topic, appId, pubsub.topics)) throw topicForbidden({ appId, pubsubName, topic });
    const end = await this.#subscriptions.addStreaming(spec, { deliverToCode: deliverToCode(handler, eventClass) });
    let ended: Promise<void> | undefined;
    const close = (): Promise<void> => {
      ended ??= end();
      return ended;
    };
    return { close, [Symbol.asyncDispose]: close };
  }

  /** The components that are open. @internal */
  components(): readonly PubSubDefinition[] {
    return this.#parts.definitions.filter(({ name }) => this.#open.has(name));
  }

  /** All subscriptions, refused ones included. @internal */
  list(): readonly SubscriptionState[] {
    return this.#subscriptions.list();
  }

  /** Topics that nobody subscribes to, with the messages that went to them. @internal */
  unsubscribed(): readonly UnsubscribedTopic[] {
    return this.#unsubscribed.list();
  }

  /**
   * Lets those who share its components know that it is to come: what they publish before its subscriptions are known
   * is kept for it. @internal
   */
  announce(): void {
    const { appId, definitions, expectedOn } = this.#parts;
    for (const { name, expected = expectedOn(name) } of definitions) this.#expected.set(name, expected.add(appId));
  }

  /** Opens the components, one after the other, and joins the groups of declarative subscriptions. @internal */
  async start(state: StateStore, shards: Shards): Promise<void> {
    const { definitions, subscriptions, host, resiliency, asksApp } = this.#parts;
    const { clock, logger, work } = host;
    const context = { clock, logger, state, shards, track: (what: string): (() => void) => work.begin(what) };
    for (const definition of definitions) {
      const { name } = definition;
      const subscriber = this.#expected.get(name);
      const own = {
        ...(subscriber === undefined ? {} : { subscriber }),
        noGroup: (topic: string, messages: number): void => this.#unsubscribed.add(name, topic, messages),
      };
      this.#open.set(name, await openComponent(definition, { ...context, ...own }, resiliency));
    }
    await this.#subscriptions.setDeclarative(parseSubscriptions(subscriptions, 'DECLARATIVE', this.#subscriber));
    if (!asksApp) this.#subscriptionsAreKnown();
  }

  /**
   * The application takes requests: asks for its subscriptions and delivers. Resolves after the first answer; when that
   * was none that could be read, asks again in the background. @internal
   */
  async appReady(): Promise<void> {
    if (this.#open.size === 0 || (await this.#app.ask())) this.#subscriptions.resume();
  }

  /** The application takes no requests now: what is for it waits until {@link PubSub.appReady}. @internal */
  appAway(): void {
    this.#app.forget();
    this.#subscriptions.pause();
  }

  async #takeDiscovered(list: readonly unknown[]): Promise<void> {
    await this.#subscriptions.setProgrammatic(parseSubscriptions(list, 'PROGRAMMATIC', this.#subscriber));
    this.#subscriptionsAreKnown();
  }

  /** When every group is there that was told of: what was kept for others can go then. */
  #subscriptionsAreKnown(): void {
    void this.#subscriptions.started().then((hasStarted) => {
      if (hasStarted) for (const one of this.#expected.values()) one.come();
    });
  }

  get #subscriber(): Subscriber {
    const { appId, host } = this.#parts;
    return { appId, wire: host.wire };
  }

  /** Ends the subscriptions, waits for what is in flight, closes the components. @internal */
  async stop(): Promise<void> {
    this.#app.stop();
    const consumers = await Promise.allSettled([this.#subscriptions.stop()]);
    const components = await Promise.allSettled([...this.#open.values()].map((pubsub) => this.#close(pubsub)));
    const failed = [...consumers, ...components].find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #close({ name, component }: SubscribablePubSub): Promise<void> {
    const done = this.#parts.host.work.begin(`closing component ${name}`);
    try {
      await component.close();
    } finally {
      done();
    }
  }

  /** The same for code: the error tells which components there are. */
  #targetInCode(destination: Destination, metadata: Metadata, bulk = false): PublishTarget {
    const { pubsubName } = destination;
    if (pubsubName !== '' && !this.#open.has(pubsubName))
      throw pubsubNotFound(pubsubName, metadata, { bulk, known: this.#open.keys() });
    return this.target(destination, metadata, bulk);
  }

  /** Looks a component up and checks that the application may publish to the topic. @internal */
  target({ pubsubName, topic }: Destination, metadata: Metadata, bulk = false): PublishTarget {
    const { appId } = this.#parts;
    const address = { appId, pubsubName, topic };
    if (pubsubName === '') throw pubsubNameEmpty(metadata);
    if (topic === '') throw topicEmpty(pubsubName, metadata);
    const pubsub = this.#open.get(pubsubName);
    if (pubsub === undefined) throw pubsubNotFound(pubsubName, metadata, { bulk });
    if (!mayPublish(topic, appId, pubsub.topics)) throw topicForbidden(address);
    return { address, pubsub };
  }

  /** Encodes and publishes one message. @internal */
  async send(target: PublishTarget, publish: Publish): Promise<void> {
    // A body may have come to its end long after its request was admitted.
    this.#parts.admit();
    const message = this.#encode(publish);
    let failures: readonly PublishFailure[];
    try {
      failures = await target.pubsub.component.publish([message]);
    } catch (error) {
      throw publishFailed(target.address, error);
    }
    if (failures[0] !== undefined) throw publishFailed(target.address, failures[0].error);
    this.#tellPublished(target, message);
  }

  /** Encodes all, then publishes them in portions of at most `limitBytes`. @internal */
  async sendBulk(
    target: PublishTarget,
    entries: readonly { readonly entryId: string; readonly publish: Publish }[],
    limitBytes: number,
  ): Promise<void> {
    this.#parts.admit();
    const encoded = entries.map(({ entryId, publish }) => ({ entryId, message: this.#encode(publish) }));
    const failed = await publishInPortions(target.pubsub.component, encoded, limitBytes);
    for (const { entryId, message } of encoded) if (!failed.has(entryId)) this.#tellPublished(target, message);
    if (failed.size > 0) throw bulkFailed(encoded, failed);
  }

  #encode(publish: Publish): Message {
    const { envelope, clock } = this.#parts.host;
    return encodeMessage(publish, envelope, () => clock.now());
  }

  #tellPublished({ address }: PublishTarget, { id }: Message): void {
    const { events } = this.#parts.host;
    if (events.listenerCount('published') > 0)
      events.emit('published', { pubsubName: address.pubsubName, topic: address.topic, messageId: id });
  }
}
