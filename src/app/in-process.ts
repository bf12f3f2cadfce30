import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isUint8Array } from 'node:util/types';
import { isError, messageOf } from '../errors.ts';
import { asBuffer, chunkOf } from '../http/body.ts';
import { type Body, cancelTokenOf, requestTarget, type SidecarRequest, type SidecarResponse } from '../http/message.ts';
import { markedAsOwnCall } from '../http/own-calls.ts';
import { nodeHttp } from '../util/node-http.ts';
import { type Apart, outside } from '../util/outside.ts';
import { captureResponse } from './captured-response.ts';
import { NullSocket } from './null-socket.ts';
import type { AppTransport } from './transport.ts';

/** A request listener of node:http, an Express app, a Koa callback. @public */
export type RequestListener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** The application is a request listener in this process: called directly, without a socket. */
export function listenerTransport(listener: RequestListener, apart: Apart = () => outside): AppTransport {
  const isolated = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    await apart()(() => listener(req, res));
  };
  return {
    address: { host: '127.0.0.1', protocol: 'http' },
    handle: (request) => callListener(isolated, request),
    isReachable: async () => true,
    close: async () => undefined,
  };
}

/**
 * Calls a listener with Node's own request and response objects on a null socket. Frameworks replace the prototypes of
 * both, so everything of ours is a property of the objects themselves.
 */
function callListener(
  listener: (req: IncomingMessage, res: ServerResponse) => Promise<void>,
  request: SidecarRequest,
): Promise<SidecarResponse> {
  return new Promise((resolve, reject) => {
    const cancelToken = cancelTokenOf(request);
    if (cancelToken.aborted) throw cancelToken.reason;
    const socket = nowhere();
    const req = incoming(request, socket);
    const leaveBody = feed(req, request.body);
    const res = new (nodeHttp().ServerResponse)(req);
    res.assignSocket(socket);
    const abort = (): void => {
      const reason = cancelToken.reason as Error;
      breakOff(reason);
      // Destroy the socket first, without an error: the connection has not failed.
      socket.destroy();
      req.destroy(reason);
    };
    const breakOff = captureResponse(res, resolve, (error) => {
      reject(error);
      req.destroy();
    });
    // The application listens for `close`.
    const unsubscribe = cancelToken.onAbort(() => outside(abort));
    res.once('close', () => {
      unsubscribe();
      if (req.listenerCount('data') + req.listenerCount('readable') === 0) leaveBody();
    });
    listener(req, res).catch((error: unknown) => {
      res.destroy(isError(error) ? error : new Error(messageOf(error), { cause: error }));
    });
  });
}

/** {@link NullSocket} has all that Node's objects use of a socket, so the cast is safe. */
function nowhere(): Socket {
  return new NullSocket() as unknown as Socket;
}

function incoming(request: SidecarRequest, socket: Socket): IncomingMessage {
  const req = new (nodeHttp().IncomingMessage)(socket);
  req.method = request.method;
  req.url = requestTarget(request);
  req.httpVersion = '1.1';
  req.httpVersionMajor = 1;
  req.httpVersionMinor = 1;
  req.rawHeaders = rawHeaders(request);
  req.headers = joinedHeaders(req.rawHeaders);
  return req;
}

function rawHeaders({ headers: given, body }: SidecarRequest): string[] {
  const headers = markedAsOwnCall(given);
  const raw = headers['host'] === undefined ? ['host', '127.0.0.1'] : [];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || name === 'content-length' || name === 'transfer-encoding') continue;
    for (const one of typeof value === 'string' ? [value] : value) raw.push(name, one);
  }
  if (!isUint8Array(body)) raw.push('transfer-encoding', 'chunked');
  else if (body.length > 0) raw.push('content-length', String(body.length));
  return raw;
}

/** Joins headers like Node does; its own code relies on its parser, which is not used here. */
function joinedHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2);
    // Inherited names such as `constructor` are no fields.
    const before = Object.hasOwn(headers, name) ? `${headers[name]}${name === 'cookie' ? '; ' : ', '}` : '';
    headers[name] = before + value;
  }
  return headers;
}

/** Lets Node read on by itself, like its own `_read` does, which ours replaces. */
function readOn(req: IncomingMessage): void {
  (req as unknown as { _readableState: { readingMore: boolean } })._readableState.readingMore = false;
}

/** Feeds a body to the request. The returned function stops that. */
function feed(req: IncomingMessage, body: Body): () => void {
  const finish = (): void => {
    req.complete = true;
    req.push(null);
  };
  if (isUint8Array(body)) {
    req._read = () => {
      req._read = () => undefined;
      if (body.length > 0) req.push(asBuffer(body));
      finish();
    };
    return () => undefined;
  }
  const iterator = body[Symbol.asyncIterator]();
  readOn(req);
  req._read = () => {
    iterator
      .next()
      .then(({ done, value }) => (done ? undefined : chunkOf(value)))
      .then(
        (chunk) => (chunk === undefined ? finish() : req.push(chunk)),
        (error: Error) => req.destroy(error),
      );
  };
  const leave = (): void => {
    if (!req.complete) iterator.return?.().then(undefined, () => undefined);
  };
  req.once('close', leave);
  return leave;
}
