import { readValue } from '../../state/values.ts';
import type { DispatchedMessage } from '../dispatcher.ts';
import { type Message, NO_METADATA } from '../pubsub.ts';
import { readOrigin, type StoredOrigin, storedOrigin } from '../stored-origin.ts';

/** Format 1: length of the header (4 bytes, big-endian), the header in JSON, the message's data. */
const FORMAT = 1;
const LENGTH_BYTES = 4;

/** The content type of nearly every message, which is not written. */
const USUAL_TYPE = 'application/cloudevents+json';

/**
 * All of a message except its data and its topic, which its queue knows. Names are short: it is written for every
 * message.
 */
interface Header {
  readonly i: string;
  readonly c?: string;
  readonly r?: 1;
  readonly m?: Readonly<Record<string, string>>;
  readonly p?: string;
  readonly s?: string;
  readonly e?: number;
  /** How often the message was handed out. */
  readonly a?: number;
  /** How many of the last deliveries the end of a process has interrupted. */
  readonly k?: number;
  /** The origin of a dead letter. */
  readonly d?: StoredOrigin;
}

/** The stored form of a queued message. */
export function encodeQueued({ message, attempts, interruptions = 0 }: DispatchedMessage): Uint8Array {
  const { id, contentType, raw, metadata, trace, expiresAt, deadLetter, data } = message;
  const header: { -readonly [Name in keyof Header]: Header[Name] } = { i: id };
  if (contentType !== USUAL_TYPE) header.c = contentType;
  if (raw) header.r = 1;
  if (metadata !== NO_METADATA) header.m = metadata;
  if (trace !== undefined) header.p = trace.traceparent;
  if (trace?.tracestate !== undefined) header.s = trace.tracestate;
  if (expiresAt !== undefined) header.e = expiresAt;
  if (attempts > 0) header.a = attempts;
  if (interruptions > 0) header.k = interruptions;
  if (deadLetter !== undefined) header.d = storedOrigin(deadLetter);
  const text = JSON.stringify(header);
  const textBytes = Buffer.byteLength(text);
  const value = Buffer.allocUnsafe(1 + LENGTH_BYTES + textBytes + data.length);
  value[0] = FORMAT;
  value.writeUInt32BE(textBytes, 1);
  value.write(text, 1 + LENGTH_BYTES);
  value.set(data, 1 + LENGTH_BYTES + textBytes);
  return value;
}

/** Decodes a stored message of a topic. */
export function decodeQueued(key: string, value: Uint8Array, topic: string): Required<DispatchedMessage> {
  return readValue(key, value, { [FORMAT]: (payload) => readHeaderAndData(payload, topic) });
}

function readHeaderAndData(payload: Uint8Array, topic: string): Required<DispatchedMessage> {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const headerEnd = LENGTH_BYTES + bytes.readUInt32BE();
  const header = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, headerEnd)) as Header;
  const { i, c, r, m, p, s, e, a, k, d } = header;
  const deadLetter = readOrigin(d);
  const message: Message = {
    id: i,
    topic,
    data: bytes.subarray(headerEnd),
    contentType: c ?? USUAL_TYPE,
    raw: r === 1,
    metadata: m ?? NO_METADATA,
    ...(p === undefined
      ? undefined
      : { trace: s === undefined ? { traceparent: p } : { traceparent: p, tracestate: s } }),
    ...(e === undefined ? undefined : { expiresAt: e }),
    ...(deadLetter === undefined ? undefined : { deadLetter }),
  };
  return { message, attempts: a ?? 0, interruptions: k ?? 0 };
}
