/** The longest name that is part of a path and of a stored key, in bytes of UTF-8. */
const MAX_NAME_BYTES = 256;

const FORBIDDEN = /[/\\#?]/;
const CONTROL = /\p{Cc}/u;
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$/;

/**
 * Why a text cannot be the name of something that stands in a path as one segment, in words that follow the name
 * (`contains a control character`); `undefined` if it can. Whether the name is empty, and begins or ends with a space,
 * the caller decides.
 */
export function nameProblem(name: string, maxBytes: number = MAX_NAME_BYTES): string | undefined {
  // True for nearly all names.
  if (PLAIN.test(name) && name.length <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(name);
  if (bytes > maxBytes) return `has ${bytes} bytes: expected at most ${maxBytes}`;
  if (FORBIDDEN.test(name)) return String.raw`contains one of / \ # ?`;
  if (CONTROL.test(name)) return 'contains a control character';
  if (!name.isWellFormed()) return 'contains an unpaired surrogate';
  return name === '.' || name === '..' ? 'is a path segment of its own meaning' : undefined;
}
