import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdapterOptions, checkMounted, type RequestHandler } from '../http/message.ts';
import { handleNode, isPassedOn } from './node.ts';
import { writeResponse } from './node-response.ts';
import type { ParsedBody } from './parsed-body.ts';

/** The part of a Koa context that the adapter uses. @public */
export interface KoaContextLike {
  /** Node's request. */
  readonly req: IncomingMessage;
  /** Node's response. */
  readonly res: ServerResponse;
  /** Koa's request, where body parsers leave `body` and `rawBody`. */
  readonly request: object;
  /** The URL without the path that `koa-mount` removed. */
  readonly url: string;
  /** The URL as it was received. */
  readonly originalUrl: string;
  /** `false` keeps Koa from responding. */
  respond?: boolean | undefined;
}

/** A middleware for Koa 2 or 3, typed structurally: the package itself is not needed. @public */
export type KoaMiddleware = (context: KoaContextLike, next: () => Promise<unknown>) => Promise<void>;

/**
 * Mounts the sidecar in Koa.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', apiToken, app: { listener: app } });
 * app.use(koaHandler(sidecar, { prefix: '/internal', fallthrough: true }));
 * ```
 * @public
 */
export function koaHandler(sidecar: RequestHandler, options: AdapterOptions = {}): KoaMiddleware {
  checkMounted(sidecar, options);
  return async (context, next) => {
    const { req, res, url, originalUrl, request, respond } = context;
    context.respond = false;
    const exchange = { req, res, url, originalUrl, parsed: request as ParsedBody };
    const response = await handleNode(sidecar, exchange, options);
    if (response !== undefined && !isPassedOn(response, options)) return writeResponse(req, res, response);
    context.respond = respond ?? true;
    await next();
  };
}
