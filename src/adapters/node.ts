import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AdapterOptions, RequestHandler } from '../http/message.ts';
import { belowPrefix } from './mount.ts';
import { NodeRequest } from './node-request.ts';
import { writeResponse } from './node-response.ts';
import type { ParsedBody } from './parsed-body.ts';

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
  const url = sidecar.ownCalls?.has(exchange.req) ? undefined : belowPrefix(exchange.url, options.prefix);
  if (url === undefined && options.fallthrough) return true;
  const { req, res, parsed } = exchange;
  const response = await sidecar.handle(new NodeRequest(req, res, { url: url ?? '', parsed }));
  if (response.unrouted && options.fallthrough) return true;
  const sent = writeResponse(req, res, response);
  if (sent !== undefined) await sent;
  return false;
}
