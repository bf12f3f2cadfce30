import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { expressHandler } from '../../src/adapters/express.ts';
import { fastifyPlugin } from '../../src/adapters/fastify.ts';
import { fetchHandler } from '../../src/adapters/fetch.ts';
import { koaHandler } from '../../src/adapters/koa.ts';
import { nodeHandler } from '../../src/adapters/node.ts';
import { AppChannel, type AppChannelOptions, type AppTarget, openTransport } from '../../src/app/channel.ts';
import type { RequestListener } from '../../src/app/in-process.ts';
import type { Handler } from '../../src/http/message.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';

/** A way to an application, open. */
export interface OpenChannel extends AsyncDisposable {
  readonly channel: AppChannel;
}

/** The ways to a request listener. */
export const listenerWays: Readonly<
  Record<string, (listener: RequestListener) => Promise<[AppTarget, () => Promise<void>]>>
> = {
  'over a port': async (listener) => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    return [{ port: (server.address() as AddressInfo).port }, close];
  },
  'in this process': async (listener) => [{ listener }, async () => undefined],
};

/** The same application as each kind that the sidecar takes. */
export const appWays: Readonly<Record<string, (app: Handler) => Promise<[AppTarget, () => Promise<void>]>>> = {
  'over a port': (handle) => listenerWays['over a port']!(nodeHandler({ handle })),
  'node listener': async (handle) => [{ listener: nodeHandler({ handle }) }, async () => undefined],
  'Express 5': async (handle) => [{ listener: express().use(expressHandler({ handle })) }, async () => undefined],
  'Express 4': async (handle) => [{ listener: express4().use(expressHandler({ handle })) }, async () => undefined],
  Koa: async (handle) => [{ listener: new Koa().use(koaHandler({ handle })) }, async () => undefined],
  Fastify: async (handle) => {
    const app = fastify();
    await app.register(fastifyPlugin({ handle }));
    return [{ listener: app }, () => app.close()];
  },
  'fetch function': async (handle) => [{ fetch: fetchHandler({ handle }) }, async () => undefined],
  Hono: async (handle) => {
    const app = new Hono();
    app.onError(() => new Response(null, { status: 500 }));
    const answer = fetchHandler({ handle });
    app.all('*', (context) => answer(context.req.raw));
    return [{ fetch: app.fetch as (request: Request) => Response | Promise<Response> }, async () => undefined];
  },
};

/** Opens a channel; closed with its application by `await using`. */
export async function open<App>(
  way: ((app: App) => Promise<[AppTarget, () => Promise<void>]>) | undefined,
  app: App,
  options: Partial<AppChannelOptions> = {},
): Promise<OpenChannel> {
  if (way === undefined) throw new Error('there is no such way to an application');
  const [target, close] = await way(app);
  const channel = new AppChannel(openTransport(target), { clock: virtualClock(), ...options });
  return {
    channel,
    async [Symbol.asyncDispose]() {
      await channel.close();
      await close();
    },
  };
}
