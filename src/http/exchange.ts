import type { Socket } from 'node:net';
import type { CancelToken } from '../util/cancel-token.ts';
import { ByteStream } from './byte-stream.ts';
import { joined, WHOLE_BODY_BYTES } from './client.ts';
import type { HeaderMap, SidecarResponse } from './message.ts';
import type { RequestBytes } from './request-bytes.ts';
import type { ResponseHead, ResponseSink } from './response-parser.ts';

/** The dependencies of an {@link Exchange}. */
export interface ExchangeDeps {
  readonly bytes: RequestBytes;
  readonly isHead: boolean;
  readonly cancelToken: CancelToken;
  readonly resolve: (response: SidecarResponse) => void;
  readonly reject: (error: unknown) => void;
}

const NO_FIELDS: HeaderMap = Object.freeze({});

/** A request and its response. */
export class Exchange implements ResponseSink {
  readonly bytes: RequestBytes;
  readonly isHead: boolean;
  readonly #deps: ExchangeDeps;
  readonly #unsubscribe: () => void;
  #socket: Socket | undefined;
  #destroy: ((error: Error) => void) | undefined;
  #head: ResponseHead | undefined;
  #whole: Buffer[] | undefined;
  #stream: ByteStream | undefined;
  #trailers: HeaderMap = NO_FIELDS;
  #isOver = false;

  constructor(deps: ExchangeDeps) {
    this.bytes = deps.bytes;
    this.isHead = deps.isHead;
    this.#deps = deps;
    // Subscribe before the start: a call may wait for its connection.
    this.#unsubscribe = deps.cancelToken.onAbort(() => {
      const { reason } = deps.cancelToken;
      this.fail(reason);
      this.#destroy?.(reason as Error);
    });
  }

  get head(): ResponseHead | undefined {
    return this.#head;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  begin(socket: Socket, destroy: (error: Error) => void): void {
    this.#socket = socket;
    this.#destroy = destroy;
  }

  onHead(head: ResponseHead, hasBody: boolean): void {
    this.#head = head;
    const { status, headers, framing } = head;
    if (!hasBody || (typeof framing === 'number' && framing <= WHOLE_BODY_BYTES)) {
      this.#whole = [];
      return;
    }
    this.#stream = new ByteStream({
      onDrain: () => void this.#socket?.resume(),
      onCancel: () => this.#destroy?.(new Error('the reader of the response has left')),
    });
    this.#deps.resolve({ status, headers, body: this.#stream, trailers: () => this.#trailers });
  }

  onData(chunk: Buffer): void {
    if (this.#whole !== undefined) this.#whole.push(chunk);
    else if (this.#stream?.write(chunk) === false) this.#socket?.pause();
  }

  onEnd(trailers: HeaderMap): void {
    this.#over();
    this.#trailers = trailers;
    if (this.#stream !== undefined) return this.#stream.end();
    const { status = 0, headers = NO_FIELDS } = this.#head ?? {};
    this.#deps.resolve({ status, headers, body: joined(this.#whole ?? []) });
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#over();
    this.#stream?.fail(error);
    this.#deps.reject(error);
  }

  #over(): void {
    this.#isOver = true;
    this.#unsubscribe();
  }
}
