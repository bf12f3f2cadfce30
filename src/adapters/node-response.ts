import { isAscii } from 'node:buffer';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isUint8Array } from 'node:util/types';
import { EMPTY_BODY, type HeaderMap, leaveBody, type SidecarResponse } from '../http/message.ts';

/**
 * Sends a response. Never throws or rejects: on failure it sends a 500, or breaks the connection if the response has
 * begun. Returns a promise only if there is something to wait for: most responses are small and are sent at once.
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
    // Someone else has responded meanwhile, such as a timeout middleware, or the caller has disconnected.
    if (isDisconnected(req, res) || res.headersSent) leaveBody(response.body);
    else return write(req, res, response)?.catch(broken);
  } catch (error) {
    broken(error);
  }
  return undefined;
}

/** A response of HTTP/2 does not tell that it is destroyed. */
function isDisconnected(req: IncomingMessage, res: ServerResponse): boolean {
  return res.destroyed || req.aborted;
}

function write(req: IncomingMessage, res: ServerResponse, response: SidecarResponse): Promise<void> | undefined {
  res.statusCode = response.status;
  setHeaders(res, response.headers);
  const body = hasBody(req, response.status) ? response.body : EMPTY_BODY;
  if (body !== response.body) leaveBody(response.body);
  const sent = send(req, res, response, body);
  if (sent !== undefined) return sent.then(() => leaveRest(req));
  leaveRest(req);
  return undefined;
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  response: SidecarResponse,
  body: SidecarResponse['body'],
): Promise<void> | undefined {
  if (!isUint8Array(body)) return pump(req, res, body, response);
  if (!req.complete && !res.shouldKeepAlive) return endAfterRequest(req, res, body);
  if (body.length === 0) res.end();
  else if (body.length <= MAX_TEXT_BYTES && isAscii(body)) res.end(textOf(body), 'latin1');
  else res.end(body);
  return undefined;
}

/** Node writes text together with the head, but bytes beside it: that takes a tenth more CPU time for a small answer. */
const MAX_TEXT_BYTES = 4_096;

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
}

/** Node discards a body without a reader, but not the rest of a partly read one. */
function leaveRest(req: IncomingMessage): void {
  if (!req.readableEnded && req.readableDidRead) req.resume();
}

function hasBody(req: IncomingMessage, status: number): boolean {
  return status !== 204 && status !== 304 && req.method !== 'HEAD';
}

function setHeaders(res: ServerResponse, headers: HeaderMap): void {
  for (const name of Object.keys(headers)) {
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
 * Sends the whole response at once but ends it only with the request, whose rest is discarded. Closing the connection
 * while the client is still sending could lose a response that the client has not yet read.
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
  req: IncomingMessage,
  res: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  { trailers, signal }: SidecarResponse,
): Promise<void> {
  // A body of another length than announced would run into the next response.
  res.strictContentLength = true;
  const iterator = body[Symbol.asyncIterator]();
  // Also notify a producer that has nothing to write at present.
  const leave = (): void => void iterator.return?.().then(undefined, () => undefined);
  res.flushHeaders();
  res.once('close', leave);
  // Abort at once, even while the client is not reading.
  signal?.addEventListener('abort', () => fail(res, signal.reason), { once: true });
  for (;;) {
    const { done, value } = await iterator.next();
    if (isDisconnected(req, res)) return;
    if (done) break;
    if (!res.write(value)) await first([res, 'drain'], [res, 'close']);
  }
  res.removeListener('close', leave);
  if (trailers !== undefined) addTrailers(res, trailers());
  res.end();
}

/**
 * Node sends trailers with chunked bodies only; no others can have them. All in one call, because the next one would
 * replace them, and as an object, because HTTP/2 takes no list.
 */
function addTrailers(res: ServerResponse, trailers: HeaderMap): void {
  const fields: OutgoingHttpHeaders = {};
  for (const name of Object.keys(trailers)) {
    const value = trailers[name];
    if (value !== undefined) fields[name] = typeof value === 'string' ? value : [...value];
  }
  res.addTrailers(fields);
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
