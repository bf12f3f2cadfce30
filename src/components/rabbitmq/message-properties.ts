import { definedOnly } from '../../util/defined-only.ts';
import { foreignMessage } from '../broker/foreign-message.ts';
import { CLOUD_EVENT_TYPE, encodeHeader, parseHeader } from '../broker/message-header.ts';
import type { Message } from '../pubsub.ts';
import type { AmqpMessage, Properties, Table } from './driver.ts';

/** The parts of a message that the broker does not carry. */
const HEADER = 'insidecar';
/** Unique to each message. */
export const KEY_HEADER = 'insidecar-key';
/** The number of deliveries before the message was sent to its queue again. */
const ATTEMPTS_HEADER = 'insidecar-attempts';
const COUNT_HEADER = 'x-delivery-count';

/** The longest text of AMQP other than headers and bodies. */
const MAX_TEXT_BYTES = 255;
/** The longest time to live that RabbitMQ takes. */
const MAX_EXPIRATION_MS = 2 ** 32 - 1;
/** The content type that daprd and the clients of many languages put on everything. */
const ANY_TYPE = 'text/plain';

/** How messages are sent. */
export interface SendOptions {
  /** Unique. */
  readonly key: string;
  readonly now: number;
  /** For messages without their own that are no dead letters. */
  readonly ttlMs: number | undefined;
}

/** A message's routing key and properties. */
export interface Addressed {
  readonly routingKey: string;
  readonly properties: Properties;
}

/** Makes the properties. Those that Dapr takes from the publisher's metadata are taken from there. */
export function addressed(message: Message, { key, now, ttlMs }: SendOptions): Addressed {
  const { id, contentType, metadata, deadLetter } = message;
  const given = new Map<string, string>();
  for (const name of Object.keys(metadata)) given.set(name.toLowerCase(), metadata[name] ?? '');
  const expiresAt = message.expiresAt ?? (ttlMs === undefined || deadLetter !== undefined ? undefined : now + ttlMs);
  const lifeMs = expiresAt === undefined ? undefined : Math.max(0, Math.ceil(expiresAt - now));
  const mortal = expiresAt === undefined || message.expiresAt !== undefined ? message : { ...message, expiresAt };
  const priority = given.get('priority');
  const properties: Properties = {
    persistent: true,
    mandatory: true,
    headers: { [HEADER]: encodeHeader(mortal, true), [KEY_HEADER]: key },
    ...text('contentType', given.get('contenttype') ?? contentType),
    ...text('messageId', given.get('messageid') ?? id),
    ...text('correlationId', given.get('correlationid')),
    ...text('type', given.get('type')),
    ...(lifeMs === undefined || lifeMs > MAX_EXPIRATION_MS ? undefined : { expiration: String(lifeMs) }),
    ...(priority !== undefined && /^\d{1,3}$/.test(priority)
      ? { priority: Math.min(255, Number(priority)) }
      : undefined),
  };
  // A dead letter has the metadata of its original, whose key need not fit the bindings of the dead-letter topic.
  return { routingKey: deadLetter === undefined ? (given.get('routingkey') ?? '') : '', properties };
}

function text(name: keyof Properties, value: string | undefined): Properties | undefined {
  if (value === undefined || value === '' || Buffer.byteLength(value) > MAX_TEXT_BYTES) return undefined;
  return { [name]: value };
}

/** How received messages are read. */
export interface ReadOptions {
  readonly topic: string;
  readonly now: () => number;
  readonly newId: () => string;
  /** Whether properties and headers are added to the metadata, or headers alone. */
  readonly propertiesToMetadata: boolean | 'headers';
}

/** Makes the message. */
export function messageOf(received: AmqpMessage, options: ReadOptions): Message {
  const { content: data, properties } = received;
  const header = properties.headers?.[HEADER];
  const content = typeof header === 'string' ? parseHeader(header) : undefined;
  const message = content === undefined ? foreign(received, options) : { ...content, topic: options.topic, data };
  const { propertiesToMetadata: added } = options;
  if (added === false) return message;
  return {
    ...message,
    metadata: withProperties(message.metadata, added === true ? properties : headersOf(properties)),
  };
}

function foreign({ content: data, properties }: AmqpMessage, { topic, now, newId }: ReadOptions): Message {
  const { contentType, messageId, expiration } = properties;
  const isKnownType = contentType !== undefined && contentType !== ANY_TYPE && contentType !== CLOUD_EVENT_TYPE;
  const message = foreignMessage({
    topic,
    data,
    id: messageId === undefined || messageId === '' ? newId() : messageId,
    contentType: isKnownType ? contentType : undefined,
  });
  // The latest that it can be: the broker does not tell how long the message has waited.
  if (message.expiresAt !== undefined || expiration === undefined) return message;
  return { ...message, expiresAt: now() + Number(expiration) };
}

function headersOf({ headers }: AmqpMessage['properties']): AmqpMessage['properties'] {
  return headers === undefined ? {} : { headers };
}

/** Adds properties under the names that Dapr gives them. */
function withProperties(metadata: Message['metadata'], properties: AmqpMessage['properties']): Message['metadata'] {
  const all = Object.create(null) as Record<string, string>;
  const { headers = {}, messageId, correlationId, type, contentType } = properties;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === null || value === undefined || name.startsWith(HEADER)) continue;
    all[name] = typeof value === 'object' && !Buffer.isBuffer(value) ? JSON.stringify(value) : String(value);
  }
  if (messageId) all['messageid'] = messageId;
  if (correlationId) all['correlationid'] = correlationId;
  if (type) all['type'] = type;
  if (contentType) all['contenttype'] = contentType;
  return Object.assign(all, metadata);
}

/** Identifies a message of our own; `undefined` for others. */
export function keyOf({ properties: { headers } }: AmqpMessage): string | undefined {
  const key = headers?.[KEY_HEADER];
  return typeof key === 'string' ? key : undefined;
}

/** The number of deliveries before this one, as far as the broker knows. */
export function attemptsOf({ fields, properties: { headers = {} } }: AmqpMessage): number {
  const [before, counted] = [headers[ATTEMPTS_HEADER], headers[COUNT_HEADER]];
  // A message that was moved from another queue still has the count of that one.
  const here = !fields.redelivered ? 0 : typeof counted === 'number' ? counted : 1;
  return here + (typeof before === 'number' ? Math.max(0, before) : 0);
}

/** The result of {@link attemptsOf} for the next delivery if the message goes back to its queue. */
export function attemptsAfterReturn({ properties: { headers = {} } }: AmqpMessage, before: number): number {
  if (typeof headers[COUNT_HEADER] === 'number') return before + 1;
  const republished = headers[ATTEMPTS_HEADER];
  return 1 + (typeof republished === 'number' ? republished : 0);
}

/** The properties with which a message is sent to its queue again, after this many deliveries. */
export function again(received: AmqpMessage, message: Message, attempts: number, key: string): Properties {
  // RabbitMQ takes a user's name from that user only.
  const { headers = {}, expiration: _expiration, userId: _userId, ...properties } = received.properties;
  const { [COUNT_HEADER]: _count, ...kept } = headers;
  const isOwn = typeof headers[HEADER] === 'string';
  // Its remaining time to live must survive: ours is in our header.
  const own: Table = isOwn || message.expiresAt === undefined ? {} : { [HEADER]: encodeHeader(message, true) };
  return {
    // The driver names all properties, whether the message has them or not.
    ...definedOnly(properties),
    persistent: true,
    mandatory: true,
    headers: { ...kept, ...own, [ATTEMPTS_HEADER]: attempts, [KEY_HEADER]: key },
  };
}
