import Koa from 'koa';
import { koaHandler } from '../../src/adapters/koa.ts';
import { behind, conforms, parse, serve } from './serve.ts';

conforms((handler, { bodyParser, mountPath, ...options } = {}) => {
  const app = new Koa();
  app.silent = true;
  if (bodyParser !== undefined)
    app.use(async (context, next) => {
      const reads = bodyParser !== 'json' || /json/.test(context.get('content-type'));
      if (reads && context.get('content-length') !== '0')
        Object.assign(context.request, await parse(context.req, bodyParser));
      await next();
    });
  const sidecar = koaHandler(handler, options);
  app.use(async (context, next) => {
    const { url } = context;
    if (mountPath === undefined) return sidecar(context, next);
    if (!url.startsWith(`${mountPath}/`)) return next();
    // What koa-mount does.
    context.url = url.slice(mountPath.length);
    await sidecar(context, next);
  });
  app.use((context) => {
    context.respond = false;
    behind(context.req, context.res);
  });
  return serve(app.callback());
});
