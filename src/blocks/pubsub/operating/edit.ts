import type { Message } from '../../../components/pubsub.ts';
import { SidecarError } from '../../../errors.ts';
import { bytesOf } from '../../../util/bytes.ts';
import { requiredJsonText } from '../../../util/json-value.ts';
import { contentKind } from '../publishing/content-type.ts';
import { withData } from '../publishing/envelope.ts';

/** A content type and the bytes of data. */
interface Encoded {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** A message as it is redelivered: without its origin as a dead letter, with new data if there are any. */
export function redelivered({ deadLetter: _origin, ...message }: Message, topic: string, data: unknown): Message {
  const same = { ...message, topic };
  if (data === undefined) return same;
  if (!message.raw) return { ...same, data: withNewData(message, data) };
  const { bytes, contentType } = encoded(data, message.contentType);
  return { ...same, data: bytes, contentType };
}

/** The CloudEvent with other data. */
function withNewData(message: Message, data: unknown): Uint8Array {
  const { data: wasText, data_base64: _bytes, ...attributes } = eventOf(message);
  const before = attributes['datacontenttype'];
  const { bytes, contentType } = encoded(data, typeof before === 'string' ? before : 'application/json');
  const head = JSON.stringify({ ...attributes, datacontenttype: contentType });
  return withData(head.slice(0, -1), bytes, contentType, wasText !== undefined);
}

/** Bytes stay what they are, and so does text, unless the content was JSON: then every value becomes JSON. */
function encoded(data: unknown, before: string): Encoded {
  const bytes = bytesOf(data);
  if (bytes !== undefined) return { bytes, contentType: before };
  const isJson = contentKind(before) === 'json';
  if (typeof data === 'string' && !isJson) return { bytes: Buffer.from(data), contentType: before };
  return { bytes: Buffer.from(jsonOf(data)), contentType: isJson ? before : 'application/json' };
}

function jsonOf(data: unknown): string {
  return requiredJsonText(data, 'bytes, text or a JSON value', (problem, cause) =>
    invalid(`the data ${problem}`, cause),
  );
}

function eventOf({ id, data }: Message): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(Buffer.from(data).toString()) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw invalid(`message ${id} is not a CloudEvent: its data cannot be changed`, cause);
  }
}

function invalid(message: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_INVALID_ARGUMENT', message, { cause });
}
