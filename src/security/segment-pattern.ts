/**
 * A path segment with stars; each star matches any text, including none. No regular expression: the text between stars
 * is searched once from left to right, so the time is linear in the segment.
 */
export class SegmentPattern {
  readonly #head: string;
  readonly #tail: string;
  readonly #middle: readonly string[];
  /** The number of fixed characters: the more, the more specific. */
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
    // Neither the matched parts nor the head may overlap the tail.
    return at <= end;
  }
}
