import { Hono } from 'hono';
import { fetchHandler } from '../../src/adapters/fetch.ts';
import { fetchListener } from './fetch-bridge.ts';
import { conforms, serve } from './serve.ts';

conforms(
  (handler, { prefix, fallthrough } = {}) => {
    const app = new Hono();
    app.onError(() => new Response(null, { status: 500 }));
    const sidecar = fetchHandler(handler, { ...(prefix === undefined ? {} : { prefix }), fallthrough: true });
    const always = fetchHandler(handler, prefix === undefined ? {} : { prefix });
    app.use(async (context, next) => {
      const response = await (fallthrough ? sidecar(context.req.raw) : always(context.req.raw));
      return response ?? next();
    });
    app.all('*', async ({ req }) => {
      const target = req.url.slice(new URL(req.url).origin.length);
      return new Response(`${req.method} ${target} ${await req.text()}`, { status: 299 });
    });
    return serve(fetchListener(async (request) => app.fetch(request)));
  },
  ['body-parser', 'mount-path'],
);
