import { foreignMessage } from '../broker/foreign-message.ts';
import { encodeHeader, parseHeader } from '../broker/message-header.ts';
import { type Message, NO_METADATA } from '../pubsub.ts';
import type { MqttPacket, MqttProperties } from './driver.ts';
import { isPlainText, MAX_TEXT_BYTES, publishTopicProblem } from './names.ts';

/** The user property with what MQTT does not carry. */
const HEADER = 'insidecar';
/** MQTT writes the length of a packet in 28 bits. */
const MAX_PACKET_BYTES = 268_435_455;
/** Room for the fixed parts of a packet. */
const FIXED_BYTES = 64;
const MAX_EXPIRY_S = 0xffff_ffff;

/** How messages are written. */
export interface Writing {
  readonly protocolVersion: 4 | 5;
  /** Whether the broker keeps the last message of a topic, unless the message's metadata say otherwise. */
  readonly retain: boolean;
  readonly now: () => number;
}

/** A message to be sent, with the number of its bytes, or somewhat more. */
export interface OutgoingPacket {
  readonly packet: MqttPacket;
  readonly bytes: number;
  /** A dead letter as it goes if it is too large with its origin: it would be tried for ever. */
  readonly withoutOrigin?: OutgoingPacket;
}

/**
 * The packet of a message; it has no packet ID yet.
 *
 * @throws Error if MQTT cannot carry the message.
 */
export function outgoing(message: Message, writing: Writing): OutgoingPacket {
  if (message.deadLetter === undefined) return written(message, writing, false);
  const { deadLetter: _origin, ...rest } = message;
  const withoutOrigin = written(rest, writing, true);
  try {
    return { ...written(message, writing, true), withoutOrigin };
  } catch {
    return withoutOrigin;
  }
}

function written(message: Message, { protocolVersion, retain, now }: Writing, isDeadLetter: boolean): OutgoingPacket {
  const { topic, data, metadata } = message;
  const problem = publishTopicProblem(topic);
  if (problem !== undefined) throw new Error(problem);
  const own = protocolVersion === 5 ? propertiesOf(message, now) : undefined;
  const bytes = data.length + Buffer.byteLength(topic) + (own?.bytes ?? 0) + FIXED_BYTES;
  if (bytes > MAX_PACKET_BYTES) throw new Error(`the message has ${bytes} bytes: MQTT carries ${MAX_PACKET_BYTES}`);
  const packet: MqttPacket = {
    cmd: 'publish',
    topic,
    payload: Buffer.from(data.buffer, data.byteOffset, data.length),
    qos: 1,
    // Fields that other programs have written beside a message must not keep it from becoming a dead letter.
    retain: !isDeadLetter && (isRetained(metadata['retain']) ?? retain),
    ...(own === undefined ? undefined : { properties: own.properties }),
  };
  return { packet, bytes };
}

/** As Dapr reads the metadata of a publish. */
function isRetained(text: string | undefined): boolean | undefined {
  if (text === undefined || text === '') return undefined;
  const value = text.toLowerCase();
  if (['1', 't', 'true'].includes(value)) return true;
  if (['0', 'f', 'false'].includes(value)) return false;
  throw new Error(`metadata retain is ${JSON.stringify(text)}: expected "true" or "false"`);
}

/** Metadata are user properties of their own, so that other programs can read them. */
function propertiesOf(
  message: Message,
  now: () => number,
): { readonly properties: MqttProperties; readonly bytes: number } {
  const { metadata, contentType, expiresAt } = message;
  const entries = Object.entries(metadata);
  const arePlain = entries.every(([name, text]) => name !== HEADER && isPlainText(name) && isPlainText(text));
  const header = encodeHeader(message, !arePlain);
  if (header.length > MAX_TEXT_BYTES)
    throw new Error(
      `what the message has beside its data takes ${header.length} bytes: MQTT carries ${MAX_TEXT_BYTES}`,
    );
  const userProperties = Object.create(null) as Record<string, string>;
  userProperties[HEADER] = header;
  let bytes = header.length + contentType.length;
  if (arePlain) {
    for (const [name, text] of entries) {
      userProperties[name] = text;
      bytes += 3 * (name.length + text.length) + 5;
    }
  }
  const properties = {
    ...(isPlainText(contentType) ? { contentType } : undefined),
    ...(expiresAt === undefined ? undefined : { messageExpiryInterval: secondsUntil(expiresAt, now()) }),
    userProperties,
  };
  return { properties, bytes };
}

/** At least one: the header says it exactly. */
function secondsUntil(instant: number, now: number): number {
  return Math.min(Math.max(Math.ceil((instant - now) / 1_000), 1), MAX_EXPIRY_S);
}

/** How messages are read. */
export interface MessageReading {
  readonly now: () => number;
  readonly newId: () => string;
  /** Whether the message's metadata tell its topic, which is not that of the subscription. */
  readonly tellsTopic: boolean;
}

/** The message of a packet, ours or another program's. */
export function incoming(packet: MqttPacket, { now, newId, tellsTopic }: MessageReading): Message {
  const { topic = '', payload = Buffer.alloc(0), properties } = packet;
  const { contentType, messageExpiryInterval, userProperties = {} } = properties ?? {};
  const header = userProperties[HEADER];
  const own = typeof header === 'string' ? parseHeader(header) : undefined;
  const carried = own === undefined || own.metadata === NO_METADATA ? textsOf(userProperties) : own.metadata;
  const metadata = tellsTopic ? withTopic(carried, topic) : carried;
  if (own !== undefined) return { ...own, topic, data: payload, metadata };
  const message = foreignMessage({ topic, data: payload, id: newId(), metadata, contentType });
  if (messageExpiryInterval === undefined || message.expiresAt !== undefined) return message;
  return { ...message, expiresAt: now() + messageExpiryInterval * 1_000 };
}

/** The user properties that are not ours. Of several with one name, the first counts. */
function textsOf(properties: MqttProperties['userProperties'] & object): Message['metadata'] {
  const entries = Object.entries(properties).filter(([name]) => name !== HEADER);
  if (entries.length === 0) return NO_METADATA;
  const texts = Object.create(null) as Record<string, string>;
  for (const [name, text] of entries) texts[name] = typeof text === 'string' ? text : (text[0] ?? '');
  return texts;
}

function withTopic(metadata: Message['metadata'], topic: string): Message['metadata'] {
  return Object.assign(Object.create(null) as Record<string, string>, metadata, { 'mqtt-topic': topic });
}
