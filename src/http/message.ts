/**
 * The request/response abstraction: plain data, no framework, no socket.
 * The sidecar is a {@link Handler}; so is an application in the same process, and an outgoing HTTP client.
 */

import { messageOf, SidecarError } from '../errors.ts';
import { type CancelToken, cancelTokenOfSignal, NEVER, signalOfCancelToken } from '../util/cancel-token.ts';
import { jsonTextOf } from '../util/json-value.ts';
import { checkFields, fieldNames } from '../util/known-fields.ts';

/**
 * Header fields by name in lower case. A field that came more than once is one string where HTTP allows joining it
 * with `, `, and an array where it does not (`set-cookie`).
 *
 * @public
 */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A body: bytes when they are at hand, else a stream of chunks that may be read once. @public */
export type Body = Uint8Array | AsyncIterable<Uint8Array>;

/** A request to or from the sidecar. @public */
export interface SidecarRequest {
  /** The method in capitals. */
  readonly method: string;
  /** The path as received, percent-escapes and doubled slashes included, without the query. */
  readonly path: string;
  /** The query as received, without its question mark; empty when there is none. */
  readonly search: string;
  /** The query, decoded. Made on first use. */
  readonly query: URLSearchParams;
  /** Header fields. */
  readonly headers: HeaderMap;
  /** The body; no bytes when there is none. */
  readonly body: Body;
  /** Fires when the caller has gone. Made on first use. */
  readonly signal: AbortSignal;
  /** The IP address that the connection comes from, where that is known: that of a proxy if there is one. */
  readonly remoteAddress?: string | undefined;
}

/** An answer. @public */
export interface SidecarResponse {
  /** The HTTP status. */
  readonly status: number;
  /** Header fields. */
  readonly headers: HeaderMap;
  /** The body; no bytes when there is none. */
  readonly body: Body;
  /** The trailer fields; ask when a streamed body has been read to its end. */
  readonly trailers?: () => HeaderMap;
  /**
   * Fires when a streamed body is broken off before its end, as by a stop that has waited long enough: an adapter
   * breaks the connection off at once, also while the client does not read.
   */
  readonly signal?: AbortSignal;
  /** Set when no route of the sidecar has this path: an adapter may pass the request on instead of answering. */
  readonly unrouted?: true;
}

/** Answers a request. @public */
export type Handler = (request: SidecarRequest) => Promise<SidecarResponse>;

/** What an adapter needs of the sidecar. Its `handle` never rejects. @public */
export interface RequestHandler {
  /** Answers a request; never rejects. */
  readonly handle: Handler;
  /**
   * The request objects with which a sidecar calls its application in this process. Where it is mounted in that
   * application it does not answer them: whoever may call the application would else reach the whole API.
   */
  readonly ownCalls?: Pick<WeakSet<object>, 'has'> | undefined;
}

/** Options of every adapter. @public */
export interface AdapterOptions {
  /**
   * Leave requests for which the sidecar has no route to the application: the next middleware answers.
   * Default `false`: the sidecar answers 404.
   */
  readonly fallthrough?: boolean;
  /** A path below which the sidecar is mounted, such as `/internal`; cut off before routing. Default none. */
  readonly prefix?: string;
}

const ADAPTER_FIELDS = fieldNames<AdapterOptions>({ fallthrough: true, prefix: true });

/**
 * Refuses options of an adapter that cannot be meant: below a prefix that is misspelt, the sidecar would be at the root.
 *
 * @throws SidecarError `ERR_CONFIGURATION`
 */
export function checkAdapterOptions(options: AdapterOptions): void {
  checkFields(options, ADAPTER_FIELDS, 'options of the adapter', 'ERR_CONFIGURATION');
  const { prefix = '' } = options;
  if (prefix === '' || String(prefix).startsWith('/')) return;
  const problem = `options.prefix of the adapter is ${JSON.stringify(prefix)}: expected a path that begins with /`;
  throw new SidecarError('ERR_CONFIGURATION', problem);
}

