import { SidecarError } from '../../errors.ts';
import { refused, shown } from './errors.ts';

/** Only unambiguous characters; nearly every path matches. */
const PLAIN = /^[\w\-~!$&'()*+,:@=./]*$/;
/** Bytes that are not allowed in a request target, or that end its path. */
const NOT_IN_TARGET = /[^!-~\x80-\xff]|[#?]/;
const NOT_IN_QUERY = /[^!-~\x80-\xff]|#/;
/** Characters that are not allowed in a decoded path. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\x00-\x1f\x7f]/;
/** A segment that leads upwards, also before a path parameter (`..;x`) and between backslashes. */
const UPWARDS = /(?:^|[/\\])\.\.(?:[/\\;]|$)/;
const ESCAPE = /%[0-9a-f]{2}/gi;
/** Max times that a path is decoded to find hidden characters. */
const MAX_DECODINGS = 5;

/**
 * Checks the callee's path as received. It is passed on unchanged, so it must mean the same to everyone: no segment
 * that leads upwards and no control characters, in any encoding. Double encoding (`%252e%252e`) is checked for
 * applications that decode twice. `#` and `?` in escapes are parts of a name; access control, which cannot know how an
 * application takes them, denies them.
 *
 * @throws SidecarError `ERR_DIRECT_INVOKE` (400), or `ERR_BAD_REQUEST` for a path that cannot be decoded.
 */
export function checkPath(path: string): void {
  if (PLAIN.test(path) && !path.includes('..')) return;
  if (NOT_IN_TARGET.test(path)) throw refused(`method ${shown(path)} has a character that a path cannot have`);
  decoded(path);
  let text = path;
  for (let level = 0; level <= MAX_DECODINGS; level++) {
    checkLevel(path, text);
    const next = text.replace(ESCAPE, byteOf);
    if (next === text) return;
    text = next;
  }
  throw refused(`method ${shown(path)} is percent-encoded more than ${MAX_DECODINGS} times`);
}

/**
 * Checks the query, which is also passed on unchanged.
 *
 * @throws SidecarError `ERR_DIRECT_INVOKE` (400) for invalid characters.
 */
export function checkQuery(query: string): void {
  if (query !== '' && NOT_IN_QUERY.test(query))
    throw refused(`query ${shown(query)} has a character that none can have`);
}

function checkLevel(path: string, text: string): void {
  if (UPWARDS.test(text)) throw refused(`method ${shown(path)} has a segment that leads upwards`);
  if (CONTROL.test(text)) throw refused(`method ${shown(path)} has a control character`);
}

function byteOf(code: string): string {
  return String.fromCharCode(Number.parseInt(code.slice(1), 16));
}

/** Percent-encodes unescaped bytes above ASCII. */
function escaped(path: string): string {
  return path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(escaped(path));
  } catch (cause) {
    const message = `method ${shown(path)} does not decode: expected percent-escapes of UTF-8`;
    throw new SidecarError('ERR_BAD_REQUEST', message, { cause });
  }
}

/**
 * A checked path as access control sees it: decoded once, without empty segments and `.`, with a leading slash and no
 * trailing one.
 */
export function cleanedPath(path: string): string {
  const segments = decoded(path).split('/');
  return `/${segments.filter((segment) => segment !== '' && segment !== '.').join('/')}`;
}
