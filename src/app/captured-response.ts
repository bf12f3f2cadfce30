import { AsyncResource } from 'node:async_hooks';
import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import { asBuffer } from '../http/body.ts';
import { ByteStream } from '../http/byte-stream.ts';
import { EMPTY_BODY, type HeaderMap, type SidecarResponse } from '../http/message.ts';
import { outside } from '../util/outside.ts';

type Callback = (error?: Error | null) => void;
type WriteArguments = [chunk?: unknown, encoding?: BufferEncoding | Callback, callback?: Callback];

/**
 * Captures a response instead of writing it to its socket. Calls `answer` once, and `fail` if the response is aborted,
 * before or after that. The returned function aborts it.
 */
export function captureResponse(
  res: ServerResponse,
  answer: (response: SidecarResponse) => void,
  fail: (error: unknown) => void,
): (reason: unknown) => void {
  // With one header set, Node keeps those of writeHead() as well, for getHeaders().
  res.setHeader('x', '');
  res.removeHeader('x');
  const callbacks = new WriteCallbacks();
  const onDrain = (): void => {
    // The reader makes room, in its own context.
    outside(() => res.emit('drain'));
    callbacks.call();
  };
  const stream = new ByteStream({ onDrain, onCancel: () => outside(() => res.destroy()) });
  const trailers: Record<string, string | readonly string[]> = {};
  let streaming = false;
  let whole: SidecarResponse | undefined;
  const answerWhole = (): void => {
    if (whole !== undefined) answer(whole);
    whole = undefined;
  };
  const sendHead = (): void => {
    if (!res.headersSent) res.writeHead(res.statusCode);
  };
  const startStream = (): void => {
    sendHead();
    if (streaming) return;
    streaming = true;
    answer({ status: res.statusCode, headers: headersOf(res), body: stream, trailers: () => trailers });
  };
  const write = (chunk: Buffer, callback?: Callback): boolean => {
    startStream();
    const hasRoom = hasBody(res) ? stream.write(chunk) : true;
    if (callback !== undefined) callbacks.add(callback, hasRoom);
    return hasRoom;
  };
  const end = (chunk?: Buffer): void => {
    sendHead();
    const body = chunk !== undefined && hasBody(res) ? chunk : EMPTY_BODY;
    // Trailers follow a streamed body.
    if (Object.keys(trailers).length > 0) startStream();
    if (streaming && body.length > 0) stream.write(body);
    if (!streaming) whole = { status: res.statusCode, headers: headersOf(res), body };
    stream.end();
    callbacks.call();
    close(res, answerWhole);
  };
  const broken = (error?: unknown): void => {
    answerWhole();
    const reason = error ?? new Error('the application broke the response off');
    stream.fail(reason);
    callbacks.call(reason);
    fail(reason);
  };
  override(res, { write, end, startStream, broken, addTrailers: (added) => addTo(trailers, added) });
  // The application may destroy the socket instead of the response.
  res.once('close', () => res.writableEnded || broken());
  return broken;
}

/** Callbacks of writes: an application may pace itself by them alone, without `drain`. */
class WriteCallbacks {
  readonly #waiting: Callback[] = [];

  /** Without room for more, the callback waits. */
  add(callback: Callback, hasRoom: boolean): void {
    if (hasRoom) process.nextTick(callback);
    // Bound, because the reader ends the wait, in its own context.
    else this.#waiting.push(AsyncResource.bind(callback));
  }

  /** Calls those that wait. */
  call(error?: unknown): void {
    for (const callback of this.#waiting) process.nextTick(callback, error);
    this.#waiting.length = 0;
  }
}

interface Hooks {
  readonly write: (chunk: Buffer, callback?: Callback) => boolean;
  readonly end: (chunk?: Buffer) => void;
  readonly startStream: () => void;
  readonly broken: (error?: unknown) => void;
  readonly addTrailers: ServerResponse['addTrailers'];
}

/** Node's methods are overloaded; these take every form of the arguments, so the casts are safe. */
function override(res: ServerResponse, hooks: Hooks): void {
  const destroy = res.destroy.bind(res);
  const methods = {
    write: (...args: WriteArguments): boolean => {
      const { bytes, callback } = parseArguments(args);
      if (!res.writableEnded && !res.destroyed) return hooks.write(bytes ?? Buffer.alloc(0), callback);
      if (callback !== undefined) process.nextTick(callback, new Error('write after the end of the response'));
      return false;
    },
    end: (...args: WriteArguments): ServerResponse => {
      const { bytes, callback } = parseArguments(args);
      if (res.writableEnded || res.destroyed) return res;
      if (callback !== undefined) res.once('finish', callback);
      hooks.end(bytes);
      return res;
    },
    flushHeaders: hooks.startStream,
    addTrailers: hooks.addTrailers,
    destroy: (error?: Error): ServerResponse => {
      if (res.destroyed) return res;
      hooks.broken(error);
      return destroy(error);
    },
  };
  Object.assign(res, methods);
}

/** Adds trailers in Node's form: names in any case, values of any type. */
function addTo(
  trailers: Record<string, string | readonly string[]>,
  added: Parameters<ServerResponse['addTrailers']>[0],
): void {
  for (const [name, value] of Array.isArray(added) ? added : Object.entries(added))
    if (value !== undefined) trailers[name.toLowerCase()] = headerText(value);
}

function parseArguments(args: WriteArguments): { bytes?: Buffer; callback?: Callback } {
  const callback = args.find((argument): argument is Callback => typeof argument === 'function');
  const [chunk] = args;
  const encoding = typeof args[1] === 'string' ? args[1] : 'utf8';
  const rest = callback === undefined ? {} : { callback };
  if (chunk === undefined || chunk === null || typeof chunk === 'function') return rest;
  if (typeof chunk === 'string') return { ...rest, bytes: Buffer.from(chunk, encoding) };
  // Once called back, the application may use its buffer for other bytes: they are copied.
  return { ...rest, bytes: callback === undefined ? asBuffer(chunk as Uint8Array) : Buffer.from(chunk as Uint8Array) };
}

function hasBody(res: ServerResponse): boolean {
  return res.req.method !== 'HEAD' && res.statusCode !== 204 && res.statusCode !== 304;
}

/**
 * Ends a response in the next tick; `answer` is called before that, in the same tick. A caller who was answered at once
 * could go on to the next call in a microtask, and so on, and Node would never come to its ticks: 100,000 messages
 * published in one go kept 600 MB of responses that had not been closed.
 */
function close(res: ServerResponse, answer: () => void): void {
  // The field behind `writableEnded`; Node sets it in its own end().
  (res as { finished: boolean }).finished = true;
  process.nextTick(() => {
    answer();
    // Newer releases of Node 24 note it where only their own end() reaches it; middlewares look at it on 'close'.
    if (!res.writableFinished) Object.defineProperty(res, 'writableFinished', { value: true });
    res.emit('prefinish');
    res.emit('finish');
    if (res.socket !== null) res.detachSocket(res.socket);
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
