import { IncomingMessage, type OutgoingHttpHeader, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { asBuffer } from '../http/body.ts';
import { ByteStream } from '../http/byte-stream.ts';
import { type Body, EMPTY_BODY, type HeaderMap, type SidecarRequest, type SidecarResponse } from '../http/message.ts';
import type { AppTransport } from './transport.ts';

/** A request listener of node:http, an Express app, a Koa callback. @public */
export type RequestListener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** The application is a request listener in this process: called directly, without a socket. */
export function listenerTransport(listener: RequestListener): AppTransport {
  return {
    address: { host: '127.0.0.1', protocol: 'http' },
    handle: (request) => callListener(listener, request),
    isReachable: async () => true,
    close: async () => undefined,
  };
}

/**
 * Calls a listener with Node's own request and response objects on a socket that leads nowhere. Frameworks replace the
 * prototypes of both, so everything of ours is a property of the objects themselves.
 */
function callListener(listener: RequestListener, request: SidecarRequest): Promise<SidecarResponse> {
  return new Promise((resolve, reject) => {
    request.signal.throwIfAborted();
    const req = incoming(request);
    const res = new ServerResponse(req);
    const abort = (): void => {
      const reason = request.signal.reason as Error;
      reject(reason);
      req.destroy(reason);
      res.destroy(reason);
    };
    const settle = (response: SidecarResponse): void => resolve(response);
    captureResponse(res, settle, (error) => {
      reject(error);
      req.destroy();
    });
    request.signal.addEventListener('abort', abort, { once: true });
    res.once('close', () => request.signal.removeEventListener('abort', abort));
    Promise.resolve(listener(req, res)).catch((error: unknown) => {
      reject(error);
      res.destroy();
    });
  });
}

function incoming(request: SidecarRequest): IncomingMessage {
  const req = new IncomingMessage(new NowhereSocket() as unknown as Socket);
  req.method = request.method;
  req.url = request.search === '' ? request.path : `${request.path}?${request.search}`;
  req.httpVersion = '1.1';
  req.httpVersionMajor = 1;
  req.httpVersionMinor = 1;
  req.rawHeaders = rawHeaders(request);
  req.headers = joinedHeaders(req.rawHeaders);
  feed(req, request.body);
  return req;
}

function rawHeaders({ headers, body }: SidecarRequest): string[] {
  const raw = headers['host'] === undefined ? ['host', '127.0.0.1'] : [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name === 'content-length' || name === 'transfer-encoding') continue;
    for (const one of typeof value === 'string' ? [value] : value) raw.push(name, one);
  }
  if (!(body instanceof Uint8Array)) raw.push('transfer-encoding', 'chunked');
  else if (body.length > 0) raw.push('content-length', String(body.length));
  return raw;
}

/** Node makes these from what its parser counted, which has counted nothing here. */
function joinedHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2);
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

function feed(req: IncomingMessage, body: Body): void {
  const finish = (): void => {
    req.complete = true;
    req.push(null);
  };
  if (body instanceof Uint8Array) {
    req._read = () => {
      req._read = () => undefined;
      if (body.length > 0) req.push(asBuffer(body));
      finish();
    };
    return;
  }
  const iterator = body[Symbol.asyncIterator]();
  req._read = () => {
    iterator.next().then(
      ({ done, value }) => (done ? finish() : req.push(asBuffer(value))),
      (error: Error) => req.destroy(error),
    );
  };
  req.once('close', () => {
    if (!req.complete) void iterator.return?.();
  });
}

type Callback = (error?: Error | null) => void;
type WriteArguments = [chunk?: unknown, encoding?: BufferEncoding | Callback, callback?: Callback];

