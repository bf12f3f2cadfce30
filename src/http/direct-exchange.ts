import type { Socket } from 'node:net';
import type { HeaderMap } from './message.ts';
import type { RequestBytes } from './request-bytes.ts';
import { ResponseAssembly, type ResponseCaller } from './response-assembly.ts';
import type { ResponseHead, ResponseSink } from './response-parser.ts';

/** The dependencies of a {@link DirectExchange}. */
export interface DirectExchangeDeps extends ResponseCaller {
  readonly bytes: RequestBytes;
  readonly isHead: boolean;
}

/** A request of the direct client and its response. */
export class DirectExchange extends ResponseAssembly implements ResponseSink {
  readonly bytes: RequestBytes;
  readonly isHead: boolean;
  head: ResponseHead | undefined;
  #socket: Socket | undefined;
  #destroy: ((error: Error) => void) | undefined;

  constructor(deps: DirectExchangeDeps) {
    super(deps);
    this.bytes = deps.bytes;
    this.isHead = deps.isHead;
  }

  /** The request is sent over this connection. */
  start(socket: Socket, destroy: (error: Error) => void): void {
    this.#socket = socket;
    this.#destroy = destroy;
  }

  onHead(head: ResponseHead, hasBody: boolean): void {
    this.head = head;
    const { status, headers, framing } = head;
    this.begin(status, headers, hasBody ? (typeof framing === 'number' ? framing : undefined) : 0);
  }

  onData(chunk: Buffer): void {
    this.add(chunk);
  }

  onEnd(trailers: HeaderMap): void {
    this.end(trailers);
  }

  protected pause(): void {
    this.#socket?.pause();
  }

  protected resume(): void {
    this.#socket?.resume();
  }

  protected abandon(error: Error): void {
    this.#destroy?.(error);
  }
}
