/** Who may call the application must not reach the sidecar's API through it. */
import { type IncomingHttpHeaders, IncomingMessage, type RequestListener } from 'node:http';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import Koa from 'koa';
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import {
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  koaHandler,
  nodeHandler,
  Sidecar,
  type SidecarOptions,
} from '../../src/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { bytesOf } from '../../src/kit/adapter-case.ts';
import type { RequestHandler } from '../../src/kit/index.ts';
import { listen, send } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';

type Mounted = NonNullable<SidecarOptions['app']>;
/** What is mounted: the sidecar, or an inspector of it. */
type Api = () => RequestHandler;

const MARK = 'insidecar-call';

/** Hono with the handler where one of its own ways puts it, and routes of its own behind. */
function hono(mount: (app: Hono) => void): Mounted {
  const app = new Hono();
  mount(app);
  app.all('*', (c) => c.text(`app: ${c.req.path}`, 418));
  return { fetch: (web) => app.fetch(web) };
}

async function below(api: Api, web: Request): Promise<Response> {
  return (await fetchHandler(api(), { fallthrough: true })(web)) ?? new Response('app', { status: 418 });
}

/** A listener that answers by a fetch function, as bridges between the two do. */
function bridged(fetch: (web: Request) => Promise<Response>): RequestListener {
  return (req, res) => {
    const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]);
    void fetch(new Request(`http://app${req.url}`, { method: req.method ?? 'GET', headers })).then(async (answer) => {
      res.writeHead(answer.status);
      res.end(await answer.text());
    });
  };
}

const FRAMEWORKS: Readonly<Record<string, (api: Api) => Mounted>> = {
  'node:http': (api) => ({
    listener: (req, res) =>
      nodeHandler(api(), { fallthrough: true })(req, res, () => res.writeHead(418).end(`app: ${req.url}`)),
  }),
  'node:http, with a new request object': (api) => ({
    listener: (req, res) => {
      const { method = 'GET', url = '/', headers } = req;
      const copy = Object.assign(new IncomingMessage(req.socket), { method, url, headers });
      nodeHandler(api(), { fallthrough: true })(copy, res, () => res.writeHead(418).end(`app: ${url}`));
    },
  }),
  Express: (api) => {
    const app = express();
    app.use((req, res, next) => expressHandler(api(), { fallthrough: true })(req, res, next));
    app.use((req, res) => void res.status(418).send(`app: ${req.url}`));
    return { listener: app };
  },
  Koa: (api) => {
    const app = new Koa();
    app.use((ctx, next) => koaHandler(api(), { fallthrough: true })(ctx, next));
    app.use((ctx) => {
      ctx.status = 418;
      ctx.body = `app: ${ctx.url}`;
    });
    return { listener: app };
  },
  'Fastify, behind inject()': (api) => ({
    listener: async (req, res) => {
      const app = fastify();
      await app.register(fastifyPlugin({ handle: (call) => api().handle(call) }, { fallthrough: true }));
      app.setNotFoundHandler((_request, reply) => void reply.code(418).send(`app: ${req.url}`));
      const { statusCode, body } = await app.inject({ method: 'GET', url: req.url ?? '/', headers: req.headers });
      res.writeHead(statusCode).end(body);
    },
  }),
  'a bridge from node:http to fetch': (api) => ({ listener: bridged((web) => below(api, web)) }),
  'Hono, all()': (api) => hono((app) => app.all('/v1.0/*', (c) => below(api, c.req.raw))),
  'Hono, mount()': (api) => hono((app) => app.mount('/', (web) => below(api, web))),
  'Hono, bodyLimit()': (api) =>
    hono((app) => app.use(bodyLimit({ maxSize: 1e6 })).all('/v1.0/*', (c) => below(api, c.req.raw))),
  'Hono, new Request()': (api) => hono((app) => app.all('*', (c) => below(api, new Request(c.req.raw)))),
  'fetch, with fields of its own': (api) => ({
    fetch: (web) => below(api, new Request(web.url, { method: web.method, headers: new Headers([...web.headers]) })),
  }),
};

