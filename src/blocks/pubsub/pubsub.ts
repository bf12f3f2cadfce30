import { deliverToCode } from './delivery/code-handler.ts';
import { checkSubscribeOptions, type SubscribeOptionsInCode, type Subscription } from './delivery/subscribe-options.ts';
import type { MessageHandler } from './delivery/subscription.ts';
import { checkEntryIds } from './publishing/bulk-publish.ts';
import { encodeData } from './publishing/payload.ts';
import {
  type BulkPublishEntry,
  type BulkPublishOptions,
  checkBulkOptions,
  checkPublishOptions,
  metadataOf,
  type PublishOptions,
} from './publishing/publish-options.ts';
import { maxBulkPubBytes, mergedMetadata, publishRules } from './publishing/request-metadata.ts';
import type { PubSubService } from './pubsub-service.ts';

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
   */
  async publish<T>(pubsubName: string, topic: string, data: T, options: PublishOptions = {}): Promise<void> {
    this.#service.admit();
    checkPublishOptions(options);
    const metadata = metadataOf(options);
    const target = this.#service.targetInCode({ pubsubName, topic }, metadata);
    const rules = publishRules(metadata, pubsubName);
    const { bytes, contentType } = encodeData(data, options.contentType, target.address);
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
    await this.#service.sendBulk(target, publishes, limitBytes);
  }

  /**
   * Calls a function for every message of a topic, in the group of this app ID or in a group of its own. A delivery
   * lasts until the function returns, however long that takes. A delivery without a time-out that takes more than five
   * minutes is logged as a warning, once.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`; `ERR_PUBSUB_FORBIDDEN`; `ERR_CONFIGURATION` for invalid options, a
   * handler that is not a function, or a second subscription to a topic in one group without `competing: true`.
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
    const { rawPayload, ...rest } = options;
    const metadata = rawPayload ? { rawPayload: 'true' } : {};
    const given = { pubsubname: pubsubName, topic, route: '/', metadata, ...rest };
    const end = await this.#service.subscribe(given, deliverToCode(handler, eventClass));
    let ended: Promise<void> | undefined;
    const close = (): Promise<void> => {
      ended ??= end();
      return ended;
    };
    return { close, [Symbol.asyncDispose]: close };
  }
}
