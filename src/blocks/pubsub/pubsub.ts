import type { Message, PublishFailure, PubSubDefinition } from '../../components/pubsub.ts';
import { messageOf, SidecarError } from '../../errors.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { Shards } from '../../state/shards.ts';
import type { StateStore } from '../../state/store.ts';
import { backoffDelayMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { bulkFailed, checkEntryIds, publishInPortions } from './bulk-publish.ts';
import { deliverToCode } from './code-handler.ts';
import { type DeliveryHost, deliveryLimitMs } from './delivery-host.ts';
import { discoverSubscriptions } from './discovery.ts';
import { encodeMessage, type Publish } from './encode.ts';
import type { Address, Destination } from './envelope.ts';
import { publishFailed, pubsubNameEmpty, pubsubNotFound, topicEmpty, topicForbidden } from './errors.ts';
import { GuardedPubSub } from './guarded-component.ts';
import { encodeData } from './payload.ts';
import {
  type BulkPublishEntry,
  type BulkPublishOptions,
  metadataOf,
  type PublishOptions,
  type SubscribeOptionsInCode,
  type Subscription,
} from './publish-options.ts';
import { type Metadata, maxBulkPubBytes, mergedMetadata, NO_METADATA, publishRules } from './request-metadata.ts';
import { mayPublish, maySubscribe } from './scopes.ts';
import {
  type MessageHandler,
  parseSubscription,
  parseSubscriptions,
  type SubscriptionOptions,
} from './subscription.ts';
import { type SubscribablePubSub, type SubscriptionState, Subscriptions } from './subscriptions.ts';

/** What the block is made of. */
export interface PubSubParts {
  readonly appId: string;
  readonly definitions: readonly PubSubDefinition[];
  readonly subscriptions: readonly SubscriptionOptions[];
  readonly host: DeliveryHost;
  readonly resiliency: Resiliency;
  /** Throws when no work is taken now. */
  readonly admit: () => void;
}

/** A component and topic that the application may publish to. @internal */
export interface PublishTarget {
  readonly address: Address;
  readonly pubsub: SubscribablePubSub;
}

const DISCOVERY_BACKOFF = { initialDelayMs: 500, maxDelayMs: 30_000, factor: 2, jitter: 0.2 };

/**
 * Publish and subscribe. Delivery is at least once: a message is settled only after the application answered.
 *
 * @public
 */
export class PubSub {
  readonly #parts: PubSubParts;
  readonly #open = new Map<string, SubscribablePubSub>();
  readonly #subscriptions: Subscriptions;
  readonly #stopping = new AbortController();
  /** Counts how often the application has come or gone. */
  #meeting = 0;

  /** @internal */
  constructor(parts: PubSubParts) {
    this.#parts = parts;
    this.#subscriptions = new Subscriptions(parts.appId, this.#open, parts.host);
  }

  /**
   * Publishes one message. Resolves when the component has it.
   *
   * @throws SidecarError with the codes of the HTTP API: `ERR_PUBSUB_NOT_FOUND`, `ERR_PUBSUB_FORBIDDEN`,
   * `ERR_PUBSUB_CLOUD_EVENTS_SER`, `ERR_PUBSUB_PUBLISH_MESSAGE`, …
   */
  async publish<T>(pubsubName: string, topic: string, data: T, options: PublishOptions = {}): Promise<void> {
    this.#parts.admit();
    const metadata = metadataOf(options);
    const target = this.target({ pubsubName, topic }, metadata);
    const rules = publishRules(metadata);
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
    const metadata = metadataOf(options);
    const target = this.target({ pubsubName, topic }, metadata, true);
    const limitBytes = maxBulkPubBytes(metadata);
    const publishes = entries.map(({ entryId, event, contentType, metadata: own }) => {
      const merged = own === undefined ? metadata : mergedMetadata(metadata, own);
      const { address } = target;
      return {
        entryId,
        publish: {
          address,
          metadata: merged,
          rules: publishRules(merged),
          trace: options.trace,
          ...encodeData(event, contentType, address),
        },
      };
    });
    checkEntryIds(entries, target.address);
    await this.sendBulk(target, publishes, limitBytes);
  }

  /**
   * Calls a function for every message of a topic, in the group of this app ID.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`, `ERR_PUBSUB_FORBIDDEN`, `ERR_CONFIGURATION`.
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
    const { host } = this.#parts;
    const { rawPayload, ...rest } = options;
    const metadata = rawPayload ? { rawPayload: 'true' } : {};
    const given = { pubsubname: pubsubName, topic, route: '/', metadata, ...rest };
    const spec = parseSubscription(given, 'STREAMING', host.wire);
    if ('problem' in spec) throw new SidecarError('ERR_CONFIGURATION', spec.problem);
    const pubsub = this.#open.get(pubsubName);
    if (pubsub === undefined) throw pubsubNotFound(pubsubName, NO_METADATA, false);
    const { appId } = this.#parts;
    if (!maySubscribe(topic, appId, pubsub.topics)) throw topicForbidden({ appId, pubsubName, topic });
    const end = await this.#subscriptions.addStreaming(spec, {
      deliverToCode: deliverToCode(handler, {
        eventClass,
        clock: host.clock,
        timeLimitMs: deliveryLimitMs(pubsub, host),
      }),
    });
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

  /** Opens the components, one after the other, and joins the groups of declarative subscriptions. @internal */
  async start(state: StateStore, shards: Shards): Promise<void> {
    const { appId, definitions, subscriptions, host, resiliency } = this.#parts;
    const { clock, logger, work } = host;
    const context = { clock, logger, state, shards, track: (what: string): (() => void) => work.begin(what) };
    for (const definition of definitions) {
      if (definition.scopes !== undefined && definition.scopes.length > 0 && !definition.scopes.includes(appId))
        continue;
      const { name, topics } = definition;
      const [inbound, outbound] = [resiliency.forComponent(name, 'inbound'), resiliency.forComponent(name, 'outbound')];
      const opened = await definition.open(context);
      const component = outbound === undefined ? opened : new GuardedPubSub(opened, outbound);
      this.#open.set(name, { name, component, topics, inbound });
    }
    await this.#subscriptions.setDeclarative(parseSubscriptions(subscriptions, 'DECLARATIVE', host.wire));
  }

  /**
   * The application takes requests: asks for its subscriptions and delivers. Resolves after the first answer; when that
   * was none that could be read, asks again in the background. @internal
   */
  async appReady(): Promise<void> {
    const meeting = ++this.#meeting;
    const discovered = this.#open.size === 0 || (await this.#discover(meeting));
    if (meeting !== this.#meeting) return;
    this.#subscriptions.resume();
    if (!discovered) void this.#discoverLater(meeting);
  }

  /** The application takes no requests now: what is for it waits until {@link PubSub.appReady}. @internal */
  appAway(): void {
    this.#meeting++;
    this.#subscriptions.pause();
  }

  async #discover(meeting: number): Promise<boolean> {
    const { host, appId } = this.#parts;
    try {
      const list = await discoverSubscriptions(host.call, host.wire, appId);
      // The answer of an application that has gone since says nothing of the one that comes.
      if (meeting === this.#meeting)
        await this.#subscriptions.setProgrammatic(parseSubscriptions(list, 'PROGRAMMATIC', host.wire));
      return true;
    } catch (error) {
      host.logger.warn(
        { error: messageOf(error) },
        'the application could not be asked for its subscriptions: will be tried again',
      );
      return false;
    }
  }

  async #discoverLater(meeting: number): Promise<void> {
    const { clock, random } = this.#parts.host;
    for (let attempt = 1; ; attempt++) {
      try {
        await sleep(clock, backoffDelayMs(DISCOVERY_BACKOFF, attempt, random), this.#stopping.signal);
      } catch {
        return;
      }
      if (meeting !== this.#meeting || (await this.#discover(meeting))) return;
    }
  }

  /** Ends the subscriptions, waits for what is in flight, closes the components. @internal */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    const consumers = await Promise.allSettled([this.#subscriptions.stop()]);
    const components = await Promise.allSettled([...this.#open.values()].map(({ component }) => component.close()));
    const failed = [...consumers, ...components].find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Looks a component up and checks that the application may publish to the topic. @internal */
  target({ pubsubName, topic }: Destination, metadata: Metadata, bulk = false): PublishTarget {
    const { appId } = this.#parts;
    const address = { appId, pubsubName, topic };
    if (pubsubName === '') throw pubsubNameEmpty(metadata);
    if (topic === '') throw topicEmpty(pubsubName, metadata);
    const pubsub = this.#open.get(pubsubName);
    if (pubsub === undefined) throw pubsubNotFound(pubsubName, metadata, bulk);
    if (!mayPublish(topic, appId, pubsub.topics)) throw topicForbidden(address);
    return { address, pubsub };
  }

  /** Encodes and publishes one message. @internal */
  async send(target: PublishTarget, publish: Publish): Promise<void> {
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
