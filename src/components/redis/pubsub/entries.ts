import { foreignMessage } from '../../broker/foreign-message.ts';
import { encodeHeader, parseHeader, parseJson, textsOf } from '../../broker/message-header.ts';
import type { Message } from '../../pubsub.ts';
import type { RedisArgument } from '../driver.ts';

/** An entry of a stream as the server sends it: its ID, and fields and values in turn; `null` if it was deleted. */
export type RawEntry = readonly [Buffer, readonly Buffer[] | null];

/** The fields that Dapr writes, and ours. */
const DATA = 'data';
const METADATA = 'metadata';
const HEADER = 'insidecar';

/** The fields and values of a message. */
export function fieldsOf(message: Message): readonly RedisArgument[] {
  const { data, metadata } = message;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return [DATA, bytes, METADATA, JSON.stringify(metadata), HEADER, encodeHeader(message, false)];
}

/** Reads an entry that any program may have written. */
export function messageOf(topic: string, id: string, fields: readonly Buffer[]): Message {
  const values = new Map<string, Buffer>();
  for (let at = 0; at + 1 < fields.length; at += 2) values.set(String(fields[at]), fields[at + 1] as Buffer);
  const data = values.get(DATA);
  const metadata = textsOf(parseJson(String(values.get(METADATA) ?? '')));
  if (data === undefined) return foreignMessage({ topic, id, data: jsonOf(values), metadata: { rawPayload: 'true' } });
  const header = values.get(HEADER);
  const content = header === undefined ? undefined : parseHeader(header.toString());
  if (content === undefined) return foreignMessage({ topic, id, data, metadata });
  return { ...content, topic, data, metadata };
}

/** Another program's entry without `data`: all its fields, as an object in JSON. */
function jsonOf(values: ReadonlyMap<string, Buffer>): Buffer {
  return Buffer.from(JSON.stringify(Object.fromEntries([...values].map(([name, value]) => [name, value.toString()]))));
}
