import { promises } from 'node:fs';
import { isError, messageOf } from '../errors.ts';

/** The largest file that is read. */
const MAX_TEXT_FILE_BYTES = 1024 * 1024;

/**
 * Reads a file as text. An error's message says why it cannot be used, without its path and its content: `it is not
 * UTF-8`.
 */
export async function readText(path: string): Promise<string> {
  try {
    const { size } = await promises.stat(path);
    if (size <= MAX_TEXT_FILE_BYTES)
      return new TextDecoder('utf-8', { fatal: true }).decode(await promises.readFile(path));
    throw new RangeError(`it has ${size} bytes: expected at most ${MAX_TEXT_FILE_BYTES}`);
  } catch (cause) {
    throw new Error(problemOf(cause), { cause });
  }
}

function problemOf(error: unknown): string {
  if (error instanceof RangeError) return error.message;
  return isError(error) && error.name === 'TypeError' ? 'it is not UTF-8' : `it cannot be read: ${reasonOf(error)}`;
}

/** The system's own message repeats the path. */
function reasonOf(error: unknown): string {
  const code = Object(error).code;
  if (code === 'ENOENT') return 'there is no such file';
  return typeof code === 'string' ? code : messageOf(error);
}
