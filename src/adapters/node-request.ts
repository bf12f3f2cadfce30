import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type CancelToken, PlainRequest } from '../http/message.ts';
import { originForm, pathOf } from './mount.ts';
import { alreadyRead, contentOf, type ParsedBody } from './parsed-body.ts';

/** One shared object: it holds nothing about a single request. */
const DEPARTED = new Error('the caller went away');

/** An adapter's knowledge of a request beside the request itself. */
interface Known {
  /** Below the prefix. */
  readonly url: string;
  readonly originalUrl?: string | undefined;
  readonly parsed: ParsedBody;
}

/** A request of node:http. */
export class NodeRequest extends PlainRequest {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #originalUrl: string | undefined;
  #departure: Departure | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, { url, originalUrl, parsed }: Known) {
    const { headers, body } = contentOf(req, parsed);
    super(req.method ?? 'GET', url, headers, body === req ? new UnreadBody(req) : body);
    this.#req = req;
    this.#res = res;
    this.#originalUrl = originalUrl;
    if (req.httpVersionMajor >= 2) breakOffWithCaller(req, res);
  }

  override get cancelToken(): CancelToken {
    this.#departure ??= new Departure(this.#req, this.#res);
    return this.#departure;
  }

  override get remoteAddress(): string | undefined {
    return this.#req.socket.remoteAddress;
  }

  override get originalPath(): string | undefined {
    // Express, and others like it, keep here what they remove from `url`.
    const { originalUrl = this.#req.url } = this.#req as { readonly originalUrl?: string };
    return pathOf(originForm(this.#originalUrl ?? originalUrl ?? '/'));
  }

  override get isEncrypted(): boolean {
    return 'encrypted' in this.#req.socket;
  }

  override get isOverConnection(): boolean {
    return this.#req.socket instanceof Socket;
  }
}

/** Aborted when the response is closed before it is finished: the caller has disconnected. */
class Departure implements CancelToken {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly reason: Error = DEPARTED;

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req;
    this.#res = res;
  }

  get aborted(): boolean {
    // A body that breaks off fails before the response is closed.
    return (this.#res.destroyed || this.#req.errored !== null) && !this.#res.writableFinished;
  }

  onAbort(listener: () => void): () => void {
    const onClose = (): void => {
      if (!this.#res.writableFinished) listener();
    };
    this.#res.once('close', onClose);
    return () => this.#res.removeListener('close', onClose);
  }
}

/**
 * Over HTTP/2, Node ends the request and the response of a caller that leaves, as if both were complete. Destroyed
 * before that, they fail as those of HTTP/1 do.
 */
function breakOffWithCaller(req: IncomingMessage, res: ServerResponse): void {
  const breakOff = (): void => {
    req.destroy(DEPARTED);
    res.destroy();
  };
  // The body may have no reader: an error without a listener would end the process.
  req.on('error', () => undefined);
  if (req.aborted) breakOff();
  else req.once('aborted', breakOff);
}

/** The listener type of stream events. */
type Listener = (...args: unknown[]) => void;

/** Keeps a client from destroying the stream at its end. */
const STATE = Object.freeze({ autoDestroy: true });

/**
 * An incoming body. Leaving it early does not destroy the request, as Node's own iterator would: the response still has
 * to be sent on the same connection. It has the members that readers of Node streams use, which is faster than an
 * iterator; an HTTP client accepts it as a stream.
 */
class UnreadBody implements AsyncIterable<Uint8Array> {
  readonly #req: IncomingMessage;
  readonly _readableState: object = STATE;
  /** Set by a client that has finished with it. */
  destroyed = false;

  constructor(req: IncomingMessage) {
    this.#req = req;
  }

  get readableDidRead(): boolean {
    return this.#req.readableDidRead;
  }

  get readableEnded(): boolean {
    return this.#req.readableEnded;
  }

  get errored(): Error | null {
    return this.#req.errored;
  }

  get closed(): boolean {
    return this.#req.closed;
  }

  get request(): object {
    return this.#req;
  }

  get isListenedTo(): boolean {
    return this.#req.readableFlowing !== null;
  }

  takeWhole(lengthBytes: number): Buffer | undefined {
    // Its beginning is lost. A body that ended without data was empty.
    if (this.#req.readableDidRead) throw alreadyRead();
    if (this.#req.readableEnded && !this.#req.aborted) return Buffer.alloc(0);
    // Text, if middleware has asked for it, is left to the reader of chunks.
    const isThere = this.#req.readableLength === lengthBytes && this.#req.readableEncoding === null;
    // With the length: from Node 26 on, `read()` returns the first chunk only.
    return isThere ? (this.#req.read(lengthBytes) as Buffer) : undefined;
  }

  on(event: string, listener: Listener): this {
    this.#req.on(event, listener);
    return this;
  }

  off(event: string, listener: Listener): this {
    this.#req.off(event, listener);
    return this;
  }

  removeListener(event: string, listener: Listener): this {
    return this.off(event, listener);
  }

  pause(): void {
    this.#req.pause();
  }

  resume(): void {
    this.#req.resume();
  }

  destroy(): void {
    this.destroyed = true;
  }

  /** Clients recognise a stream by this method. */
  pipe<T extends NodeJS.WritableStream>(destination: T): T {
    return this.#req.pipe(destination);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#req.iterator({ destroyOnReturn: false });
  }
}
