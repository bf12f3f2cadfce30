/** Unread bytes at which the writer is asked to pause. */
const HIGH_WATER_BYTES = 64 * 1024;

/** Callbacks to the producer. */
export interface ByteStreamSource {
  /** The reader has caught up: continue writing. */
  onDrain?(): void;
  /** The reader has left before the end. */
  onCancel?(): void;
}

/** A stream of bytes with one writer, one reader and back-pressure. */
export class ByteStream implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #source: ByteStreamSource;
  #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #end: 'open' | 'ended' | { readonly error: unknown } = 'open';
  #wake: (() => void) | undefined;

  constructor(source: ByteStreamSource) {
    this.#source = source;
  }

  /** Writes a chunk; `false` asks the writer to pause until `onDrain`. */
  write(chunk: Uint8Array): boolean {
    if (this.#end !== 'open') return true;
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#wake?.();
    return this.#waitingBytes < HIGH_WATER_BYTES;
  }

  end(): void {
    if (this.#end === 'open') this.#end = 'ended';
    this.#wake?.();
  }

  /** Fails the stream: the reader gets the error after the bytes written before. */
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
