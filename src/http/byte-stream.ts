/** How many bytes wait unread before the writer is asked to pause. */
const HIGH_WATER_BYTES = 64 * 1024;

/** What the producing side wants to hear of. */
export interface ByteStreamSource {
  /** The reader has caught up: go on writing. */
  onDrain?(): void;
  /** The reader has left before the end. */
  onCancel?(): void;
}

/** A stream of bytes with one writer and one reader, and back-pressure between them. */
export class ByteStream implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #source: ByteStreamSource;
  #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #end: 'open' | 'ended' | { readonly error: unknown } = 'open';
  #wake: (() => void) | undefined;

  constructor(source: ByteStreamSource) {
    this.#source = source;
  }

  /** Takes a chunk; `false` asks to pause until `onDrain`. */
  write(chunk: Uint8Array): boolean {
    if (this.#end !== 'open') return true;
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#wake?.();
    return this.#waitingBytes < HIGH_WATER_BYTES;
  }

  /** No more bytes will come. */
  end(): void {
    if (this.#end === 'open') this.#end = 'ended';
    this.#wake?.();
  }

  /** The stream broke: the reader gets the error after the bytes that came before it. */
  fail(error: unknown): void {
    if (this.#end === 'open') this.#end = { error };
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return { done: false, value: this.#take(chunk) };
      if (this.#end === 'ended') return { done: true, value: undefined };
      if (this.#end !== 'open') throw this.#end.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #take(chunk: Uint8Array): Uint8Array {
    const wasFull = this.#waitingBytes >= HIGH_WATER_BYTES;
    this.#waitingBytes -= chunk.length;
    if (wasFull && this.#waitingBytes < HIGH_WATER_BYTES && this.#end === 'open') this.#source.onDrain?.();
    return chunk;
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    const left = this.#end === 'open';
    this.#end = 'ended';
    this.#chunks = [];
    this.#wake?.();
    if (left) this.#source.onCancel?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