/** Takes over where a response would be written to its socket. */
function captureResponse(
  res: ServerResponse,
  answer: (response: SidecarResponse) => void,
  fail: (error: unknown) => void,
): void {
  // A header that was set once makes Node keep the headers given to writeHead() as well, for getHeaders().
  res.setHeader('x', '');
  res.removeHeader('x');
  const stream = new ByteStream({ onDrain: () => res.emit('drain'), onCancel: () => res.destroy() });
  let streaming = false;
  const sendHead = (): void => {
    if (!res.headersSent) res.writeHead(res.statusCode);
  };
  const startStream = (): void => {
    sendHead();
    if (streaming) return;
    streaming = true;
    answer({ status: res.statusCode, headers: headersOf(res), body: stream });
  };
  const write = (chunk: Buffer, callback?: Callback): boolean => {
    startStream();
    if (callback !== undefined) process.nextTick(callback);
    return hasBody(res) ? stream.write(chunk) : true;
  };
  const end = (chunk?: Buffer): void => {
    sendHead();
    const body = chunk !== undefined && hasBody(res) ? chunk : EMPTY_BODY;
    if (streaming && body.length > 0) stream.write(body);
    if (!streaming) answer({ status: res.statusCode, headers: headersOf(res), body });
    stream.end();
    close(res);
  };
  const broken = (error?: Error): void => {
    const reason = error ?? new Error('the application broke the response off');
    stream.fail(reason);
    fail(reason);
  };
  override(res, { write, end, startStream, broken });
}

interface Hooks {
  readonly write: (chunk: Buffer, callback?: Callback) => boolean;
  readonly end: (chunk?: Buffer) => void;
  readonly startStream: () => void;
  readonly broken: (error?: Error) => void;
}

/** Node's methods are overloaded; these take every form of their arguments, which is what makes the casts safe. */
function override(res: ServerResponse, hooks: Hooks): void {
  const destroy = res.destroy.bind(res);
  const methods = {
    write: (...args: WriteArguments): boolean => {
      const { bytes, callback } = parseArguments(args);
      return res.writableEnded || res.destroyed ? false : hooks.write(bytes ?? Buffer.alloc(0), callback);
    },
    end: (...args: WriteArguments): ServerResponse => {
      const { bytes, callback } = parseArguments(args);
      if (res.writableEnded || res.destroyed) return res;
      if (callback !== undefined) res.once('finish', callback);
      hooks.end(bytes);
      return res;
    },
    flushHeaders: hooks.startStream,
    destroy: (error?: Error): ServerResponse => {
      if (res.destroyed) return res;
      destroy(error);
      hooks.broken(error);
      process.nextTick(() => res.emit('close'));
      return res;
    },
  };
  Object.assign(res, methods);
}

function parseArguments(args: WriteArguments): { bytes?: Buffer; callback?: Callback } {
  const callback = args.find((argument): argument is Callback => typeof argument === 'function');
  const [chunk] = args;
  const encoding = typeof args[1] === 'string' ? args[1] : 'utf8';
  const rest = callback === undefined ? {} : { callback };
  if (chunk === undefined || chunk === null || typeof chunk === 'function') return rest;
  return { ...rest, bytes: typeof chunk === 'string' ? Buffer.from(chunk, encoding) : asBuffer(chunk as Uint8Array) };
}

function hasBody(res: ServerResponse): boolean {
  return res.req.method !== 'HEAD' && res.statusCode !== 204 && res.statusCode !== 304;
}

function close(res: ServerResponse): void {
  // The field behind `writableEnded`; Node sets it in its own end().
  (res as { finished: boolean }).finished = true;
  process.nextTick(() => {
    res.emit('prefinish');
    res.emit('finish');
    (res as { destroyed: boolean }).destroyed = true;
    res.emit('close');
  });
}

function headersOf(res: ServerResponse): HeaderMap {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(res.getHeaders())) {
    if (value !== undefined) headers[name] = headerText(value);
  }
  return headers;
}

function headerText(value: OutgoingHttpHeader): string | string[] {
  return Array.isArray(value) ? value : String(value);
}

/** What frameworks ask of a socket: an address, and to exist. */
class NowhereSocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  readonly localAddress = '127.0.0.1';
  readonly remotePort = 0;
  readonly localPort = 0;
  readonly encrypted = false;

  override _read(): void {}
  override _write(_chunk: unknown, _encoding: BufferEncoding, callback: Callback): void {
    callback();
  }
  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  address(): object {
    return { address: '127.0.0.1', family: 'IPv4', port: 0 };
  }
}
