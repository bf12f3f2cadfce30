/**
 * A path segment with stars, each of which stands for any text, none included. No regular expression: the text
 * between the stars is looked for from left to right, once, so the time is that of reading the segment.
 */
export class SegmentPattern {
  readonly #head: string;
  readonly #tail: string;
  readonly #middle: readonly string[];
  /** How many of its characters are fixed: more are more specific. */
  readonly fixedLength: number;

  constructor(pattern: string) {
    const parts = pattern.split('*');
    this.#head = parts[0] ?? '';
    this.#tail = parts.at(-1) ?? '';
    this.#middle = parts.slice(1, -1).filter((part) => part !== '');
    this.fixedLength = pattern.length - (parts.length - 1);
  }

  matches(segment: string): boolean {
    if (!segment.startsWith(this.#head) || !segment.endsWith(this.#tail)) return false;
    const end = segment.length - this.#tail.length;
    let at = this.#head.length;
    for (const part of this.#middle) {
      const found = segment.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    // Neither what was found nor the head may reach into the tail.
    return at <= end;
  }
}
