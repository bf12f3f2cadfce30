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
    (problem, cause) =>
      new SidecarError('ERR_INVALID_ARGUMENT', `${wordsOf(what, name)} ${problem}`, {
        cause,
        argument: argumentOf(what),
      }),
  );
  return isSmallPayload(text) ? text : checkPayload(text, wordsOf(what, name));
}

/** The input of something is the argument `input`, an output `output`, an event has `data`. */
function argumentOf(what: string): string {
  return what.startsWith('the event') ? 'data' : (/\b(?:input|output)\b/.exec(what)?.[0] ?? 'status');
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

/** The longest custom status. */
const MAX_STATUS_LENGTH = 64 * 1024;

/**
 * Encodes a custom status. Text is kept as it is, as the HTTP API shows it, unless it would be read as JSON.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a value that has no JSON form or is too long.
 */
export function textOfStatus(status: unknown): string {
  const isPlain = typeof status === 'string' && statusOfText(status) === status;
  const text = isPlain ? status : textOfValue(status, 'the custom status');
  if (text === undefined) throw invalidStatus('is undefined: expected JSON, such as null');
  if (text.length > MAX_STATUS_LENGTH)
    throw invalidStatus(`has ${text.length} characters: expected at most ${MAX_STATUS_LENGTH}`);
  return text;
}

/** Decodes a custom status. */
export function statusOfText(text: string): unknown {
  return text === '' ? text : valueOfText(text);
}

function invalidStatus(problem: string): SidecarError {
  return new SidecarError('ERR_INVALID_ARGUMENT', `the custom status ${problem}`, { argument: 'status' });
}
