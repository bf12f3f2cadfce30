import { isUint8Array } from 'node:util/types';
import {
  type AdapterOptions,
  type Body,
  cancelTokenOfSignal,
  checkMounted,
  EMPTY_BODY,
  type HeaderMap,
  leaveBody,
  PlainRequest,
  type RequestHandler,
  type SidecarRequest,
  type SidecarResponse,
} from '../http/message.ts';
import { belowPrefix, pathOf } from './mount.ts';
import { alreadyRead, unreadable } from './parsed-body.ts';

/** Answers a web-standard `Request`. @public */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Answers a web-standard `Request`, or returns `undefined` for a request to pass on. @public */
export type FallthroughFetchHandler = (request: Request) => Promise<Response | undefined>;

/**
 * Mounts the sidecar on anything that uses `Request` and `Response`: Hono, Next route handlers, Bun, Deno. A body that
 * was read before it is refused: give it a request whose body is whole, such as Hono's `await cloneRawRequest(c.req)`.
 *
 * @example
 * ```ts
 * const api = fetchHandler(sidecar, { prefix: '/internal' });
 * hono.all('/internal/*', (c) => api(c.req.raw));
 * ```
 * @public
 */
export function fetchHandler(
  sidecar: RequestHandler,
  options: AdapterOptions & { readonly fallthrough: true },
): FallthroughFetchHandler;
/** Mounts the sidecar; every request is answered. @public */
export function fetchHandler(sidecar: RequestHandler, options?: AdapterOptions): FetchHandler;
export function fetchHandler(sidecar: RequestHandler, options: AdapterOptions = {}): FallthroughFetchHandler {
  checkMounted(sidecar, options);
  return async (request) => {
    const url = belowPrefix(targetOf(request.url), options.prefix);
    if (url === undefined && options.fallthrough) return undefined;
    const response = await sidecar.handle(toSidecarRequest(request, url ?? ''));
    return response.unrouted && options.fallthrough ? undefined : toFetchResponse(response, request.method);
  };
}

function targetOf(url: string): string {
  const path = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.indexOf('#');
  return path === -1 ? '/' : url.slice(path, end === -1 ? undefined : end);
}

function hostOf(url: string): string {
  const start = url.indexOf('://') + 3;
  const end = url.indexOf('/', start);
  return url.slice(start, end === -1 ? undefined : end);
}

function toSidecarRequest(request: Request, url: string): SidecarRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers) headers[name] = value;
  // Over HTTP/2 the host may be in the URL only.
  headers['host'] ??= hostOf(request.url);
  return new FetchRequest(request, url, headers);
}

class FetchRequest extends PlainRequest {
  readonly #url: string;

  constructor(request: Request, below: string, headers: HeaderMap) {
    const { method, url, signal } = request;
    super(method.toUpperCase(), below, headers, bodyOf(request), cancelTokenOfSignal(signal));
    this.#url = url;
  }

  override get originalPath(): string {
    return pathOf(targetOf(this.#url));
  }

  override get isEncrypted(): boolean {
    return this.#url.startsWith('https:');
  }
}

const REMEDY =
  'and a Request keeps no copy: pass on one whose body is whole, in Hono with fetchHandler(sidecar)(await cloneRawRequest(c.req))';

function bodyOf({ body, bodyUsed }: Request): Body {
  if (body === null) return EMPTY_BODY;
  return bodyUsed || body.locked ? unreadable(alreadyRead(REMEDY)) : body;
}

/** The greatest status that a `Response` can have; HTTP/1.1 has no limit but its three digits. */
const MAX_STATUS = 599;
/** A `Response` of these cannot have a body. */
const BARE = new Set([204, 205, 304]);

function toFetchResponse(response: SidecarResponse, method: string): Response {
  const { status, headers, body } = response;
  if (status > MAX_STATUS) {
    leaveBody(body);
    return new Response(null, { status: 502 });
  }
  const isBare = BARE.has(status) || method === 'HEAD';
  if (isBare) leaveBody(body);
  const noBody = isBare || (isUint8Array(body) && body.length === 0);
  return new Response(noBody ? null : toWebBody(response), { status, headers: toWebHeaders(headers) });
}

function toWebHeaders(headers: HeaderMap): Headers {
  const web = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') web.set(name, value);
    else for (const one of value ?? []) web.append(name, one);
  }
  return web;
}

/** A stream that pulls the next chunk only when the reader asks for one. */
function toWebBody({ body, signal }: SidecarResponse): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  // The lib types distinguish ArrayBuffer from SharedArrayBuffer; our bytes are never shared.
  if (isUint8Array(body)) return body as Uint8Array<ArrayBuffer>;
  const iterator = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const breakOff = (): void => {
        controller.error(signal?.reason);
        iterator.return?.().then(undefined, () => undefined);
      };
      signal?.addEventListener('abort', breakOff, { once: true });
    },
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (signal?.aborted) return;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
