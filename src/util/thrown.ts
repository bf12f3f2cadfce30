import { inspect } from 'node:util';
import { isNativeError } from 'node:util/types';

/**
 * Whether a value is an error of any realm. Jest runs tests in a separate realm, where errors thrown by Node's own
 * modules are not instances of `Error`.
 */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error || isNativeError(value);
  } catch {
    // A proxy can throw when it is inspected.
    return false;
  }
}

/** Max length of the text of a thrown value, in characters. */
const MAX_MESSAGE_LENGTH = 16 * 1024;

/** One line; runs neither getters nor custom inspect functions. */
const INSPECT = {
  compact: true,
  breakLength: Number.POSITIVE_INFINITY,
  customInspect: false,
  showProxy: true,
} as const;

/** The message of any thrown value, for causes outside our control. Never throws. */
export function messageOf(error: unknown): string {
  try {
    const { message }: { readonly message: unknown } = isError(error) ? error : { message: undefined };
    if (typeof message === 'string') return shortened(message, MAX_MESSAGE_LENGTH);
    return shortened(`a value that is not an error was thrown: ${inspect(error, INSPECT)}`, MAX_MESSAGE_LENGTH);
  } catch {
    return 'a value that cannot be inspected was thrown';
  }
}

/** Truncates a text to this many characters and marks the cut. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
