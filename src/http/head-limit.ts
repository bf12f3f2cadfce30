/** The largest head of a response that is read, unless the options say otherwise: as large as Node's. */
export const HEAD_LIMIT_BYTES: number = 16 * 1024;

/** A response whose head is larger than what is read. */
export function headTooLarge(limitBytes: number, cause?: unknown): Error {
  const message = `the head of the response is larger than the ${limitBytes} bytes that are read: headLimitBytes (--read-buffer-size of the command) sets more`;
  return new Error(message, { cause });
}
