import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdapterOptions, checkMounted, type RequestHandler } from '../http/message.ts';
import { handleNode, isPassedOn } from './node.ts';
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
  /** Takes control of the response from Fastify. */
  hijack(): unknown;
  /** Calls the application's not-found handler. */
  callNotFound(): unknown;
}

/** The part of a Fastify instance that the adapter uses. @public */
export interface FastifyLike {
  /** The path under which the plugin is registered. */
  readonly prefix: string;
  /** Removes all body parsers of Fastify and the application. */
  removeAllContentTypeParsers(): unknown;
  /** Accepts bodies of any type. */
  addContentTypeParser(
    contentType: '*',
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  /** Handles all methods of a path. */
  all(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}

/** A plugin for Fastify 4 or 5, typed structurally: the package itself is not needed. @public */
export type FastifySidecarPlugin = (instance: FastifyLike, options: object, done: () => void) => void;

/**
 * Mounts the sidecar in Fastify, under the prefix that it is registered with. Its routes have their own context without
 * body parsers: bodies are passed on byte for byte. Routes of the application take precedence; with `fallthrough`, the
 * application's not-found handler answers requests without a route.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', apiToken, app: { listener: app } });
 * await app.register(fastifyPlugin(sidecar), { prefix: '/internal' });
 * ```
 * @public
 */
export function fastifyPlugin(sidecar: RequestHandler, options: AdapterOptions = {}): FastifySidecarPlugin {
  checkMounted(sidecar, options);
  return (instance, _options, done) => {
    const prefix = instance.prefix + (options.prefix ?? '');
    const answer = async ({ raw: req }: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> => {
      const exchange = { req, res: reply.raw, url: req.url ?? '/', parsed: {} };
      const response = await handleNode(sidecar, exchange, { ...options, prefix });
      if (response === undefined || isPassedOn(response, options)) return reply.callNotFound();
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
