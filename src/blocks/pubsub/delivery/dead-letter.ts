import type { DeadLetterOrigin, Message } from '../../../components/pubsub.ts';
import { type StoredOrigin, storedOrigin } from '../../../components/stored-origin.ts';
import { type Metadata, NO_METADATA } from '../../request-metadata.ts';

/** The most bytes of UTF-8 of a dead letter's reason. */
const MAX_REASON_BYTES = 1_024;

/** The fields of an origin as they are stored, which are suffixes of header names. */
const FIELDS: readonly (keyof StoredOrigin)[] = ['topic', 'group', 'reason', 'attempts', 'at'];

/** The message for the dead-letter topic: its bytes, without an expiry. */
export function deadLetterOf(
  { expiresAt: _expired, ...message }: Message,
  topic: string,
  origin: DeadLetterOrigin,
): Message {
  return { ...message, topic, deadLetter: origin };
}

/** Shortens a reason: it is stored and sent in a header. */
export function shortReason(reason: string): string {
  // Decoded as a stream, so that half a character at the end is left out.
  return new TextDecoder().decode(Buffer.from(reason).subarray(0, MAX_REASON_BYTES), { stream: true });
}

/** The headers of an origin; `prefix` is the wire's. */
export function originHeaders(origin: DeadLetterOrigin, prefix: string): Record<string, string> {
  return Object.fromEntries(fieldsOf(origin, prefix).map(([name, text]) => [name, asHeader(text)]));
}

function fieldsOf(origin: DeadLetterOrigin, prefix: string): [string, string][] {
  const stored = storedOrigin(origin);
  return FIELDS.map((field) => [prefix + field, String(stored[field])]);
}

/** Percent-encodes `%` and everything but printable ASCII, so that `decodeURIComponent` gives the text back. */
function asHeader(text: string): string {
  return Buffer.from(text)
    .toString()
    .replace(/[^ -$&-~]|^ | $/gu, encodeURIComponent);
}

/** The metadata of a bulk entry: the publisher's, without keys that look like an origin, and the origin. */
export function entryMetadata({ metadata, deadLetter }: Message, prefix: string): Metadata {
  if (metadata === NO_METADATA && deadLetter === undefined) return metadata;
  const own = Object.entries(metadata).filter(([name]) => !isOfOrigin(name, prefix));
  const origin = deadLetter === undefined ? [] : fieldsOf(deadLetter, prefix);
  return Object.fromEntries([...own, ...origin]) as Metadata;
}

/** Whether a metadata key looks like a part of an origin. */
export function isOfOrigin(name: string, prefix: string): boolean {
  return name.toLowerCase().startsWith(prefix);
}
