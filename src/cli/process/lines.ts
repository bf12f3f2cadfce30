import type { Readable } from 'node:stream';
import type { Output } from '../output.ts';

/** Longer lines are split, so that memory is bounded whatever an application prints. */
const MAX_LINE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Passes on a process's output line by line, with back-pressure. Resolves at its end. */
export async function passLines(source: Readable, output: Output, prefix: string): Promise<void> {
  const lines = new PrefixedLines(prefix);
  try {
    for await (const chunk of source) {
      if (!output.write(lines.take(chunk as Buffer))) await output.drained();
    }
  } catch {
    // The process has ended and its stream was closed: pass on the rest.
  }
  output.write(lines.end());
}

/** Prefixes every line. Bytes are never decoded, so any encoding works. */
export class PrefixedLines {
  readonly #prefix: Buffer;
  /** The beginning of an incomplete line. */
  #open: Buffer[] = [];
  #openBytes = 0;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** The lines that this chunk completes. */
  take(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#extend(out, chunk.subarray(start, end));
      this.#finish(out);
      start = end + 1;
    }
    if (start < chunk.length) this.#extend(out, chunk.subarray(start));
    return Buffer.concat(out);
  }

  /** The rest of an unterminated line. */
  end(): Buffer {
    const out: Buffer[] = [];
    if (this.#openBytes > 0) this.#finish(out);
    return Buffer.concat(out);
  }

  #extend(out: Buffer[], part: Buffer): void {
    let rest = part;
    while (this.#openBytes + rest.length > MAX_LINE_BYTES) {
      const cut = endOfCharacter(rest, MAX_LINE_BYTES - this.#openBytes);
      this.#push(rest.subarray(0, cut));
      this.#finish(out);
      rest = rest.subarray(cut);
    }
    this.#push(rest);
  }

  #push(part: Buffer): void {
    if (part.length === 0) return;
    this.#open.push(part);
    this.#openBytes += part.length;
  }

  #finish(out: Buffer[]): void {
    out.push(this.#prefix, ...this.#open, Buffer.of(NEWLINE));
    this.#open = [];
    this.#openBytes = 0;
  }
}

/** The last position up to `limit` that is not within a UTF-8 character. */
function endOfCharacter(bytes: Buffer, limit: number): number {
  let cut = limit;
  while (cut > limit - 4 && cut > 0 && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut--;
  return cut > limit - 4 && cut > 0 ? cut : limit;
}
