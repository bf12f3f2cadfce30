import type { CancelToken } from '../util/cancel-token.ts';
import { ByteStream } from './byte-stream.ts';
import { EMPTY_BODY, type HeaderMap, type SidecarResponse } from './message.ts';

const NO_TRAILERS: HeaderMap = Object.freeze({});

/** Responses up to this length are returned as bytes: nearly all are small, and this saves a stream. */
export const WHOLE_BODY_BYTES: number = 64 * 1024;

/** The caller of a request. */
export interface ResponseCaller {
  readonly cancelToken: CancelToken;
  readonly resolve: (response: SidecarResponse) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Assembles the response to a request from the parts that a client reads: the head; then a small body as a whole, a
 * larger one as a stream; then the trailers. A client extends it, which saves an object for each request.
 */
export abstract class ResponseAssembly {
  readonly #caller: ResponseCaller;
  readonly #unsubscribe: () => void;
  #status = 0;
  #headers: HeaderMap = NO_TRAILERS;
  #whole: Uint8Array[] | undefined;
  #stream: ByteStream | undefined;
  #trailers: HeaderMap = NO_TRAILERS;
  #isOver = false;

  constructor(caller: ResponseCaller) {
    this.#caller = caller;
    // Subscribe before the start: a call may wait long for its connection.
    this.#unsubscribe = caller.cancelToken.onAbort(() => this.cancel());
  }

  /** Whether the response has been read, or has failed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Stops reading the body until `resume`: its reader is behind. */
  protected abstract pause(): void;
  protected abstract resume(): void;
  /** Ends the request and its connection. */
  protected abstract abandon(error: Error): void;

  /** Fails with the reason of the caller, who has cancelled the request. */
  protected cancel(): void {
    const { reason } = this.#caller.cancelToken;
    this.fail(reason);
    this.abandon(reason as Error);
  }

  /** The head has been read. `bodyBytes` is the length of the body if that is known, 0 for none. */
  protected begin(status: number, headers: HeaderMap, bodyBytes: number | undefined): void {
    this.#status = status;
    this.#headers = headers;
    if (bodyBytes !== undefined && bodyBytes <= WHOLE_BODY_BYTES) {
      this.#whole = [];
      return;
    }
    this.#stream = new ByteStream({
      onDrain: () => this.resume(),
      onCancel: () => this.abandon(new Error('the reader of the response has left')),
    });
    this.#caller.resolve({ status, headers, body: this.#stream, trailers: () => this.#trailers });
  }

  /** Bytes of the body have been read. */
  protected add(chunk: Uint8Array): void {
    if (this.#whole !== undefined) this.#whole.push(chunk);
    else if (this.#stream?.write(chunk) === false) this.pause();
  }

  /** The response has been read. */
  protected end(trailers: HeaderMap): void {
    if (this.#isOver) return;
    this.#close();
    this.#trailers = trailers;
    if (this.#stream !== undefined) return this.#stream.end();
    this.#caller.resolve({ status: this.#status, headers: this.#headers, body: joined(this.#whole ?? []) });
  }

  /** Fails the request, or the stream of its body. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#close();
    if (this.#stream !== undefined) this.#stream.fail(error);
    else this.#caller.reject(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#unsubscribe();
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return EMPTY_BODY;
  return chunks.length === 1 ? first : Buffer.concat(chunks);
}
