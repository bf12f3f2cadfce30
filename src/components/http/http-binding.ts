import { isApiError } from '../../errors.ts';
import { readAll } from '../../http/body.ts';
import {
  EMPTY_BODY,
  type HeaderMap,
  headerOf,
  leaveBody,
  PlainRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import { type HttpClient, httpClient } from '../../http/pool-client.ts';
import { CancelSource, cancelTokenOfSignal } from '../../util/cancel-token.ts';
import type { Clock } from '../../util/clock.ts';
import { msOf } from '../../util/duration.ts';
import { nodeHttp } from '../../util/node-http.ts';
import {
  type Binding,
  type BindingDefinition,
  BindingError,
  type BindingRequest,
  type BindingResponse,
} from '../binding.ts';
import { commonParts } from '../binding-options.ts';
import { failureOf } from './failures.ts';
import { checkedUrl, type HttpBindingOptions } from './http-binding-options.ts';
import { redirectOf } from './redirect.ts';
import type { Sent } from './sent.ts';
import { targetOf } from './target.ts';

/** Operations and their methods. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['create', 'POST'],
  ...['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace'].map(
    (operation) => [operation, operation.toUpperCase()] as const,
  ),
]);
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const JSON_TYPE = 'application/json; charset=utf-8';
/** Set by the connection, or by the operator's URL. */
const NOT_THE_CALLERS =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_TEXT = /^[\t -~\u0080-\u00ff]*$/;
const MAX_REDIRECTS = 10;
const MAX_ANSWER_BYTES = 100 * 1024 * 1024;

/**
 * An output binding that calls a URL over HTTP. Scheme, host and the path of the URL are fixed; a call may append a path
 * to it. Redirects are followed on the same scheme, host and port only. An answer other than 2xx is an error, whose
 * metadata have status and headers.
 *
 * @param name - the name in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [httpBinding('orders-api', { url: 'https://orders.internal/v2', timeout: '5s' })];
 * ```
 * @public
 */
export function httpBinding(name: string, options: HttpBindingOptions): BindingDefinition {
  const url = checkedUrl(name, options);
  return {
    ...commonParts(options),
    name,
    type: 'bindings.http',
    directions: ['output'],
    operations: [...METHODS.keys()],
    open: async ({ clock }) => new HttpBinding(url, options, clock),
  };
}

class HttpBinding implements Binding {
  readonly #url: URL;
  readonly #options: HttpBindingOptions;
  readonly #clock: Clock;
  readonly #client: HttpClient;

  constructor(url: URL, options: HttpBindingOptions, clock: Clock) {
    this.#url = url;
    this.#options = options;
    this.#clock = clock;
    const { tls } = options;
    this.#client = httpClient(url.origin, tls === undefined ? {} : { tls });
  }

  async invoke(request: BindingRequest): Promise<BindingResponse> {
    const { operation, metadata } = request;
    const url = targetOf(this.#url, metadata['path']);
    const mayFail = (metadata['errorIfNot2XX'] ?? '').toLowerCase();
    const failsUnless2xx = mayFail === '' ? (this.#options.errorIfNot2XX ?? true) : mayFail !== 'false';
    const cancel = new CancelSource();
    const unsubscribe = cancelTokenOfSignal(request.signal).onAbort(() => cancel.abort(request.signal.reason));
    const limitMs = msOf(this.#options.timeout);
    const late = new BindingError(`the target has not answered within ${limitMs} ms`);
    const timer = limitMs && this.#clock.setTimeout(() => cancel.abort(late), limitMs);
    try {
      if (request.signal.aborted) throw request.signal.reason;
      return await this.#exchange(METHODS.get(operation) ?? '', url, { request, cancel, failsUnless2xx });
    } catch (error) {
      throw failureOf(error, cancel.aborted ? cancel.reason : undefined);
    } finally {
      if (timer) timer.cancel();
      unsubscribe();
    }
  }

  async #exchange(method: string, url: URL, { request, cancel, failsUnless2xx }: Exchange): Promise<BindingResponse> {
    const { maxAnswerBytes = MAX_ANSWER_BYTES } = this.#options;
    const headers = this.#headersOf(request, method);
    let sent: Sent = { method, url, headers, body: WITH_BODY.has(method) ? request.data : EMPTY_BODY };
    let response = await this.#send(sent, cancel);
    for (let redirects = 0; redirects < MAX_REDIRECTS; redirects++) {
      const next = redirectOf(sent, response);
      if (next === undefined) break;
      leaveBody(response.body);
      sent = next;
      response = await this.#send(sent, cancel);
    }
    const data = await readWithin(response, maxAnswerBytes);
    const metadata = metadataOf(response);
    if (failsUnless2xx && (response.status < 200 || response.status > 299))
      throw new BindingError(`the target answered ${response.status}`, metadata);
    return { data, metadata };
  }

  #send({ method, url, headers, body }: Sent, cancel: CancelSource): Promise<SidecarResponse> {
    return this.#client.handle(new PlainRequest(method, `${url.pathname}${url.search}`, headers, body, cancel));
  }

  /** A key of the metadata with a capital first letter is a header. */
  #headersOf({ metadata, traceHeaders }: BindingRequest, method: string): HeaderMap {
    const headers: Record<string, string> = { accept: JSON_TYPE };
    if (WITH_BODY.has(method)) headers['content-type'] = JSON_TYPE;
    for (const [name, value] of Object.entries(metadata)) {
      const isHeader = /^\p{Lu}/u.test(name) && !NOT_THE_CALLERS.test(name.toLowerCase());
      if (!isHeader) continue;
      if (!HEADER_NAME.test(name) || !HEADER_TEXT.test(value))
        throw new BindingError(`metadata ${JSON.stringify(name)} cannot be a header`);
      headers[name.toLowerCase()] = value;
    }
    const { token } = this.#options;
    // The operator's: a caller cannot replace it.
    if (token !== undefined) headers[token.header.toLowerCase()] = token.value;
    else if (this.#url.username !== '') headers['authorization'] ??= basicOf(this.#url);
    return { ...headers, ...traceHeaders };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** A call that is under way. */
interface Exchange {
  readonly request: BindingRequest;
  readonly cancel: CancelSource;
  readonly failsUnless2xx: boolean;
}

function basicOf({ username, password }: URL): string {
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

async function readWithin({ body }: SidecarResponse, limitBytes: number): Promise<Uint8Array> {
  const tooLarge = `the answer of the target is larger than ${limitBytes} bytes`;
  const data = await readAll(body, limitBytes).catch((error: unknown) => {
    throw isApiError(error) && error.code === 'ERR_BODY_TOO_LARGE' ? new BindingError(tooLarge) : error;
  });
  // Small answers come in one piece, which nobody has measured yet.
  if (data.length > limitBytes) throw new BindingError(tooLarge);
  return data;
}

function metadataOf({ status, headers }: SidecarResponse): Readonly<Record<string, string>> {
  const names = Object.keys(headers);
  const given = names.map((name) => [name, headerOf(headers, name) ?? ''] as const);
  return {
    ...Object.fromEntries(given),
    statusCode: String(status),
    status: `${status} ${nodeHttp().STATUS_CODES[status] ?? ''}`.trim(),
  };
}
