import { foreignMessage } from '../broker/foreign-message.ts';
import type { Received } from '../broker/line.ts';
import { encodeHeader, parseHeader } from '../broker/message-header.ts';
import type { Message } from '../pubsub.ts';
import type { NatsHeaders, NatsMessage } from './driver.ts';
import { topicOf } from './names.ts';

const HEADER = 'Insidecar';
const NOT_IN_IDS = /[^\x21-\x24\x26-\x7e]/gu;

/** Settles a delivery, from any connection. */
export interface Handle {
  readonly key: string;
  /** The subject that acknowledgements go to. */
  readonly reply: string;
}

/** Headers, encoded: the driver asks for no more. */
export interface EncodedHeaders {
  readonly length: number;
  encode(): Uint8Array;
}

/** The headers of a published message. The server drops a second message with the same `Nats-Msg-Id`. */
export function encodeHeaders(message: Message, subject: string): EncodedHeaders {
  // With the subject: a dead letter keeps its ID, and may go to the same stream.
  const messageId = `${message.id}@${subject}`.replace(NOT_IN_IDS, percentEncoded);
  const text = `NATS/1.0\r\nNats-Msg-Id: ${messageId}\r\n${HEADER}: ${encodeHeader(message, true)}\r\n\r\n`;
  return { length: text.length, encode: () => Buffer.from(text, 'latin1') };
}

function percentEncoded(character: string): string {
  const bytes = [...Buffer.from(character)];
  return bytes.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** The headers of a message; `undefined` if it has none or they are malformed. */
export function headersOf(message: NatsMessage): NatsHeaders | undefined {
  try {
    return message.headers;
  } catch {
    return undefined;
  }
}

interface Position {
  readonly stream: string;
  readonly delivered: number;
  readonly sequence: string;
  /** When it was stored, in nanoseconds: a stream that is deleted and made again numbers its messages from 1 again. */
  readonly storedAt: string;
}

/**
 * From the subject that acknowledges a delivery; `undefined` for any other subject. Older servers leave out domain and
 * account.
 */
function positionOf(reply: string): Position | undefined {
  if (!reply.startsWith('$JS.ACK.')) return undefined;
  const parts = reply.split('.');
  const [stream = '', , delivered = '', sequence = '', , storedAt = ''] = parts.slice(parts.length > 9 ? 4 : 2);
  return storedAt === '' ? undefined : { stream, delivered: Number(delivered), sequence, storedAt };
}

/**
 * A message as JetStream delivers it to the subscription to a topic; `undefined` if it is something else. If the topic
 * has wildcards, the metadata tell that of the message, under Dapr's name.
 */
export function receivedOf(
  message: NatsMessage,
  subscribed: string,
  hasWildcards = false,
): Received<Handle> | undefined {
  const { reply = '', data } = message;
  const position = positionOf(reply);
  if (position === undefined) return undefined;
  const { stream, delivered, sequence, storedAt } = position;
  const key = `${sequence}.${storedAt}`;
  const header = headersOf(message)?.get(HEADER) ?? '';
  const content = header === '' ? undefined : parseHeader(header);
  const topic = hasWildcards ? topicOf(message.subject) : subscribed;
  const own =
    content === undefined ? foreignMessage({ topic, data, id: `${stream}:${sequence}` }) : { ...content, topic, data };
  return {
    message: hasWildcards ? { ...own, metadata: withTopic(own.metadata, topic) } : own,
    attempts: Math.max(0, delivered - 1) || 0,
    handle: { key, reply },
    key,
  };
}

function withTopic(metadata: Message['metadata'], topic: string): Message['metadata'] {
  return Object.assign(Object.create(null) as Record<string, string>, metadata, { Topic: topic });
}
