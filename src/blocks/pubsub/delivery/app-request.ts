import type { AppCall, AppTimeLimit } from '../../../app/channel.ts';
import type { Delivery, Message } from '../../../components/pubsub.ts';
import { asBuffer } from '../../../http/body.ts';
import { asHeaderValue } from '../../../http/header-value.ts';
import type { HeaderMap } from '../../../http/message.ts';
import { NO_METADATA } from '../../request-metadata.ts';
import { CLOUD_EVENT_TYPE } from '../publishing/content-type.ts';
import { quote, wrap } from '../publishing/envelope.ts';
import { entryMetadata, isOfOrigin, originHeaders } from './dead-letter.ts';
import type { DeliveryDeps } from './delivery-deps.ts';
import { metadataHeaderName } from './metadata-headers.ts';
import type { SubscriptionSpec } from './subscription.ts';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
// Everything a field value may hold by RFC 9110, section 5.5: no control characters but the tab.
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The part of a request's head that messages may fill. Servers refuse a larger one, and would do so each time: Node
 * takes 16 KiB in all, others 8 KiB or 100 fields.
 */
const MAX_METADATA = { fields: 64, bytes: 8 * 1024 };
/** Of a content type and of the fields of a trace. */
const MAX_VALUE_BYTES = 512;

/** The dependencies of {@link AppRequests}. */
export type AppRequestsDeps = Pick<DeliveryDeps, 'wire' | 'logger' | 'newId' | 'envelope'>;

/** Makes the requests that carry a subscription's messages to the application. */
export class AppRequests {
  readonly #spec: SubscriptionSpec;
  readonly #deps: AppRequestsDeps;
  readonly #limit: AppTimeLimit;
  /** As a header can hold it. */
  readonly #pubsubName: string;
  readonly #eventHeaders: HeaderMap;
  #hasWarned = false;

  constructor(spec: SubscriptionSpec, deps: AppRequestsDeps, limit: AppTimeLimit) {
    this.#spec = spec;
    this.#deps = deps;
    this.#limit = limit;
    this.#pubsubName = asHeaderValue(spec.pubsubName);
    this.#eventHeaders = { 'content-type': CLOUD_EVENT_TYPE, pubsubname: this.#pubsubName };
  }

  /** The request for one message: its bytes as they are. `traced` are the fields of the present trace, if any. */
  single(path: string, message: Message, traced?: HeaderMap): AppCall {
    const asEvent = this.#spec.rawPayload && this.#deps.wire.rawPayloadAsEvent;
    const body = asEvent ? this.#rawAsEvent(message) : message.data;
    const contentType = asEvent ? CLOUD_EVENT_TYPE : message.contentType;
    return {
      method: 'POST',
      url: path,
      headers: this.#headers(message, contentType, traced),
      body,
      ...this.#limit,
    };
  }

  /** The request for several messages. */
  bulk(path: string, entries: ReadonlyMap<string, Delivery>, traced?: HeaderMap): AppCall {
    const { pubsubName, topic } = this.#spec;
    const { newId, wire } = this.#deps;
    const list = [...entries].map(([entryId, { message }]) => this.#entry(entryId, message)).join(',');
    const tail = `"metadata":{"pubsubName":${quote(pubsubName)}},"pubsubname":${quote(pubsubName)},"topic":${quote(topic)}`;
    const body = `{"id":${quote(newId())},"entries":[${list}],${tail},"type":${quote(wire.bulkEventType)}}`;
    const headers = { ...traced, 'content-type': 'application/json', pubsubname: this.#pubsubName };
    return { method: 'POST', url: path, headers, body: Buffer.from(body), ...this.#limit };
  }

  /** The event for rules and functions. A raw payload is wrapped in an envelope. */
  eventOf(message: Message): unknown {
    return JSON.parse(asBuffer(message.raw ? this.#wrapped(message, message.contentType) : message.data).toString());
  }

  #entry(entryId: string, message: Message): string {
    const { data, raw, contentType } = message;
    // Dapr's server takes no other type for a raw entry.
    const asBytes = this.#spec.rawPayload && this.#deps.wire.rawPayloadAsEvent;
    const event = raw || asBytes ? `"${asBuffer(data).toString('base64')}"` : asBuffer(data).toString();
    const type = quote(asBytes ? 'application/octet-stream' : contentType);
    const metadata = JSON.stringify(entryMetadata(message, this.#deps.wire.headers.deadLetter));
    return `{"entryId":"${entryId}","event":${event},"contentType":${type},"metadata":${metadata}}`;
  }

  #rawAsEvent(message: Message): Buffer {
    return this.#wrapped(message, 'application/octet-stream');
  }

  #wrapped(message: Message, contentType: string): Buffer {
    const { pubsubName, topic } = this.#spec;
    const payload = {
      bytes: message.data,
      contentType,
      address: { appId: '', pubsubName, topic },
      trace: message.trace,
      expiresAt: undefined,
      metadata: { 'cloudevent.id': message.id },
    };
    return wrap(payload, this.#deps.envelope).data;
  }

  #headers(message: Message, contentType: string, traced: HeaderMap | undefined): HeaderMap {
    const { metadata, trace, deadLetter } = message;
    const isPlain = metadata === NO_METADATA && trace === undefined && deadLetter === undefined;
    if (isPlain && contentType === CLOUD_EVENT_TYPE)
      return traced === undefined ? this.#eventHeaders : { ...traced, ...this.#eventHeaders };
    const { deadLetter: prefix } = this.#deps.wire.headers;
    const headers: Record<string, HeaderMap[string]> = {
      ...this.#metadataHeaders(message, prefix),
      ...(deadLetter === undefined ? undefined : originHeaders(deadLetter, prefix)),
      'content-type': contentType,
      pubsubname: this.#pubsubName,
    };
    if (!isShortValue(contentType)) headers['content-type'] = 'application/octet-stream';
    if (trace !== undefined && isShortValue(trace.traceparent)) headers['traceparent'] = trace.traceparent;
    if (trace?.tracestate !== undefined && isShortValue(trace.tracestate)) headers['tracestate'] = trace.tracestate;
    return traced?.['traceparent'] === undefined ? headers : withTrace(headers, traced);
  }

  /** Without names and values that no header can hold, and what is too much. */
  #metadataHeaders({ id, metadata }: Message, originPrefix: string): Record<string, string> {
    const headers: Record<string, string> = {};
    let [fields, bytes] = [0, 0];
    for (const [key, value] of Object.entries(metadata)) {
      if (isOfOrigin(key, originPrefix)) continue;
      const name = metadataHeaderName(key);
      if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) continue;
      const size = name.length + value.length;
      if (fields === MAX_METADATA.fields || bytes + size > MAX_METADATA.bytes) {
        this.#warnOfLeftOut(id);
        continue;
      }
      fields++;
      bytes += size;
      headers[name] = value;
    }
    return headers;
  }

  #warnOfLeftOut(messageId: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { pubsubName, topic } = this.#spec;
    const { fields, bytes } = MAX_METADATA;
    this.#deps.logger.warn(
      { pubsubName, topic, messageId },
      `metadata does not reach the application: more than ${fields} keys, or ${bytes / 1024} KiB, in its headers`,
    );
  }
}

function isShortValue(value: string): boolean {
  return value.length <= MAX_VALUE_BYTES && HEADER_VALUE.test(value);
}

/** With the fields of the present trace in place of those of the message's own. */
function withTrace({ tracestate: _former, ...headers }: HeaderMap, traced: HeaderMap): HeaderMap {
  return { ...headers, ...traced };
}
