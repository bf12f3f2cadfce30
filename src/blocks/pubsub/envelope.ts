import { isUtf8 } from 'node:buffer';
import type { Trace } from '../../components/pubsub.ts';
import { asBuffer } from '../../http/body.ts';
import { formatInstant } from '../../util/duration.ts';
import { contentKind } from './content-type.ts';
import { type Metadata, NO_METADATA } from './request-metadata.ts';

/** Where a message goes. */
export interface Address {
  readonly pubsubName: string;
  readonly topic: string;
}

/** What all envelopes of a sidecar have in common. */
export interface EnvelopeDefaults {
  /** `source` of wrapped messages: the app ID. */
  readonly source: string;
  /** `type` of wrapped messages. */
  readonly type: string;
  /** The present instant, in RFC 3339. */
  readonly timestamp: () => string;
  readonly newId: () => string;
}

/** A payload to be wrapped. */
export interface Payload {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly address: Address;
  readonly trace: Trace | undefined;
  readonly expiresAt: number | undefined;
  readonly metadata: Metadata;
}

/** An encoded CloudEvent and its ID. */
export interface EncodedEvent {
  readonly id: string;
  readonly data: Buffer;
  readonly trace?: Trace | undefined;
  /** `expiration` of the caller's own event. */
  readonly expiration?: string;
}

/** Wraps a payload as a CloudEvent 1.0 in JSON. By hand: the `cloudevents` package takes five times as long. */
export function wrap(payload: Payload, defaults: EnvelopeDefaults): EncodedEvent {
  const { address, contentType, metadata } = payload;
  const trace = metadata === NO_METADATA ? payload.trace : traceOf(metadata, payload.trace);
  const id = metadata['cloudevent.id'] || defaults.newId();
  let head = `{"id":${quote(id)},"source":${quote(metadata['cloudevent.source'] || defaults.source)}`;
  head += `,"specversion":"1.0","type":${quote(metadata['cloudevent.type'] || defaults.type)}`;
  head += `,"datacontenttype":${quote(contentType)},"time":"${defaults.timestamp()}"`;
  head += `,"topic":${quote(address.topic)},"pubsubname":${quote(address.pubsubName)}`;
  if (metadata['cloudevent.subject']) head += `,"subject":${quote(metadata['cloudevent.subject'])}`;
  if (trace !== undefined) head += traceMembers(trace, metadata);
  if (payload.expiresAt !== undefined) head += `,"expiration":"${formatInstant(payload.expiresAt)}"`;
  return { id, data: withData(head, payload.bytes, contentType), trace };
}

/** `JSON.stringify` of a string. */
export function quote(text: string): string {
  return JSON.stringify(text);
}

/** The present instant as text. Remembers the last one: many messages share a millisecond. */
export function timestamps(now: () => number): () => string {
  let lastAt = 0;
  let lastText = '';
  return () => {
    const at = now();
    if (at !== lastAt) lastText = formatInstant(at);
    lastAt = at;
    return lastText;
  };
}

/** The trace of a wrapped message: what the publisher's metadata say, else that of the request. */
function traceOf(metadata: Metadata, requested: Trace | undefined): Trace | undefined {
  const traceparent = metadata['cloudevent.traceparent'] || metadata['cloudevent.traceid'] || requested?.traceparent;
  if (!traceparent) return undefined;
  const tracestate = metadata['cloudevent.tracestate'] || requested?.tracestate;
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

function traceMembers({ traceparent, tracestate }: Trace, metadata: Metadata): string {
  const traceid = metadata['cloudevent.traceid'] || traceparent;
  const members = `,"traceid":${quote(traceid)},"traceparent":${quote(traceparent)}`;
  return tracestate === undefined ? members : `${members},"tracestate":${quote(tracestate)}`;
}

/**
 * Closes an envelope with `data` or `data_base64`, by the content type: JSON goes in byte for byte, so that numbers
 * keep every digit; what is not JSON although it says so goes in as text; what is not text, in base64.
 */
export function withData(head: string, bytes: Uint8Array, contentType: string): Buffer {
  const buffer = asBuffer(bytes);
  const kind = contentKind(contentType);
  if (kind === 'binary' || !isUtf8(buffer)) return Buffer.from(`${head},"data_base64":"${buffer.toString('base64')}"}`);
  if (kind === 'text' || !isJson(buffer)) return Buffer.from(`${head},"data":${quote(buffer.toString())}}`);
  return splice(`${head},"data":`, buffer);
}

/** Whether the bytes are JSON text. */
export function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

function splice(head: string, json: Buffer): Buffer {
  const headBytes = Buffer.byteLength(head);
  const event = Buffer.allocUnsafe(headBytes + json.length + 1);
  event.write(head);
  json.copy(event, headBytes);
  event[event.length - 1] = 0x7d;
  return event;
}