describe.each(Object.entries(FRAMEWORKS))('an application in %s', (_name, mount) => {
  test.each<[what: string, headers: Record<string, string>]>([
    ['', {}],
    [', that names the field of the mark itself', { [MARK]: 'mine' }],
    [', that names it as one of its connection', { [MARK]: 'mine', connection: MARK }],
  ])('answers an invocation of /v1.0/metadata, and the sidecar in it does not%s', async (_what, headers) => {
    const holder: { api?: Sidecar } = {};
    await using sidecar = new Sidecar({ appId: 'shop', app: mount(() => holder.api as Sidecar) });
    holder.api = sidecar;
    await sidecar.start();
    for (const at of [sidecar, sidecar.peers]) {
      const peer = { 'sidecar-peer': '1', ...headers };
      const reply = await at.handle(request('GET', '/v1.0/invoke/shop/method/v1.0/metadata', { headers: peer }));
      expect([reply.status, String(await bytesOf(reply.body))]).toEqual([418, expect.stringContaining('app')]);
    }
    const own = await sidecar.invocation.invoke('shop', '/v1.0/metadata', { headers });
    expect([own.status, await own.text()]).toEqual([418, expect.stringContaining('app')]);
  });

  test('is not a way to the inspector, nor to the sidecar of another application', async () => {
    const holder: { api?: RequestHandler } = {};
    await using sidecar = new Sidecar({ appId: 'shop', app: mount(() => holder.api as RequestHandler) });
    await using other = new Sidecar({ appId: 'other' });
    await using inspector = inspect([sidecar, other], { access: 'open' });
    holder.api = sidecar;
    await sidecar.start();
    await other.start();
    for (const [api, path] of [
      [inspector, '/api/v1/apps'],
      [other, '/v1.0/metadata'],
    ] as const) {
      holder.api = api;
      const reply = await sidecar.invocation.invoke('shop', path);
      expect([reply.status, await reply.text()]).toEqual([418, expect.stringContaining('app')]);
    }
  });
});

describe('the mark of a call to an application in this process', () => {
  /** What the application is called with. */
  async function markedCall(headers: Record<string, string> = {}): Promise<Headers> {
    const seen: Headers[] = [];
    const app = { fetch: (web: Request) => new Response(String(seen.push(web.headers))) };
    await using sidecar = new Sidecar({ appId: 'shop', app });
    await sidecar.start();
    await (await sidecar.invocation.invoke('shop', '/x', { headers })).text();
    return seen.at(-1) as Headers;
  }

  test('is the only field that is added, and takes the place of one that came', async () => {
    const seen = await markedCall({ [MARK]: 'mine', 'x-mine': '1' });
    expect([...seen.keys()].sort()).toEqual(
      ['host', MARK, 'sidecar-callee-app-id', 'sidecar-caller-app-id', 'sidecar-caller-namespace', 'x-mine'].sort(),
    );
    expect(seen.get(MARK)).toMatch(/^[\da-f-]{36}$/);
  });

  test('does not keep the application from calling its sidecar with the fields that it got', async () => {
    const headers = Object.fromEntries(await markedCall());
    await using sidecar = new Sidecar({ appId: 'shop' });
    await sidecar.start();
    await using server = await listen(nodeHandler(sidecar));
    expect((await send(server.url, 'GET', '/v1.0/metadata', { headers })).status).toBe(200);
  });

  test('does not leave the process with an answer', async () => {
    const app = { fetch: (web: Request) => new Response('', { headers: web.headers }) };
    await using sidecar = new Sidecar({ appId: 'shop', app });
    await sidecar.start();
    const { headers } = await sidecar.invocation.invoke('shop', '/x', { headers: { 'x-mine': '1' } });
    expect([headers['x-mine'], headers[MARK]]).toEqual(['1', undefined]);
  });

  test('goes on to no other application and to no URL', async () => {
    const seen: IncomingHttpHeaders[] = [];
    await using target = await listen((req, res) => void res.end(String(seen.push(req.headers))));
    const headers = Object.fromEntries(await markedCall());
    const nameResolution = { static: { billing: target.url } };
    const httpEndpoints = [{ name: 'named', baseUrl: target.url }];
    await using sidecar = new Sidecar({ appId: 'shop', nameResolution, httpEndpoints });
    await sidecar.start();
    for (const to of ['billing', 'named', target.url])
      await (await sidecar.invocation.invoke(to, '/x', { headers })).text();
    expect(seen.map((fields) => fields[MARK])).toEqual([undefined, undefined, undefined]);
  });
});

test('equal API and app tokens are warned of, different ones are not', () => {
  const logger = new RecordingLogger();
  new Sidecar({ appId: 'shop', apiToken: 'same', appToken: 'same', logger });
  expect(logger.at('warn').map(({ message }) => message)).toEqual([expect.stringContaining('are equal')]);
  const other = new RecordingLogger();
  new Sidecar({ appId: 'shop', apiToken: 'one', appToken: 'two', logger: other });
  expect(other.at('warn')).toEqual([]);
});
