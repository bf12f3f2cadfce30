/** A piece of JSON text. */
export interface JsonPiece {
  readonly kind: 'key' | 'string' | 'number' | 'word' | 'plain';
  readonly text: string;
}

/** Deeper parts are indented no more: hostile nesting must not fill the memory. */
const MAX_INDENT = 20;

const TOKEN = /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * JSON text with line breaks and indents. Each token stays as it was written: `JSON.parse` would round numbers and drop
 * repeated keys. Text that is cut off is fine.
 */
export function prettyJson(text: string): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  const newLine = () => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
  const add = (piece: JsonPiece) => {
    const last = pieces.at(-1);
    if (piece.kind === 'plain' && last?.kind === 'plain') pieces[pieces.length - 1] = plain(last.text + piece.text);
    else pieces.push(piece);
  };
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1];
    if (token === '{' || token === '[') {
      const isEmpty = next === '}' || next === ']';
      if (!isEmpty) depth++;
      add(plain(isEmpty ? token : token + newLine()));
    } else if (token === '}' || token === ']') {
      const isEmpty = tokens[at - 1] === '{' || tokens[at - 1] === '[';
      if (!isEmpty) depth = Math.max(0, depth - 1);
      add(plain(isEmpty ? token : newLine() + token));
    } else if (token === ',') add(plain(`,${newLine()}`));
    else if (token === ':') add(plain(': '));
    else add({ kind: kindOf(token, next), text: token });
  }
  return pieces;
}

function plain(text: string): JsonPiece {
  return { kind: 'plain', text };
}

function kindOf(token: string, next: string | undefined): JsonPiece['kind'] {
  if (token.startsWith('"')) return next === ':' ? 'key' : 'string';
  return /^[-\d]/.test(token) ? 'number' : 'word';
}
