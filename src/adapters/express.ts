import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdapterOptions, checkMounted, type RequestHandler } from '../http/message.ts';
import { answerNode } from './node.ts';
import type { ParsedBody } from './parsed-body.ts';

/** A middleware for Express 4 or 5, typed structurally: the package itself is not needed. @public */
export type ExpressMiddleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/**
 * Mounts the sidecar in Express 4 or 5, before or after body parsers, at the root or under a path.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', apiToken, app: { listener: app } });
 * app.use('/internal', expressHandler(sidecar));
 * ```
 * @public
 */
export function expressHandler(sidecar: RequestHandler, options: AdapterOptions = {}): ExpressMiddleware {
  checkMounted(sidecar, options);
  return (req, res, next) => {
    // Express has removed the mount path from `req.url`; its parsers leave their results on `req`.
    answerNode(sidecar, { req, res, url: req.url ?? '/', parsed: req as ParsedBody }, options, next);
  };
}
