import { type Body, EMPTY_BODY, type HeaderMap, type SidecarRequest, type SidecarResponse } from '../http/message.ts';
import type { AppTransport } from './transport.ts';

/** An application as a fetch function, such as a Hono app's `fetch`. @public */
export type FetchApp = (request: Request) => Response | Promise<Response>;

/** The application is a fetch function in this process. */
export function fetchTransport(app: FetchApp): AppTransport {
  return {
    address: { host: '127.0.0.1', protocol: 'http' },
    handle: (request) => callFetch(app, request),
    isReachable: async () => true,
    close: async () => undefined,
  };
}

async function callFetch(app: FetchApp, request: SidecarRequest): Promise<SidecarResponse> {
  const { signal } = request;
  const answer = await untilAborted(Promise.resolve(app(toWebRequest(request))), signal);
  return {
    status: answer.status,
    headers: fromWebHeaders(answer.headers),
    body: answer.body === null ? EMPTY_BODY : endingWith(answer.body, signal),
  };
}

/** A fetch function may ignore its signal; the caller still goes on. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

async function* endingWith(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await untilAborted(iterator.next(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited: a reader that is stuck in next() would hold up the one who leaves.
    void iterator.return?.();
  }
}

function toWebRequest({ method, path, search, headers, body, signal }: SidecarRequest): Request {
  const url = `http://127.0.0.1${path}${search === '' ? '' : `?${search}`}`;
  const hasBody = method !== 'GET' && method !== 'HEAD' && !(body instanceof Uint8Array && body.length === 0);
  const init = { method, headers: toWebHeaders(headers), signal };
  return new Request(url, hasBody ? { ...init, body: toBodyInit(body), duplex: 'half' } : init);
}

/** Bytes are never shared memory here, and Node's Request takes any async iterable. */
function toBodyInit(body: Body): Uint8Array<ArrayBuffer> {
  return body as Uint8Array<ArrayBuffer>;
}

function toWebHeaders(headers: HeaderMap): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
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
