import type { DeadLetterOrigin, Message } from '../../../components/pubsub.ts';
import { type Metadata, NO_METADATA } from '../publishing/request-metadata.ts';

/** The longest reason that a dead letter carries, in bytes of UTF-8. */
const MAX_REASON_BYTES = 1_024;

/** What is told of an origin, as the names of headers end. */
const FIELDS = ['topic', 'group', 'reason', 'attempts', 'at'] as const;

/** The same bytes on another topic; what has waited long enough to fail must not expire there. */
export function deadLetterOf(
  { expiresAt: _expired, ...message }: Message,
  topic: string,
  origin: DeadLetterOrigin,
): Message {
  return { ...message, topic, deadLetter: origin };
}

/** As much of a reason as goes with a dead letter: it is kept, and is sent in a header. */
export function shortReason(reason: string): string {
  // As a stream: half a character at the end is left out.
  return new TextDecoder().decode(Buffer.from(reason).subarray(0, MAX_REASON_BYTES), { stream: true });
}

/** The headers that tell of an origin; `prefix` is the wire's. */
export function originHeaders(origin: DeadLetterOrigin, prefix: string): Record<string, string> {
  return Object.fromEntries(FIELDS.map((field) => [prefix + field, asHeader(String(origin[field]))]));
}

/** What is not printable ASCII is percent-encoded, and `%` itself: `decodeURIComponent` always gives the text back. */
function asHeader(text: string): string {
  return Buffer.from(text)
    .toString()
    .replace(/[^ -$&-~]|^ | $/gu, encodeURIComponent);
}

/** The metadata of an entry of a bulk delivery: the publisher's, which cannot tell of an origin, and the origin. */
export function entryMetadata({ metadata, deadLetter }: Message, prefix: string): Metadata {
  if (metadata === NO_METADATA && deadLetter === undefined) return metadata;
  const own = Object.entries(metadata).filter(([name]) => !isOfOrigin(name, prefix));
  const origin = deadLetter === undefined ? [] : FIELDS.map((field) => [prefix + field, String(deadLetter[field])]);
  return Object.fromEntries([...own, ...origin]) as Metadata;
}

/** Whether a publisher's metadata would pass for a part of an origin. */
export function isOfOrigin(name: string, prefix: string): boolean {
  return name.toLowerCase().startsWith(prefix);
}
