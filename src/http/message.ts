/**
 * Requests and responses as plain data, without framework or socket. The sidecar is a {@link Handler}; so are an
 * application in the same process and an outgoing HTTP client.
 */

import { isUint8Array } from 'node:util/types';
import { messageOf, SidecarError } from '../errors.ts';
import { bytesOf } from '../util/bytes.ts';
import { type CancelToken, cancelTokenOfSignal, NEVER, signalOfCancelToken } from '../util/cancel-token.ts';
import { jsonTextOf } from '../util/json-value.ts';
import { BOOLEAN, checkOptions, field, type OptionFields } from '../util/option-fields.ts';
import { shown } from '../util/shown.ts';

/**
 * Header fields by lower-case name. Repeated fields are one string where HTTP allows joining them with `, `, and an
 * array where it does not (`set-cookie`).
 *
 * @public
 */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A body: bytes, or a stream of chunks that can be read once. @public */
export type Body = Uint8Array | AsyncIterable<Uint8Array>;

/** A request to or from the sidecar. @public */
export interface SidecarRequest {
  /** The method in capitals. */
  readonly method: string;
  /** The path as received, with percent-escapes and doubled slashes, without the query. */
  readonly path: string;
  /** The query as received, without its question mark; may be empty. */
  readonly search: string;
  /** Whether the path is followed by a question mark and nothing else, as in `/orders?`. */
  readonly hasEmptyQuery?: boolean | undefined;
  /** The decoded query. Created on first use. */
  readonly query: URLSearchParams;
  /** Header fields. */
  readonly headers: HeaderMap;
  /** The body; empty bytes without one. */
  readonly body: Body;
  /** Aborted when the caller has disconnected. Created on first use. */
  readonly signal: AbortSignal;
  /** The IP address of the connection, if known; that of the proxy if there is one. */
  readonly remoteAddress?: string | undefined;
  /** The path as the client sent it, with the prefix that was removed from {@link SidecarRequest.path}, if known. */
  readonly originalPath?: string | undefined;
  /** Whether the connection is encrypted, if known; that of the proxy if there is one. */
  readonly isEncrypted?: boolean | undefined;
  /** Whether the request came over a network connection, and not from code of this process, if known. */
  readonly isOverConnection?: boolean | undefined;
}

/** A response. @public */
export interface SidecarResponse {
  /** The HTTP status. */
  readonly status: number;
  /** Header fields. */
  readonly headers: HeaderMap;
  /** The body; empty bytes without one. */
  readonly body: Body;
  /** The trailer fields, available once a streamed body has been read to its end. */
  readonly trailers?: () => HeaderMap;
  /**
   * Aborted when a streamed body is cut off before its end, such as by a stop that has waited long enough. The adapter
   * then breaks the connection at once, even while the client is not reading.
   */
  readonly signal?: AbortSignal;
  /** Set if no route of the sidecar has this path: an adapter may pass the request on instead of responding. */
  readonly unrouted?: true;
}

/** Answers a request. @public */
export type Handler = (request: SidecarRequest) => Promise<SidecarResponse>;

/** The part of the sidecar that an adapter needs. @public */
export interface RequestHandler {
  /** Answers a request; never rejects. */
  readonly handle: Handler;
}

/** Options of every adapter. @public */
export interface AdapterOptions {
  /**
   * Passes requests without a sidecar route to the next middleware of the application. Default `false`: the sidecar
   * responds 404.
   */
  readonly fallthrough?: boolean | undefined;
  /** The path under which the sidecar is mounted, such as `/internal`; removed before routing. Default: none. */
  readonly prefix?: string | undefined;
}

const ADAPTER_FIELDS: OptionFields<AdapterOptions> = {
  fallthrough: BOOLEAN,
  prefix: field((value) => value === '' || String(value).startsWith('/'), 'a path that begins with /'),
};

/**
 * Rejects what cannot be mounted, and invalid adapter options: with a misspelt `prefix`, the sidecar would be mounted at
 * the root.
 *
 * @throws SidecarError `ERR_CONFIGURATION`
 */
