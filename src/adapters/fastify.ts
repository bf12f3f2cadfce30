import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdapterOptions, checkAdapterOptions, type RequestHandler } from '../http/message.ts';
import { handleNode } from './node.ts';
import { writeResponse } from './node-response.ts';

/** The part of a Fastify request that the adapter uses. @public */
export interface FastifyRequestLike {
  /** Node's request. */
  readonly raw: IncomingMessage;
}

/** The part of a Fastify reply that the adapter uses. @public */
export interface FastifyReplyLike {
  /** Node's response. */
  readonly raw: ServerResponse;
  /** Leaves the answer to the adapter. */
  hijack(): unknown;
  /** Leaves the request to the application's own handler of what is not found. */
  callNotFound(): unknown;
}

/** The part of a Fastify instance that the adapter uses. @public */
export interface FastifyLike {
  /** The path below which the plugin is registered. */
  readonly prefix: string;
  /** Takes the parsers away that Fastify and the application have for bodies. */
  removeAllContentTypeParsers(): unknown;
  /** Takes bodies of any type. */
  addContentTypeParser(
    contentType: '*',
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  /** Answers requests of a path with any method. */
  all(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}

/** A plugin of Fastify 4 or 5, by shape: the package itself is not needed. @public */
export type FastifySidecarPlugin = (instance: FastifyLike, options: object, done: () => void) => void;

/**
 * Mounts the sidecar in Fastify, below the prefix that it is registered with. Its routes are in a context of their own,
 * in which nobody parses bodies: they are passed on byte for byte. Routes of the application go before it; with
 * `fallthrough`, what is no route of either is answered by the application's own handler of what is not found.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', apiToken, app: { listener: app } });
 * await app.register(fastifySidecar(sidecar), { prefix: '/internal' });
 * ```
 * @public
 */
export function fastifySidecar(sidecar: RequestHandler, options: AdapterOptions = {}): FastifySidecarPlugin {
  checkAdapterOptions(options);
  return (instance, _options, done) => {
    const prefix = instance.prefix + (options.prefix ?? '');
    const answer = async ({ raw: req }: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> => {
      const exchange = { req, res: reply.raw, url: req.url ?? '/', parsed: {} };
      const response = await handleNode(sidecar, exchange, { ...options, prefix });
      if (response === undefined || (response.unrouted && options.fallthrough)) return reply.callNotFound();
      reply.hijack();
      return writeResponse(req, reply.raw, response);
    };
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', (_request, _payload, taken) => taken(null));
    if (instance.prefix !== '') instance.all('', answer);
    instance.all('/*', answer);
    done();
  };
}
