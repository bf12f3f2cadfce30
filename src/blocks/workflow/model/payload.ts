import { SidecarError } from '../../../errors.ts';
import { requiredJsonText } from '../../../util/json-value.ts';
import { checkPayload, isSmallPayload } from '../../../util/payload-limit.ts';

/**
 * Inputs, outputs and events are stored as text: text from HTTP is passed on byte for byte, values from code are
 * encoded as JSON. `undefined` and empty text mean no payload.
 */
export type Payload = string | undefined;

/**
 * Encodes a value from code. Error messages contain `what` and `name`.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a value that has no JSON form or is too large.
 */
export function textOfValue(value: unknown, what: string, name?: string): Payload {
  if (value === undefined) return undefined;
  const text = requiredJsonText(
    value,
    'JSON',
    (problem, cause) => new SidecarError('ERR_INVALID_ARGUMENT', `${wordsOf(what, name)} ${problem}`, { cause }),
  );
  return isSmallPayload(text) ? text : checkPayload(text, wordsOf(what, name));
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
