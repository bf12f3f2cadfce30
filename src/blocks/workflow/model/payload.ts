import { messageOf, SidecarError } from '../../../errors.ts';
import { jsonTextOf } from '../../../util/json-value.ts';

/**
 * Inputs, outputs and events are stored as text: text from HTTP is passed on byte for byte, values from code are
 * encoded as JSON. `undefined` and empty text mean no payload.
 */
export type Payload = string | undefined;

/** The longest payload: 6 MiB in UTF-8. Together with its metadata it has to fit into one stored value. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/**
 * Encodes a value from code. Error messages contain `what` and `name`.
 *
 * @throws SidecarError `ERR_BAD_REQUEST` for a value that has no JSON form or is too large.
 */
export function textOfValue(value: unknown, what: string, name?: string): Payload {
  if (value === undefined) return undefined;
  const text = asJson(value, what, name);
  if (text === undefined)
    throw new SidecarError('ERR_BAD_REQUEST', `${wordsOf(what, name)} is ${typeof value}: expected JSON`);
  return isSmall(text) ? text : checkPayload(text, wordsOf(what, name));
}

function asJson(value: unknown, what: string, name: string | undefined): string | undefined {
  try {
    return jsonTextOf(value);
  } catch (cause) {
    throw new SidecarError('ERR_BAD_REQUEST', `${wordsOf(what, name)} ${messageOf(cause)}`, { cause });
  }
}

function wordsOf(what: string, name: string | undefined): string {
  return name === undefined ? what : `${what} ${JSON.stringify(name)}`;
}

/** Decodes a payload: parsed JSON, or the text itself if it is not JSON. */
export function valueOfText(text: Payload): unknown {
  if (text === undefined || text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const MAX_BYTES_PER_UNIT = 3;

function isSmall(text: string): boolean {
  return text.length * MAX_BYTES_PER_UNIT <= MAX_PAYLOAD_BYTES;
}

/** Rejects a payload that is too large. */
export function checkPayload<T extends Payload>(text: T, what: string): T {
  if (text === undefined || isSmall(text)) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_PAYLOAD_BYTES) return text;
  throw new SidecarError(
    'ERR_BODY_TOO_LARGE',
    `${what} has ${bytes} bytes: at most ${MAX_PAYLOAD_BYTES} bytes are accepted`,
  );
}
