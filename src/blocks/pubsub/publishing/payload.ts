import { bytesOf } from '../../../util/bytes.ts';
import { requiredJsonText } from '../../../util/json-value.ts';
import { invalidEvent } from '../errors.ts';
import { CLOUD_EVENT_TYPE } from './content-type.ts';
import type { EnvelopeAddress } from './envelope.ts';

/** Bytes with their content type. */
export interface EncodedData {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** How data is published. */
export interface DataForm {
  readonly contentType: string | undefined;
  readonly rawPayload: boolean;
}

/**
 * Encodes data published in code: bytes and text are kept, a `CloudEvent` is encoded whole, anything else becomes JSON.
 * Bytes of a raw payload are copied: they become the message, and the caller may use its buffer again.
 *
 * @throws SidecarError `ERR_PUBSUB_CLOUD_EVENTS_SER` for a value without a JSON form.
 */
export function encodeData(
  data: unknown,
  { contentType, rawPayload }: DataForm,
  address: EnvelopeAddress,
): EncodedData {
  const bytes = bytesOf(data);
  if (bytes !== undefined)
    return { bytes: rawPayload ? Buffer.from(bytes) : bytes, contentType: contentType ?? 'application/octet-stream' };
  if (typeof data === 'string') return { bytes: Buffer.from(data), contentType: contentType ?? 'text/plain' };
  const type = contentType ?? (isCloudEvent(data) ? CLOUD_EVENT_TYPE : 'application/json');
  return { bytes: Buffer.from(jsonOf(data, address)), contentType: type };
}

/**
 * Checks the shape: the event may come from another copy of the `cloudevents` package, which need not be loaded here.
 */
function isCloudEvent(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'specversion' in data && 'cloneWith' in data;
}

function jsonOf(data: unknown, address: EnvelopeAddress): string {
  return requiredJsonText(data, 'bytes, text or a JSON value', (problem, cause) =>
    invalidEvent(address, `the data ${problem}`, cause),
  );
}
