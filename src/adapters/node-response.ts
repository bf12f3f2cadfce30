import type { IncomingMessage, ServerResponse } from 'node:http';
import { EMPTY_BODY, type HeaderMap, leaveBody, type SidecarResponse } from '../http/message.ts';

/**
 * Sends an answer. Never throws or rejects: what cannot be sent becomes a 500, or a broken connection when it has begun.
 * There is a promise only where something is to be waited for: most answers are small and go out at once.
 */
export function writeResponse(
  req: IncomingMessage,
  res: ServerResponse,
  response: SidecarResponse,
): Promise<void> | undefined {
  const broken = (error: unknown): void => {
    leaveBody(response.body);
    fail(res, error);
  };
  try {
    // Somebody else has answered meanwhile, such as a middleware with a time limit, or the caller has gone.
    if (res.destroyed || res.headersSent) leaveBody(response.body);
    else return write(req, res, response)?.catch(broken);
  } catch (error) {
    broken(error);
  }
  return undefined;
}

function write(req: IncomingMessage, res: ServerResponse, response: SidecarResponse): Promise<void> | undefined {
  res.statusCode = response.status;
  setHeaders(res, response.headers);
  const body = hasBody(req, response.status) ? response.body : EMPTY_BODY;
  if (body !== response.body) leaveBody(response.body);
  const sent = send(req, res, { ...response, body });
  if (sent !== undefined) return sent.then(() => leaveRest(req));
  leaveRest(req);
  return undefined;
}

function send(req: IncomingMessage, res: ServerResponse, response: SidecarResponse): Promise<void> | undefined {
  const { body } = response;
  if (!(body instanceof Uint8Array)) return pump(res, body, response);
  if (!req.complete && !res.shouldKeepAlive) return endAfterRequest(req, res, body);
  if (body.length === 0) res.end();
  else res.end(body);
  return undefined;
}

/** Node throws away what nobody reads of a body, but not the rest of one that was begun. */
function leaveRest(req: IncomingMessage): void {
  if (!req.readableEnded && req.readableDidRead) req.resume();
}

function hasBody(req: IncomingMessage, status: number): boolean {
  return status !== 204 && status !== 304 && req.method !== 'HEAD';
}

function setHeaders(res: ServerResponse, headers: HeaderMap): void {
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) res.setHeader(name, value);
  }
}

function fail(res: ServerResponse, error: unknown): void {
  if (res.headersSent) return void res.destroy(error instanceof Error ? error : new Error(String(error)));
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  res.statusCode = 500;
  res.end();
}

/**
 * Sends the whole answer at once but ends only with the request, the rest of which is thrown away: a connection closed
 * on a client that is still sending can take an answer with it that was not read yet.
 */
async function endAfterRequest(req: IncomingMessage, res: ServerResponse, body: Uint8Array): Promise<void> {
  if (body.length > 0) {
    res.setHeader('content-length', body.length);
    res.write(body);
  } else {
    if (hasBody(req, res.statusCode)) res.setHeader('content-length', 0);
    res.flushHeaders();
  }
  req.resume();
  if (!req.complete) await first([req, 'end'], [req, 'close'], [res, 'close']);
  res.end();
}

async function pump(
  res: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  { trailers, signal }: SidecarResponse,
): Promise<void> {
  // A body that does not keep to its announced length would be taken for the beginning of the next answer.
  res.strictContentLength = true;
  const iterator = body[Symbol.asyncIterator]();
  // A producer that has nothing to say at present must hear of it too.
  const leave = (): void => void iterator.return?.().then(undefined, () => undefined);
  res.flushHeaders();
  res.once('close', leave);
  // At once, also while the client does not read.
  signal?.addEventListener('abort', () => fail(res, signal.reason), { once: true });
  for (;;) {
    const { done, value } = await iterator.next();
    if (res.destroyed) return;
    if (done) break;
    if (!res.write(value)) await first([res, 'drain'], [res, 'close']);
  }
  res.removeListener('close', leave);
  if (trailers !== undefined) addTrailers(res, trailers());
  res.end();
}

/** Node sends them with a chunked body only, which is the only one that can have them. */
function addTrailers(res: ServerResponse, trailers: HeaderMap): void {
  for (const name in trailers) {
    const value = trailers[name];
    if (value !== undefined) res.addTrailers([value].flat().map((one): [string, string] => [name, one]));
  }
}

function first(...events: readonly [emitter: IncomingMessage | ServerResponse, event: string][]): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const [emitter, event] of events) emitter.removeListener(event, done);
      resolve();
    };
    for (const [emitter, event] of events) emitter.once(event, done);
  });
}
