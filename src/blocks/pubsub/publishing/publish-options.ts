import { KEY_NAME } from '../../../components/ordering-key.ts';
import type { Trace } from '../../../components/pubsub.ts';
import { DURATION_FORMS, type Duration, readDuration } from '../../../util/duration.ts';
import { checkFields, fieldNames, fieldsProblem, nameOfKind } from '../../../util/known-fields.ts';
import { invalidArgument, invalidIn, TEXT_BY_NAME } from '../../../util/option-fields.ts';
import { shown } from '../../../util/shown.ts';
import { type Metadata, metadataFrom, NO_METADATA } from '../../request-metadata.ts';

/** How a message is published. @public */
export interface PublishOptions {
  /**
   * The content type of the data. Default: `application/json`; `text/plain` for a string, `application/octet-stream`
   * for bytes, `application/cloudevents+json` for a `CloudEvent`.
   */
  readonly contentType?: string | undefined;
  /** Publish the bytes without an envelope. Default `false`. */
  readonly rawPayload?: boolean | undefined;
  /** The time to live of the message, more than 0. Default: no limit. */
  readonly ttl?: Duration | undefined;
  /** Attributes of the envelope that replace the sidecar's own. */
  readonly cloudEvent?:
    | {
        readonly id?: string | undefined;
        readonly source?: string | undefined;
        readonly type?: string | undefined;
        readonly subject?: string | undefined;
      }
    | undefined;
  /** Further metadata for the component, also sent as headers of the delivery. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * The key of the message, a text that is not empty: `partitionKey` of the metadata. Subscriptions with `order: 'key'`
   * or `perKey` heed it, and brokers that have keys. Default: none.
   */
  readonly key?: string | undefined;
  /** The trace of the message. */
  readonly trace?: Trace | undefined;
}

/** One message of a bulk publish. @public */
export interface BulkPublishEntry<T = unknown> {
  /** Identifies the entry in failures; unique in the request. */
  readonly entryId: string;
  /** The data. */
  readonly event: T;
  /** The content type of the data. Default as in {@link PublishOptions.contentType}. */
  readonly contentType?: string | undefined;
  /** Metadata of this entry; takes precedence over that of the request. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The key of this entry, as in {@link PublishOptions.key}. Default: that of the request. */
  readonly key?: string | undefined;
}

/** How several messages are published. @public */
export interface BulkPublishOptions extends Omit<PublishOptions, 'contentType'> {
  /** Pass entries to the component in portions of at most this many bytes. Default: no limit. */
  readonly maxBulkPubBytes?: number | undefined;
}

const BULK_PUBLISH_FIELDS = fieldNames<BulkPublishOptions>({
  rawPayload: true,
  ttl: true,
  cloudEvent: true,
  metadata: true,
  key: true,
  trace: true,
  maxBulkPubBytes: true,
});
const PUBLISH_FIELDS = fieldNames<PublishOptions>({
  contentType: true,
  rawPayload: true,
  ttl: true,
  cloudEvent: true,
  metadata: true,
  key: true,
  trace: true,
});
const EVENT_FIELDS = fieldNames<NonNullable<PublishOptions['cloudEvent']>>({
  id: true,
  source: true,
  type: true,
  subject: true,
});
const ENTRY_FIELDS = fieldNames<BulkPublishEntry>({
  entryId: true,
  event: true,
  contentType: true,
  metadata: true,
  key: true,
});

/** @throws SidecarError `ERR_INVALID_ARGUMENT`. */
export function checkPublishOptions(options: PublishOptions): void {
  checkFields(options, PUBLISH_FIELDS, 'options of publish');
  checkTtl(options.ttl, 'publish');
  checkKey(options.key, 'options of publish', 'options');
  checkShapes(options, 'options of publish', 'options');
  checkEvent(options);
}

/** Checks the options of a bulk publish and its entries. */
export function checkBulkOptions(options: BulkPublishOptions, entries: readonly BulkPublishEntry[]): void {
  checkFields(options, BULK_PUBLISH_FIELDS, 'options of publishBulk');
  checkTtl(options.ttl, 'publishBulk');
  checkKey(options.key, 'options of publishBulk', 'options');
  checkShapes(options, 'options of publishBulk', 'options');
  checkEvent(options);
  if (!Array.isArray(entries)) {
    const problem = `entries of publishBulk are ${nameOfKind(entries)}: expected an array`;
    throw invalidArgument(problem, 'entries');
  }
  for (const [index, entry] of entries.entries()) {
    const [what, path] = [`entry ${index} of publishBulk`, `entries.${index}`];
    const problem = fieldsProblem(entry, ENTRY_FIELDS, what);
    if (problem !== undefined) throw invalidIn(path)(problem.message, problem.argument);
    checkKey(entry.key, what, path);
    checkShapes(entry, what, path);
  }
}

function checkKey(key: unknown, what: string, path: string): void {
  if (key === undefined || (typeof key === 'string' && key !== '')) return;
  throw invalidArgument(`key in ${what} is ${shown(key)}: expected a text that is not empty`, `${path}.key`);
}

/** What a message would carry as it is. */
function checkShapes(
  { metadata, contentType }: Pick<BulkPublishEntry, 'metadata' | 'contentType'>,
  what: string,
  path: string,
): void {
  const wrong = (name: string, value: unknown, expected: string): Error =>
    invalidArgument(`${name} in ${what} is ${shown(value)}: expected ${expected}`, `${path}.${name}`);
  if (contentType !== undefined && typeof contentType !== 'string') throw wrong('contentType', contentType, 'a text');
  const expected = metadata === undefined ? undefined : TEXT_BY_NAME.expected(metadata);
  if (expected !== undefined) throw wrong('metadata', metadata, expected);
}

/** As a part of the metadata, it would be refused as something else than what was written. */
function checkTtl(ttl: unknown, what: string): void {
  if (ttl === undefined) return;
  const ms = readDuration(ttl);
  if (ms !== undefined && Number.isFinite(ms) && ms > 0) return;
  const problem = `ttl in options of ${what} is ${shown(ttl)}: expected ${DURATION_FORMS}, of more than 0`;
  throw invalidArgument(problem, 'options.ttl');
}

function checkEvent({ cloudEvent }: Pick<PublishOptions, 'cloudEvent'>): void {
  if (cloudEvent !== undefined) checkFields(cloudEvent, EVENT_FIELDS, 'options.cloudEvent');
}

/** The metadata of an entry of a bulk publish; `undefined` if it has none. */
export function metadataOfEntry({ metadata, key }: BulkPublishEntry): Metadata | undefined {
  return key === undefined ? metadata : metadataFrom([...Object.entries(metadata ?? {}), [KEY_NAME, key]]);
}

/** Converts options in code to metadata. */
export function metadataOf(options: BulkPublishOptions): Metadata {
  const { rawPayload, ttl, cloudEvent = {}, metadata = {}, key, maxBulkPubBytes: maxBytes } = options;
  const entries = Object.entries(metadata);
  for (const [name, value] of Object.entries(cloudEvent))
    if (value !== undefined) entries.push([`cloudevent.${name}`, value]);
  if (rawPayload !== undefined) entries.push(['rawPayload', String(rawPayload)]);
  if (key !== undefined) entries.push([KEY_NAME, key]);
  if (ttl !== undefined) entries.push(['ttl', `${readDuration(ttl)}ms`]);
  if (maxBytes !== undefined) entries.push(['maxBulkPubBytes', String(maxBytes)]);
  return entries.length === 0 ? NO_METADATA : metadataFrom(entries);
}
