import { SidecarError } from '../errors.ts';

/** The longest payload: 6 MiB in UTF-8. Together with its metadata it has to fit into one stored value. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

const MAX_BYTES_PER_UNIT = 3;

/** Whether a payload is small enough in any case. */
export function isSmallPayload(text: string): boolean {
  return text.length * MAX_BYTES_PER_UNIT <= MAX_PAYLOAD_BYTES;
}

/**
 * Rejects a payload that is too large.
 *
 * @throws SidecarError `ERR_BODY_TOO_LARGE`, naming the payload as `what`.
 */
export function checkPayload<T extends string | undefined>(text: T, what: string): T {
  if (text === undefined || isSmallPayload(text)) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_PAYLOAD_BYTES) return text;
  throw new SidecarError(
    'ERR_BODY_TOO_LARGE',
    `${what} has ${bytes} bytes: at most ${MAX_PAYLOAD_BYTES} bytes are accepted`,
  );
}
