import { foreignMessage } from '../broker/foreign-message.ts';
import type { Received } from '../broker/line.ts';
import { encodeHeader, parseHeader } from '../broker/message-header.ts';
import { KEY_NAMES } from '../ordering-key.ts';
import { type Message, NO_METADATA } from '../pubsub.ts';
import type { FetchedRecord, OutgoingRecord } from './driver.ts';
import { topicProblem } from './names.ts';
import type { PartitionOffsets } from './partition-offsets.ts';

/** The header with what a record does not carry. */
const HEADER = 'insidecar';
/** Room for the fixed parts of a record and its batch. */
const FIXED_BYTES = 128;

/** A delivery. */
export interface KafkaHandle {
  readonly partition: PartitionOffsets;
  readonly offset: number;
}

/** A record to be sent, with the number of its bytes, or somewhat more. */
export interface SizedRecord {
  readonly record: OutgoingRecord;
  readonly bytes: number;
}

/**
 * The record of a message: all metadata are headers, but for the key.
 *
 * @throws Error if Kafka cannot carry the message.
 */
export function outgoing(message: Message): SizedRecord {
  return recordOf(message, false);
}

/** The record of a call of a binding: it has the caller's headers alone. @throws as {@link outgoing} */
export function plainOutgoing(message: Message): SizedRecord {
  return recordOf(message, true);
}

function recordOf(message: Message, isPlain: boolean): SizedRecord {
  const { topic, data, metadata } = message;
  const problem = topicProblem(topic);
  if (problem !== undefined) throw new Error(problem);
  const names = Object.keys(metadata);
  const keyName = KEY_NAMES.find((name) => metadata[name] !== undefined);
  // The name of the key would be lost, and a header of this name would be taken for ours.
  const header = isPlain ? undefined : encodeHeader(message, keyName !== undefined || names.includes(HEADER));
  const headers = new Map(header === undefined ? [] : [[Buffer.from(HEADER), Buffer.from(header)]]);
  for (const name of names)
    if (!KEY_NAMES.includes(name) && name !== HEADER) headers.set(Buffer.from(name), Buffer.from(metadata[name] ?? ''));
  const key = keyName === undefined ? undefined : Buffer.from(metadata[keyName] ?? '');
  let bytes = FIXED_BYTES + data.length + (key?.length ?? 0);
  for (const [name, value] of headers) bytes += name.length + value.length + 10;
  const value = Buffer.from(data.buffer, data.byteOffset, data.length);
  return { record: { topic, value, headers, ...(key === undefined ? undefined : { key }) }, bytes };
}

/** How records of other programs are read. */
export interface RecordReading {
  /** Whether the values of headers are escaped as in a URL. */
  readonly escapeHeaders: boolean;
  /** Headers that are left out. */
  readonly excludeHeaders: RegExp | undefined;
}

/** A record and its place. */
export interface Fetched {
  readonly record: FetchedRecord;
  readonly topic: string;
  /** Distinguishes topics that had the name one after the other. */
  readonly topicId: string;
  readonly timestamp: number;
  readonly handle: KafkaHandle;
}

export function receivedOf(fetched: Fetched, reading: RecordReading): Received<KafkaHandle> {
  const { topicId, handle } = fetched;
  const place = `${handle.partition.partition}:${handle.offset}`;
  return { message: messageOf(fetched, reading), attempts: 0, handle, key: `${topicId}:${place}` };
}

function messageOf({ record, topic, timestamp, handle }: Fetched, reading: RecordReading): Message {
  const data = record.value ?? Buffer.alloc(0);
  const headers = record.headers.map(([name, value]) => [String(name ?? ''), String(value ?? '')] as const);
  const own = parseHeader(headers.find(([name]) => name === HEADER)?.[1] ?? '');
  const others = headers.filter(([name]) => name !== HEADER);
  if (own !== undefined)
    return { ...own, topic, data, metadata: own.metadata === NO_METADATA ? textsOf(others) : own.metadata };
  const { escapeHeaders, excludeHeaders } = reading;
  const kept = others.filter(([name]) => excludeHeaders === undefined || name.search(excludeHeaders) < 0);
  const places = [
    ...(record.key === null ? [] : [['__key', record.key.toString()] as const]),
    ['__topic', topic] as const,
    ['__partition', String(handle.partition.partition)] as const,
    ['__offset', String(handle.offset)] as const,
    ['__timestamp', String(timestamp)] as const,
  ];
  const texts = kept.map(([name, text]) => [name, escapeHeaders ? escaped(text) : text] as const);
  const id = `${topic}-${handle.partition.partition}-${handle.offset}`;
  return foreignMessage({ topic, data, id, metadata: textsOf([...texts, ...places]) });
}

/** Of several headers with one name, the last counts. */
function textsOf(entries: readonly (readonly [string, string])[]): Message['metadata'] {
  if (entries.length === 0) return NO_METADATA;
  const texts = Object.create(null) as Record<string, string>;
  for (const [name, text] of entries) texts[name] = text;
  return texts;
}

/** As Dapr escapes. */
function escaped(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}