export function checkMounted(handler: RequestHandler, options: AdapterOptions): void {
  // Express applications are functions, and have `handle` too.
  if (typeof handler === 'function' || typeof Object(handler).handle !== 'function')
    throw new SidecarError(
      'ERR_CONFIGURATION',
      `${shown(handler)} cannot be mounted: expected a sidecar, sidecar.peers or an inspector`,
    );
  checkOptions('options of the adapter', options, ADAPTER_FIELDS);
}

export const EMPTY_BODY: Uint8Array = new Uint8Array(0);

const NO_HEADERS: HeaderMap = Object.freeze({});

/** Tells the producer of a body that it will not be read. */
export function leaveBody(body: Body): void {
  if (isUint8Array(body)) return;
  // Errors of the producer no longer matter.
  body[Symbol.asyncIterator]()
    .return?.()
    .then(undefined, () => undefined);
}

/** A 204 response. One shared object: it is on the hot path. */
export const NO_CONTENT: SidecarResponse = Object.freeze({ status: 204, headers: NO_HEADERS, body: EMPTY_BODY });

export function jsonResponse(status: number, value: unknown, headers: HeaderMap = NO_HEADERS): SidecarResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(value)),
  };
}

/** Optional parts of the request that `testRequest` makes. @public */
export interface RequestParts {
  /** Header fields; names in any case. */
  readonly headers?: HeaderMap | undefined;
  /** Bytes, a stream, text (sent as UTF-8), or any other value (sent as JSON with its content type). */
  readonly body?: unknown;
  /** Aborted when the caller has disconnected. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes a request without a socket. */
export function request(method: string, url: string, init: RequestParts = {}): SidecarRequest {
  const headers: Record<string, string | readonly string[] | undefined> = {};
  for (const [name, value] of Object.entries(init.headers ?? {})) headers[name.toLowerCase()] = value;
  const { body, contentType } = encodeBody(init.body);
  if (contentType !== undefined) headers['content-type'] ??= contentType;
  return new PlainRequest(method, url, headers, body, init.signal && cancelTokenOfSignal(init.signal));
}

function encodeBody(body: unknown): { body: Body; contentType?: string } {
  if (body === undefined) return { body: EMPTY_BODY };
  const bytes = bytesOf(body);
  if (bytes !== undefined) return { body: bytes };
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

/** A request from its parts; what not every request needs is created on first use. */
export class PlainRequest implements SidecarRequest {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly hasEmptyQuery: boolean;
  readonly headers: HeaderMap;
  readonly body: Body;
  readonly #cancelToken: CancelToken;
  #query: URLSearchParams | undefined;
  #signal: AbortSignal | undefined;

  constructor(method: string, url: string, headers: HeaderMap, body: Body, cancelToken: CancelToken = NEVER) {
    const question = url.indexOf('?');
    this.method = method;
    this.path = question === -1 ? url : url.slice(0, question);
    this.search = question === -1 ? '' : url.slice(question + 1);
    this.hasEmptyQuery = question !== -1 && question === url.length - 1;
    this.headers = headers;
    this.body = body;
    this.#cancelToken = cancelToken;
  }

  /** Cancels the request, without the cost of a signal. */
  get cancelToken(): CancelToken {
    return this.#cancelToken;
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

  get originalPath(): string | undefined {
    return undefined;
  }

  get isEncrypted(): boolean | undefined {
    return undefined;
  }

  get isOverConnection(): boolean | undefined {
    return undefined;
  }
}

export { type CancelToken, cancelTokenOfSignal };

export function cancelTokenOf(request: SidecarRequest): CancelToken {
  return request instanceof PlainRequest ? request.cancelToken : cancelTokenOfSignal(request.signal);
}

/** The target of a request line: path and query. */
export function requestTarget(
  { path: own, search, hasEmptyQuery }: Pick<SidecarRequest, 'path' | 'search' | 'hasEmptyQuery'>,
  path: string = own,
): string {
  return search !== '' || hasEmptyQuery ? `${path}?${search}` : path;
}

/** A header's value as one string; `undefined` if it is absent. */
export function headerOf(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}
