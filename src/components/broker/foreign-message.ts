import { parseInstant } from '../../util/duration.ts';
import { type Message, NO_METADATA, type Trace } from '../pubsub.ts';
import { CLOUD_EVENT_TYPE, parseJson } from './message-header.ts';

/** A message that another program has published: Dapr, or one that knows neither Dapr nor us. */
export interface Foreign {
  readonly topic: string;
  readonly data: Uint8Array;
  /** The ID of a raw payload, such as its position at the broker. */
  readonly id: string;
  /** The metadata that the broker carries beside the data. Default: none. `rawPayload: 'true'` marks a raw payload. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The media type of a raw payload, if the broker knows it. Default: `application/json` if it is JSON, else `application/octet-stream`. */
  readonly contentType?: string | undefined;
}

const OPEN_BRACE = 0x7b;

/**
 * Makes the message: a JSON object with `specversion` is a CloudEvent, from which the ID, the trace and the expiry are
 * taken; all else is a raw payload.
 */
export function foreignMessage({ topic, data, id, metadata = NO_METADATA, contentType }: Foreign): Message {
  const value = looksLikeObject(data)
    ? parseJson(Buffer.from(data.buffer, data.byteOffset, data.length).toString())
    : undefined;
  if (metadata['rawPayload'] !== 'true' && isEvent(value)) return { ...eventParts(value, id), topic, data, metadata };
  const type = contentType ?? (value === undefined ? 'application/octet-stream' : 'application/json');
  return { id, topic, data, contentType: type, raw: true, metadata };
}

function looksLikeObject(data: Uint8Array): boolean {
  for (const byte of data) {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
    return byte === OPEN_BRACE;
  }
  return false;
}

interface CloudEventLike {
  readonly specversion: string;
  readonly id?: unknown;
  readonly expiration?: unknown;
  readonly traceparent?: unknown;
  readonly traceid?: unknown;
  readonly tracestate?: unknown;
}

function isEvent(value: unknown): value is CloudEventLike {
  return typeof value === 'object' && value !== null && 'specversion' in value && typeof value.specversion === 'string';
}

function eventParts(event: CloudEventLike, fallbackId: string): Omit<Message, 'topic' | 'data' | 'metadata'> {
  const trace = traceOf(event);
  const expiresAt = typeof event.expiration === 'string' ? parseInstant(event.expiration) : undefined;
  return {
    id: typeof event.id === 'string' && event.id !== '' ? event.id : fallbackId,
    contentType: CLOUD_EVENT_TYPE,
    raw: false,
    ...(trace === undefined ? undefined : { trace }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
  };
}

/** Dapr writes both `traceparent` and `traceid`. */
function traceOf({ traceparent, traceid, tracestate }: CloudEventLike): Trace | undefined {
  const parent = [traceparent, traceid].find((text) => typeof text === 'string' && text !== '') as string | undefined;
  if (parent === undefined) return undefined;
  return typeof tracestate === 'string' && tracestate !== ''
    ? { traceparent: parent, tracestate }
    : { traceparent: parent };
}
