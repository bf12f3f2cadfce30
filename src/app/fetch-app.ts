import { isUint8Array } from 'node:util/types';
import { SidecarError } from '../errors.ts';
import {
  type Body,
  type CancelToken,
  cancelTokenOf,
  EMPTY_BODY,
  type HeaderMap,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../http/message.ts';
import { markedAsOwnCall } from '../http/own-calls.ts';
import { cancelTokenOfSignal, cancelWith, unlessAborted } from '../util/cancel-token.ts';
import { type Apart, outside, type Run } from '../util/outside.ts';
import type { AppTransport } from './transport.ts';

/** An application as a fetch function, such as a Hono app's `fetch`. @public */
export type FetchApp = (request: Request) => Response | Promise<Response>;

/** A request that a `Request` cannot carry; the application was not called. */
export class UnfitRequest extends SidecarError {
  constructor(what: string) {
    super('ERR_DIRECT_INVOKE', `${what} cannot be passed to a fetch function`, { status: 501, reason: 'unsupported' });
  }
}

/** The application is a fetch function in this process. */
export function fetchTransport(app: FetchApp, apart: Apart = () => outside): AppTransport {
  return {
    address: { host: '127.0.0.1', protocol: 'http' },
    handle: (request) => callFetch(app, request, apart()),
    isReachable: async () => true,
    close: async () => undefined,
  };
}

async function callFetch(app: FetchApp, request: SidecarRequest, run: Run): Promise<SidecarResponse> {
  const { signal, done } = signalUntilDone(cancelTokenOf(request));
  try {
    signal.throwIfAborted();
    const check = checkFit(request, signal);
    if (check !== undefined) await check;
    const work = Promise.resolve(run(() => app(toWebRequest(request, signal))));
    const answer = await untilAborted(work, signal).catch((error: unknown) => {
      // A late answer's body has no reader.
      work.then(discard, () => undefined);
      throw error;
    });
    const { status } = answer;
    const headers = fromWebHeaders(answer.headers);
    if (answer.body !== null && request.method !== 'HEAD')
      return { status, headers, body: new AbortableBody(answer.body, signal, { run, done }) };
    discard(answer);
    done();
    return { status, headers, body: EMPTY_BODY };
  } catch (error) {
    done();
    throw error;
  }
}

/** A signal that stops listening when the call is done: a cancel token may live much longer. */
function signalUntilDone(cancelToken: CancelToken): { readonly signal: AbortSignal; readonly done: () => void } {
  const controller = new AbortController();
  const done = cancelWith(controller, cancelToken);
  return { signal: controller.signal, done };
}

function discard({ body }: Response): void {
  body?.cancel().then(undefined, () => undefined);
}

/** Rejects on abort, even if the fetch function ignores its signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessAborted(work, cancelTokenOfSignal(signal));
}

/** A body that the signal aborts. */
class AbortableBody implements AsyncIterableIterator<Uint8Array> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #signal: AbortSignal;
  /** Its source is code of the application. */
  readonly #run: Run;
  readonly #done: () => void;

  constructor(
    stream: ReadableStream<Uint8Array>,
    signal: AbortSignal,
    { run, done }: { readonly run: Run; readonly done: () => void },
  ) {
    this.#reader = stream.getReader();
    this.#signal = signal;
    this.#run = run;
    this.#done = done;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    try {
      const { done, value } = await untilAborted(
        this.#run(() => this.#reader.read()),
        this.#signal,
      );
      if (done) this.#done();
      return done ? { done, value: undefined } : { done, value };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#done();
    // Not awaited: we don't depend on it.
    this.#run(() => this.#reader.cancel()).then(undefined, () => undefined);
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/**
 * Checks that a `Request` can carry a request: it takes no body with GET and HEAD.
 *
 * @throws UnfitRequest
 */
function checkFit(request: SidecarRequest, signal: AbortSignal): Promise<void> | undefined {
  const { method, body } = request;
  if ((method !== 'GET' && method !== 'HEAD') || (isUint8Array(body) && body.length === 0)) return undefined;
  return untilAborted(hasBytes(request), signal).then((has) => {
    if (has) throw new UnfitRequest(`a ${method} with a body`);
  });
}

/** Over HTTP/2, or in chunks, a body may turn out to be none only when it is read. */
async function hasBytes({ headers, body }: SidecarRequest): Promise<boolean> {
  if (isUint8Array(body)) return body.length > 0;
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) > 0;
  for await (const chunk of body) if (chunk.length > 0) return true;
  return false;
}

function toWebRequest(request: SidecarRequest, signal: AbortSignal): Request {
  const { method, headers, body } = request;
  const url = `http://127.0.0.1${requestTarget(request)}`;
  const hasBody = method !== 'GET' && method !== 'HEAD' && !(isUint8Array(body) && body.length === 0);
  const init = { method, headers: toWebHeaders(headers), signal };
  return new Request(url, hasBody ? { ...init, body: toBodyInit(body), duplex: 'half' } : init);
}

/** Bytes are never shared memory here, and Node's Request takes any async iterable. */
function toBodyInit(body: Body): Uint8Array<ArrayBuffer> {
  return body as Uint8Array<ArrayBuffer>;
}

function toWebHeaders(headers: HeaderMap): [string, string][] {
  const marked = markedAsOwnCall(headers);
  const all = headers['host'] === undefined ? { host: '127.0.0.1', ...marked } : marked;
  return Object.entries(all).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
}

function fromWebHeaders(web: Headers): HeaderMap {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of web) headers[name] = value;
  const cookies = web.getSetCookie();
  if (cookies.length > 0) headers['set-cookie'] = cookies;
  return headers;
}
