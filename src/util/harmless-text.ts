/** Characters that could control a terminal, break a line, or make text look like other text (Trojan Source). */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text of others for a terminal, on one line: control characters are written as escapes. */
export function harmless(text: string): string {
  return text.replace(CONTROLS, escapeOf);
}

/** Text of others of several lines for a terminal: line ends and tabs stay. */
export function harmlessLines(text: string): string {
  return text.replace(CONTROLS, (character) => (/[\n\t]/.test(character) ? character : escapeOf(character)));
}

/** JSON for a terminal: the characters that `JSON.stringify` leaves as they are become escapes, too. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(CONTROLS, (character) =>
    character === '\n' ? character : codeOf(character),
  );
}

function escapeOf(character: string): string {
  return SHORT[character] ?? codeOf(character);
}

function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
