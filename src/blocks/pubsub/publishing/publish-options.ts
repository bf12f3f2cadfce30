import type { Trace } from '../../../components/pubsub.ts';
import { checkFields, checkFunction, fieldNames } from '../../../util/known-fields.ts';
import type { RetryOptions } from '../delivery/subscription.ts';
import { type Metadata, metadataFrom, NO_METADATA } from './request-metadata.ts';

/** How a message is published. @public */
export interface PublishOptions {
  /**
   * What the data are. Default: `application/json`; `text/plain` for a string, `application/octet-stream` for bytes,
   * `application/cloudevents+json` for a `CloudEvent`.
   */
  readonly contentType?: string;
  /** Publish the bytes as they are, without an envelope. Default `false`. */
  readonly rawPayload?: boolean;
  /** How long the message may live, in milliseconds. Default: for ever. */
  readonly ttlMs?: number;
  /** Attributes of the envelope in place of the sidecar's own. */
  readonly cloudEvent?: {
    readonly id?: string;
    readonly source?: string;
    readonly type?: string;
    readonly subject?: string;
  };
  /** Further metadata: for the component, and as headers of the delivery. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The trace that the message belongs to. */
  readonly trace?: Trace;
}

/** One message of a bulk publish. @public */
export interface BulkPublishEntry {
  /** Names it in a failure; unique in the request. */
  readonly entryId: string;
  /** The data. */
  readonly event: unknown;
  /** What the data are. Default as in {@link PublishOptions.contentType}. */
  readonly contentType?: string;
  /** Its own metadata; they win over those of the request. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** How several messages are published. @public */
export interface BulkPublishOptions extends Omit<PublishOptions, 'contentType'> {
  /** Hand the entries to the component in portions of at most this many bytes. Default: no limit. */
  readonly maxBulkPubBytes?: number;
}

/** How a function subscribes. @public */
export interface SubscribeOptionsInCode {
  /** The most messages that are processed at a time. Default 10. With 1, messages come in order. */
  readonly concurrency?: number;
  /** When and how often a message is delivered again. */
  readonly retry?: RetryOptions;
  /** Where messages go that cannot be processed: a topic of the same component. Default: nowhere. */
  readonly deadLetterTopic?: string;
  /** Subscribe to messages that are not CloudEvents: `data` holds their value or bytes. Default `false`. */
  readonly rawPayload?: boolean;
  /**
   * When the signal of a delivery fires, in milliseconds after its begin; 0 for never. The delivery goes on until the
   * function has returned, and the message is not delivered again before. Default: the time-out of the component's
   * resiliency policy, else never.
   */
  readonly timeoutMs?: number;
  /** A consumer group of its own, as in {@link SubscriptionOptions.group}. */
  readonly group?: string;
  /** Shares the messages of its group, as in {@link SubscriptionOptions.competing}. Default `false`. */
  readonly competing?: boolean;
}

/** A subscription in code. @public */
export interface Subscription extends AsyncDisposable {
  /** Takes nothing new and waits for what is being processed. Twice is fine. */
  close(): Promise<void>;
}

const BULK_PUBLISH_FIELDS = fieldNames<BulkPublishOptions>({
  rawPayload: true,
  ttlMs: true,
  cloudEvent: true,
  metadata: true,
  trace: true,
  maxBulkPubBytes: true,
});
const PUBLISH_FIELDS = fieldNames<PublishOptions>({
  contentType: true,
  rawPayload: true,
  ttlMs: true,
  cloudEvent: true,
  metadata: true,
  trace: true,
});
const EVENT_FIELDS = fieldNames<NonNullable<PublishOptions['cloudEvent']>>({
  id: true,
  source: true,
  type: true,
  subject: true,
});
const ENTRY_FIELDS = fieldNames<BulkPublishEntry>({ entryId: true, event: true, contentType: true, metadata: true });
const SUBSCRIBE_FIELDS = fieldNames<SubscribeOptionsInCode>({
  concurrency: true,
  retry: true,
  deadLetterTopic: true,
  rawPayload: true,
  timeoutMs: true,
  group: true,
  competing: true,
});
const RETRY_FIELDS = fieldNames<RetryOptions>({ maxRetries: true, initialDelayMs: true, maxDelayMs: true });

/** @throws SidecarError `ERR_CONFIGURATION` for a field that there is not. */
export function checkPublishOptions(options: PublishOptions): void {
  check(options, PUBLISH_FIELDS, 'options of publish');
  checkEvent(options);
}

/** The same for a bulk publish and its entries. */
export function checkBulkOptions(options: BulkPublishOptions, entries: readonly BulkPublishEntry[]): void {
  check(options, BULK_PUBLISH_FIELDS, 'options of publishBulk');
  checkEvent(options);
  for (const [index, entry] of entries.entries()) check(entry, ENTRY_FIELDS, `entry ${index} of publishBulk`);
}

/** The same for a subscription, and for a handler that is no function. */
export function checkSubscribeOptions(topic: string, handler: unknown, options: SubscribeOptionsInCode): void {
  checkFunction(handler, `the handler of topic ${JSON.stringify(topic)}`);
  check(options, SUBSCRIBE_FIELDS, 'options of subscribe');
  if (options.retry !== undefined) check(options.retry, RETRY_FIELDS, 'options.retry of subscribe');
}

function checkEvent({ cloudEvent }: Pick<PublishOptions, 'cloudEvent'>): void {
  if (cloudEvent !== undefined) check(cloudEvent, EVENT_FIELDS, 'options.cloudEvent');
}

function check(given: unknown, known: ReadonlySet<string>, what: string): void {
  checkFields(given, known, what, 'ERR_CONFIGURATION');
}

/** The metadata that options in code stand for. */
export function metadataOf(options: BulkPublishOptions): Metadata {
  const { rawPayload, ttlMs, cloudEvent = {}, metadata = {}, maxBulkPubBytes: maxBytes } = options;
  const entries = Object.entries(metadata);
  for (const [name, value] of Object.entries(cloudEvent))
    if (value !== undefined) entries.push([`cloudevent.${name}`, value]);
  if (rawPayload !== undefined) entries.push(['rawPayload', String(rawPayload)]);
  if (ttlMs !== undefined) entries.push(['ttl', `${ttlMs}ms`]);
  if (maxBytes !== undefined) entries.push(['maxBulkPubBytes', String(maxBytes)]);
  return entries.length === 0 ? NO_METADATA : metadataFrom(entries);
}
