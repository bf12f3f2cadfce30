/** A server for `bench/publish.ts`; its first argument names which: `<adapter>` + `floor`, `publish` or `deliver`. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import Koa from 'koa';
import type { Sidecar } from '../../src/index.ts';
import { loadBuilt } from './built.ts';
import { serve } from './contender.ts';
import { fetchServer } from './fetch-bridge.ts';

const [adapter = '', role = ''] = (process.argv[2] ?? '').split('-');

/** The hand-written router: the segments of the path, or nothing for another path or method. */
function topicOf(method: string | undefined, url: string): string | undefined {
  const question = url.indexOf('?');
  const [, version, operation, pubsub, topic] = (question === -1 ? url : url.slice(0, question)).split('/');
  if (method !== 'POST' || version !== 'v1.0' || operation !== 'publish' || pubsub !== 'pubsub') return undefined;
  return topic;
}

/** The body as one would read it by hand; of one chunk no copy is made. */
function readJson(req: IncomingMessage): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', reject);
    req.on('end', () => {
      try {
        const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
        resolve(JSON.parse(bytes.toString()));
      } catch (error) {
        reject(error as Error);
      }
    });
  });
}

/** What the frameworks do without us: route, read, parse, answer. */
const floors: Readonly<Record<string, () => Server>> = {
  node: () =>
    createServer((req, res) => {
      if (topicOf(req.method, req.url ?? '') === undefined) return void res.writeHead(404).end();
      readJson(req).then(
        () => {
          res.statusCode = 204;
          res.end();
        },
        () => res.writeHead(400).end(),
      );
    }),
  express: () =>
    createServer(
      express().use((req, res, next) => {
        if (topicOf(req.method, req.url) === undefined) return next();
        readJson(req).then(() => {
          res.statusCode = 204;
          res.end();
        }, next);
      }),
    ),
  koa: () =>
    createServer(
      new Koa()
        .use(async (context, next) => {
          if (topicOf(context.method, context.url) === undefined) return next();
          await readJson(context.req);
          context.status = 204;
        })
        .callback(),
    ),
  fetch: () =>
    fetchServer(async (request) => {
      if (topicOf(request.method, new URL(request.url).pathname) === undefined)
        return new Response(null, { status: 404 });
      await request.json();
      return new Response(null, { status: 204 });
    }),
};

/** The same frameworks with the sidecar mounted. */
async function mounted(sidecar: Sidecar): Promise<Server> {
  const { expressHandler, fetchHandler, koaHandler, nodeHandler } = await loadBuilt();
  if (adapter === 'express') return createServer(express().use(expressHandler(sidecar)));
  if (adapter === 'koa') return createServer(new Koa().use(koaHandler(sidecar)).callback());
  return adapter === 'fetch' ? fetchServer(fetchHandler(sidecar)) : createServer(nodeHandler(sidecar));
}

let delivered = 0;

async function startSidecar(): Promise<Sidecar> {
  const { Sidecar, memoryPubSub } = await loadBuilt();
  const sidecar = new Sidecar({
    appId: 'bench',
    components: [memoryPubSub('pubsub')],
    ...(role === 'deliver'
      ? {
          subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }],
          app: {
            listener: (req, res) => {
              if (req.method === 'POST') delivered++;
              else res.statusCode = 404;
              res.end();
            },
          },
        }
      : {}),
  });
  await sidecar.start();
  return sidecar;
}

const server = role === 'floor' ? floors[adapter]?.() : await mounted(await startSidecar());
// Connections lie idle while another contender has its turn.
if (server !== undefined) server.keepAliveTimeout = 0;
server?.listen(0, '127.0.0.1', () =>
  serve({ port: (server.address() as AddressInfo).port, delivered: () => delivered }),
);
