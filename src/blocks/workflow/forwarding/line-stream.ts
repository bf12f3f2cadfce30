import { isUint8Array } from 'node:util/types';
import { ByteStream } from '../../../http/byte-stream.ts';
import { type Body, leaveBody } from '../../../http/message.ts';
import { clearInterval, setImmediate, setInterval } from '../../../util/timers.ts';

/** How often each side shows that it lives, and after how many such periods without a byte it is given up. */
const BEAT_MS = 1_000;
const MAX_SILENT_BEATS = 5;
/** Max length of a line: an instance's view may be as long. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Lines are sent together up to about this length. */
const CHUNK_LENGTH = 1024 * 1024;
const NEWLINE = 10;

/** The dependencies of a {@link LineStream}. */
export interface LineStreamDeps {
  readonly onLine: (line: string) => void;
  /** Called once; without an error when the other side has ended the stream, or this side has. */
  readonly onEnd: (error?: unknown) => void;
}

/**
 * One side of a stream of lines between two hosts: in both directions at the same time, in the bodies of one request
 * and of its response. An empty line only shows that its sender lives.
 */
export class LineStream {
  /** The lines that this side sends. */
  readonly outgoing: ByteStream;
  readonly #deps: LineStreamDeps;
  readonly #beat: NodeJS.Timeout;
  #lines: string[] = [];
  #silentBeats = 0;
  #hasSent = false;
  #isOver = false;

  constructor(deps: LineStreamDeps) {
    this.#deps = deps;
    this.outgoing = new ByteStream({ onCancel: () => this.end(new Error('the other host has left')) });
    this.#beat = setInterval(() => this.#onBeat(), BEAT_MS);
    this.#beat.unref();
  }

  /** Sends a line with its newline. The lines of one turn of the event loop go together. */
  send(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length === 1) setImmediate(() => this.#flush());
  }

  /** Reads what the other side sends. Never rejects. */
  async read(body: Body): Promise<void> {
    try {
      let parts: Uint8Array[] = [];
      for await (const chunk of isUint8Array(body) ? [body] : body) {
        if (this.#isOver) return leaveBody(body);
        this.#silentBeats = 0;
        parts = this.#take(parts, chunk);
      }
      this.end();
    } catch (error) {
      this.end(error);
    }
  }

  /** Passes the lines on; answers the parts of the line that has not ended. */
  #take(parts: Uint8Array[], chunk: Uint8Array): Uint8Array[] {
    let [rest, start] = [parts, 0];
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...rest, chunk.subarray(start, end)]).toString();
      [rest, start] = [[], end + 1];
      if (line !== '') this.#deps.onLine(line);
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    if (rest.reduce((sum, { length }) => sum + length, 0) > MAX_LINE_BYTES)
      throw new Error(`a line of another host is too long: expected at most ${MAX_LINE_BYTES} bytes`);
    return rest;
  }

  /** Ends both directions: cuts them off after an error, else after what was sent. A second call is harmless. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#flush();
    this.#isOver = true;
    clearInterval(this.#beat);
    if (error === undefined) this.outgoing.end();
    else this.outgoing.fail(error);
    this.#deps.onEnd(error);
  }

  #flush(): void {
    const lines = this.#lines;
    this.#lines = [];
    if (this.#isOver || lines.length === 0) return;
    this.#hasSent = true;
    let text = '';
    for (const line of lines) {
      if (text.length > 0 && text.length + line.length > CHUNK_LENGTH) {
        this.outgoing.write(Buffer.from(text));
        text = '';
      }
      text += line;
    }
    this.outgoing.write(Buffer.from(text));
  }

  #onBeat(): void {
    if (++this.#silentBeats > MAX_SILENT_BEATS)
      return this.end(new Error(`another host has sent nothing for ${MAX_SILENT_BEATS * BEAT_MS} ms`));
    if (!this.#hasSent) this.send('\n');
    this.#hasSent = false;
  }
}
