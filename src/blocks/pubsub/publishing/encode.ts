import type { Message, Trace } from '../../../components/pubsub.ts';
import { parseInstant } from '../../../util/duration.ts';
import type { Metadata } from '../../request-metadata.ts';
import { type BinaryAttributes, binaryEvent, completeEvent } from './cloud-event.ts';
import { CLOUD_EVENT_TYPE, contentKind } from './content-type.ts';
import { type EncodedEvent, type EnvelopeAddress, type EnvelopeDefaults, type EventPayload, wrap } from './envelope.ts';
import type { PublishRules } from './publish-metadata.ts';

/** A message to publish, as received. */
export interface Publish {
  readonly address: EnvelopeAddress;
  readonly bytes: Uint8Array;
  /** The publisher's content type; `text/plain` if there was none. */
  readonly contentType: string;
  readonly metadata: Metadata;
  /** The options in its metadata. */
  readonly rules: PublishRules;
  readonly trace: Trace | undefined;
  /** The attributes, in binary mode. */
  readonly binary?: BinaryAttributes | undefined;
}

/** Encodes a published message for the component. */
export function encodeMessage(publish: Publish, defaults: EnvelopeDefaults, now: () => number): Message {
  const { address, bytes, contentType, metadata } = publish;
  const { rawPayload, ttlMs } = publish.rules;
  const expiresAt = ttlMs === undefined ? undefined : now() + ttlMs;
  const { topic } = address;
  if (rawPayload) {
    const trace = publish.trace === undefined ? undefined : { trace: publish.trace };
    const expiry = expiresAt === undefined ? undefined : { expiresAt };
    return { id: defaults.newId(), topic, data: bytes, contentType, raw: true, metadata, ...trace, ...expiry };
  }
  const payload = { address, bytes, contentType, metadata, trace: publish.trace, expiresAt };
  const { id, data, trace, expiration } = encodeEvent(payload, publish.binary, defaults);
  const expiry = expiresAt ?? (expiration === undefined ? undefined : parseInstant(expiration));
  const message = { id, topic, data, contentType: CLOUD_EVENT_TYPE, raw: false, metadata };
  if (trace === undefined && expiry === undefined) return message;
  return {
    ...message,
    ...(trace === undefined ? undefined : { trace }),
    ...(expiry === undefined ? undefined : { expiresAt: expiry }),
  };
}

function encodeEvent(
  payload: EventPayload,
  binary: BinaryAttributes | undefined,
  defaults: EnvelopeDefaults,
): EncodedEvent {
  if (contentKind(payload.contentType) === 'event') return completeEvent(payload, defaults);
  return binary === undefined ? wrap(payload, defaults) : binaryEvent(payload, binary, defaults);
}
