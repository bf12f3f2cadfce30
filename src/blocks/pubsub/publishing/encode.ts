import type { Message, Trace } from '../../../components/pubsub.ts';
import { parseInstant } from '../../../util/duration.ts';
import { type BinaryAttributes, binaryEvent, completeEvent } from './cloud-event.ts';
import { CLOUD_EVENT_TYPE, contentKind } from './content-type.ts';
import { type Address, type EncodedEvent, type EnvelopeDefaults, type Payload, wrap } from './envelope.ts';
import type { Metadata, PublishRules } from './request-metadata.ts';

/** A publish of one message, as it came. */
export interface Publish {
  readonly address: Address;
  readonly bytes: Uint8Array;
  /** As the publisher gave it; `text/plain` when there was none. */
  readonly contentType: string;
  readonly metadata: Metadata;
  /** What the metadata ask for. */
  readonly rules: PublishRules;
  readonly trace: Trace | undefined;
  /** Attributes of binary mode, when it is on. */
  readonly binary?: BinaryAttributes | undefined;
}

/** Turns what was published into the message that the component gets. */
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

function encodeEvent(payload: Payload, binary: BinaryAttributes | undefined, defaults: EnvelopeDefaults): EncodedEvent {
  if (contentKind(payload.contentType) === 'event') return completeEvent(payload, defaults);
  return binary === undefined ? wrap(payload, defaults) : binaryEvent(payload, binary, defaults);
}
