import { type Dispatcher, Pool } from 'undici';
import type { Abortion } from '../util/abortion.ts';
import { ByteStream } from './byte-stream.ts';
import {
  abortionOf,
  type Body,
  EMPTY_BODY,
  type Handler,
  type HeaderMap,
  type SidecarRequest,
  type SidecarResponse,
} from './message.ts';

/** Answers up to this length are handed over whole, which saves a stream where nearly all answers are small. */
const WHOLE_BODY_BYTES = 64 * 1024;

/** An outgoing HTTP client for one origin: keep-alive, nothing buffered that is not small, no redirects followed. */
export interface HttpClient {
  readonly handle: Handler;
  close(): Promise<void>;
}

/** Makes a client. It has no time limits of its own: the request's signal ends a call. */
export function httpClient(origin: string): HttpClient {
  const pool = new Pool(origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    connect: { timeout: 5_000 },
  });
  return {
    handle: (request) => dispatch(pool, request),
    close: () => pool.destroy(),
  };
}

function dispatch(pool: Pool, request: SidecarRequest): Promise<SidecarResponse> {
  return new Promise((resolve, reject) => {
    const { aborted, reason } = abortionOf(request);
    if (aborted) throw reason;
    const exchange = new Exchange(request, resolve, reject);
    pool.dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: request.search === '' ? request.path : `${request.path}?${request.search}`,
        headers: request.headers as Record<string, string | string[]>,
        body: request.body instanceof Uint8Array && request.body.length === 0 ? null : toUndiciBody(request.body),
      },
      exchange,
    );
  });
}

/** undici sends any async iterable; its types name only Node's own streams. */
function toUndiciBody(body: Body): Uint8Array {
  return body as Uint8Array;
}

/** `dispatch` with our own handler: twice the throughput of node:http, five times that of `fetch`. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #abortion: Abortion;
  readonly #deaf: () => void;
  readonly #isHead: boolean;
  readonly #resolve: (response: SidecarResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #head: { status: number; headers: HeaderMap } | undefined;
  #whole: Uint8Array[] | undefined;
  #stream: ByteStream | undefined;

  constructor(request: SidecarRequest, resolve: (response: SidecarResponse) => void, reject: (error: unknown) => void) {
    this.#abortion = abortionOf(request);
    this.#isHead = request.method === 'HEAD';
    this.#resolve = resolve;
    this.#reject = reject;
    // From the beginning: a call may wait long for its connection.
    this.#deaf = this.#abortion.onAbort(this.#abort);
  }

  readonly #abort = (): void => {
    this.#reject(this.#abortion.reason);
    this.#controller?.abort(this.#abortion.reason as Error);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortion.aborted) this.#abort();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#head = { status, headers };
    const length = headers['content-length'];
    if (
      this.#isHead ||
      status === 204 ||
      status === 304 ||
      (length !== undefined && Number(length) <= WHOLE_BODY_BYTES)
    ) {
      this.#whole = [];
      return;
    }
    this.#stream = new ByteStream({
      onDrain: () => controller.resume(),
      onCancel: () => controller.abort(new Error('the reader of the response has left')),
    });
    this.#resolve({ ...this.#head, body: this.#stream });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#whole !== undefined) this.#whole.push(chunk);
    else if (this.#stream?.write(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#deaf();
    if (this.#stream !== undefined) this.#stream.end();
    else if (this.#head !== undefined) this.#resolve({ ...this.#head, body: joined(this.#whole ?? []) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#deaf();
    if (this.#stream !== undefined) this.#stream.fail(error);
    else this.#reject(error);
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return EMPTY_BODY;
  return chunks.length === 1 ? first : Buffer.concat(chunks);
}
