import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AdapterOptions,
  type Body,
  type HeaderMap,
  PlainRequest,
  type RequestHandler,
  type SidecarResponse,
} from '../http/message.ts';
import { belowPrefix } from './mount.ts';
import { contentOf, type ParsedBody } from './parsed-body.ts';

/** A listener for node:http, as `createServer` takes it; `next` is called for what is passed on. @public */
export type NodeListener = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void;

/**
 * Mounts the sidecar on `node:http`.
 *
 * @example
 * ```ts
 * createServer(nodeListener(sidecar)).listen(3500, '127.0.0.1');
 * ```
 * @public
 */
export function nodeListener(sidecar: RequestHandler, options: AdapterOptions = {}): NodeListener {
  return (req, res, next) => {
    void answerNode(sidecar, { req, res, url: req.url ?? '/', parsed: req as ParsedBody }, options).then((passOn) => {
      if (passOn && next !== undefined) next();
      else if (passOn) res.writeHead(404).end();
    });
  };
}

/** One exchange of a framework that stands on node:http. */
export interface NodeExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly url: string;
  readonly parsed: ParsedBody;
}

/** Answers an exchange; resolves to `true` when it is to be passed on instead. */
export async function answerNode(
  sidecar: RequestHandler,
  exchange: NodeExchange,
  options: AdapterOptions,
): Promise<boolean> {
  const url = belowPrefix(exchange.url, options.prefix);
  if (url === undefined && options.fallthrough) return true;
  const response = await sidecar.handle(new NodeRequest(exchange, url ?? '/'));
  if (response.unrouted && options.fallthrough) return true;
  await writeResponse(exchange.res, response);
  return false;
}

class NodeRequest extends PlainRequest {
  readonly #res: ServerResponse;
  #gone: AbortSignal | undefined;

  constructor({ req, res, parsed }: NodeExchange, url: string) {
    const { headers, body } = contentOf(req, parsed);
    super(req.method ?? 'GET', url, headers, body);
    this.#res = res;
  }

  override get signal(): AbortSignal {
    this.#gone ??= signalOfClose(this.#res);
    return this.#gone;
  }
}

function signalOfClose(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (!res.writableFinished) controller.abort(new Error('the caller went away'));
  };
  if (res.destroyed) abort();
  else res.once('close', abort);
  return controller.signal;
}

async function writeResponse(res: ServerResponse, response: SidecarResponse): Promise<void> {
  const { body, headers } = response;
  if (res.destroyed) return cancel(body);
  res.statusCode = response.status;
  setHeaders(res, headers);
  if (!(body instanceof Uint8Array)) return pump(res, body);
  if (body.length === 0) res.end();
  else res.end(body);
}

function setHeaders(res: ServerResponse, headers: HeaderMap): void {
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) res.setHeader(name, value);
  }
}

async function pump(res: ServerResponse, body: AsyncIterable<Uint8Array>): Promise<void> {
  res.flushHeaders();
  try {
    for await (const chunk of body) {
      if (res.destroyed) return;
      if (!res.write(chunk)) await drained(res);
    }
    res.end();
  } catch (error) {
    // A body that broke off must not look complete.
    res.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.removeListener('drain', done);
      res.removeListener('close', done);
      resolve();
    };
    res.once('drain', done);
    res.once('close', done);
  });
}

async function cancel(body: Body): Promise<void> {
  if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
}
