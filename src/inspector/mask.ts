/** Replaces a value that is masked: JSON text. */
const MASK = '"***"';

/** The ends of the names of secrets, in lower case, without `-` and `_`: `accessToken` and `client_secret` are some. */
const SECRET = /(?:password|token|authorization|secret|apikey)$/;

/** The last letters of these names: most other names are told apart by them at once. */
const SECRET_END = /[dnty][-_]*$/i;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether a member of this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_END.test(name) && SECRET.test(name.toLowerCase().replaceAll(/[-_]/g, ''));
}

/** Separators of the parts of a key, such as `:` and `/`. */
const BETWEEN_PARTS = /[^\p{L}\p{N}_-]+/u;

/** Whether a key, or a part of it, is the name of a secret: `user:1:password` and `reset-token/42` are some. */
export function isSecretKey(key: string): boolean {
  return key.split(BETWEEN_PARTS).some(isSecretName);
}

/**
 * JSON text with the values of secrets masked, at any depth; all else stays as it is, digit for digit. In text that is
 * not valid JSON, such as the beginning of one, it masks what it can tell.
 */
export function maskSecrets(text: string): { readonly text: string; readonly isMasked: boolean } {
  let masked = '';
  let from = 0;
  let at = text.indexOf('"');
  while (at !== -1) {
    const end = endOfString(text, at);
    const value = skipTo(text, end, ':');
    if (value === undefined || !isSecretName(nameIn(text.slice(at, end)))) {
      at = text.indexOf('"', end);
      continue;
    }
    masked += text.slice(from, value) + MASK;
    from = endOfValue(text, value);
    at = text.indexOf('"', from);
  }
  return from === 0 ? { text, isMasked: false } : { text: masked + text.slice(from), isMasked: true };
}

function nameIn(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}

/** Where the value begins that follows a separator; `undefined` if the separator does not come next. */
function skipTo(text: string, from: number, separator: string): number | undefined {
  const at = skipSpace(text, from);
  return text[at] === separator ? skipSpace(text, at + 1) : undefined;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Where a string ends that begins here; the end of the text if it does not end. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    const end = text.indexOf('"', at);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

function endOfValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return endOfString(text, from);
  if (first === '{' || first === '[') return endOfNested(text, from);
  let at = from;
  while (at < text.length && !',}]'.includes(text.charAt(at)) && text.charCodeAt(at) > 0x20) at++;
  return at;
}

function endOfNested(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    if (text.charCodeAt(at) === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    const character = text.charAt(at++);
    if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return at;
  }
  return at;
}