/** A body without bytes. */
export const EMPTY_BODY: Uint8Array = new Uint8Array(0);

const NO_HEADERS: HeaderMap = Object.freeze({});

/** Tells whoever makes a body that nobody will read it. */
export function leaveBody(body: Body): void {
  if (body instanceof Uint8Array) return;
  // How the producer takes it is its own affair by now.
  body[Symbol.asyncIterator]()
    .return?.()
    .then(undefined, () => undefined);
}

/** Done, and nothing to say. One object for all: it is on the hot path. */
export const NO_CONTENT: SidecarResponse = Object.freeze({ status: 204, headers: NO_HEADERS, body: EMPTY_BODY });

/** An answer with a JSON body. */
export function jsonResponse(status: number, value: unknown, headers: HeaderMap = NO_HEADERS): SidecarResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(value)),
  };
}

/** What {@link request} may be given beside method and path. @public */
export interface RequestParts {
  /** Header fields; names in any case. */
  readonly headers?: HeaderMap;
  /** Bytes, a stream, text (sent as UTF-8), or any other value, sent as JSON with its content type. */
  readonly body?: unknown;
  /** Fires when the caller has gone. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * Makes a request, for use with {@link Handler}s without a socket.
 *
 * @example
 * ```ts
 * const reply = await sidecar.handle(request('POST', '/v1.0/publish/pubsub/orders', { body: { id: 1 } }));
 * ```
 * @public
 */
export function request(method: string, url: string, init: RequestParts = {}): SidecarRequest {
  const headers: Record<string, string | readonly string[] | undefined> = {};
  for (const [name, value] of Object.entries(init.headers ?? {})) headers[name.toLowerCase()] = value;
  const { body, contentType } = encodeBody(init.body);
  if (contentType !== undefined) headers['content-type'] ??= contentType;
  return new PlainRequest(method, url, headers, body, init.signal && cancelTokenOfSignal(init.signal));
}

function encodeBody(body: unknown): { body: Body; contentType?: string } {
  if (body === undefined) return { body: EMPTY_BODY };
  if (body instanceof Uint8Array) return { body };
  if (typeof body === 'string') return { body: Buffer.from(body) };
  if (isAsyncIterable(body)) return { body };
  return { body: Buffer.from(jsonOf(body)), contentType: 'application/json' };
}

function jsonOf(body: unknown): string {
  try {
    return jsonTextOf(body) ?? '';
  } catch (cause) {
    throw new SidecarError('ERR_BAD_REQUEST', `the body ${messageOf(cause)}`, { cause });
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** A request from its parts; query and signal are made when first asked for. */
export class PlainRequest implements SidecarRequest {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: HeaderMap;
  readonly body: Body;
  /** What ends it early, without the cost of a signal. */
  readonly cancelToken: CancelToken;
  #query: URLSearchParams | undefined;
  #signal: AbortSignal | undefined;

  constructor(method: string, url: string, headers: HeaderMap, body: Body, cancelToken: CancelToken = NEVER) {
    const question = url.indexOf('?');
    this.method = method;
    this.path = question === -1 ? url : url.slice(0, question);
    this.search = question === -1 ? '' : url.slice(question + 1);
    this.headers = headers;
    this.body = body;
    this.cancelToken = cancelToken;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.search);
    return this.#query;
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOfCancelToken(this.cancelToken);
    return this.#signal;
  }

  get remoteAddress(): string | undefined {
    return undefined;
  }
}

export { type CancelToken, cancelTokenOfSignal };

/** What ends a request early. */
export function cancelTokenOf(request: SidecarRequest): CancelToken {
  return request instanceof PlainRequest ? request.cancelToken : cancelTokenOfSignal(request.signal);
}

/** Path and query as one, the way they stand on the first line of a request. */
export function requestTarget(path: string, search: string): string {
  return search === '' ? path : `${path}?${search}`;
}

/** One header's value as a single string; `undefined` when it is absent. */
export function headerOf(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}
