import type { RequestListener } from 'node:http';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import Koa from 'koa';
import { expressHandler, fastifyPlugin, fetchHandler, koaHandler, nodeHandler } from '../../src/index.ts';
import type { RequestHandler } from '../../src/kit/index.ts';
import { untilEnd } from '../inspector/inspected.ts';
import { fetchListener } from './fetch-bridge.ts';

/** Mounts a handler under a path; an empty one is the root. */
export type Mount = (handler: RequestHandler, path: string) => RequestListener | Promise<RequestListener>;

function expressApp(make: typeof express, useParser: boolean): Mount {
  return (handler, path) => {
    const app = make();
    if (useParser) app.use(make.json());
    app.use(path === '' ? '/' : path, expressHandler(handler));
    return app;
  };
}

/** Every adapter, as frameworks mount it. */
export const MOUNTS: Readonly<Record<string, Mount>> = {
  'node:http': (handler, prefix) => nodeHandler(handler, { prefix }),
  'Express 4': expressApp(express4 as unknown as typeof express, false),
  'Express 5': expressApp(express, false),
  'Express 5 after a body parser': expressApp(express, true),
  'Express 5, prefix of the adapter': (handler, prefix) => {
    const app = express();
    app.use(expressHandler(handler, { prefix, fallthrough: true }));
    return app;
  },
  Koa: (handler, prefix) => new Koa().use(koaHandler(handler, { prefix })).callback(),
  'Koa, mounted': (handler, path) => {
    const mounted = koaHandler(handler);
    const app = new Koa();
    app.use(async (context, next) => {
      if (!context.url.startsWith(path)) return next();
      // What koa-mount does.
      context.path = context.path.slice(path.length) || '/';
      await mounted(context, next);
    });
    return app.callback();
  },
  Fastify: async (handler, prefix) => {
    const app = fastify();
    await app.register(fastifyPlugin(handler), prefix === '' ? {} : { prefix });
    await app.ready();
    untilEnd({ [Symbol.asyncDispose]: async () => void (await app.close()) });
    return app.routing as RequestListener;
  },
  fetch: (handler, prefix) => fetchListener(fetchHandler(handler, { prefix })),
};
