/** A proxy for `bench/invoke.ts`; its first argument names which, its second is the port of the application. */
import {
  Agent,
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import fastifyProxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { createProxyServer } from 'http-proxy-3';
import { Pool } from 'undici';
import { loadBuilt } from './built.ts';
import { serve } from './contender.ts';

const [name = '', appPort = ''] = process.argv.slice(2);
const target = `http://127.0.0.1:${appPort}`;

function listening(listener: RequestListener): void {
  const server = createServer(listener);
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
}

/** What a proxy by hand does about header fields: as little as it must. */
function withoutConnection(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const { connection: _connection, host: _host, 'keep-alive': _keep, 'transfer-encoding': _coding, ...rest } = headers;
  return rest as Record<string, string | string[]>;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function dispatchTo(pool: Pool, req: IncomingMessage, res: ServerResponse): void {
  pool.dispatch(
    {
      method: (req.method ?? 'GET') as 'GET',
      path: req.url ?? '/',
      headers: withoutConnection(req.headers),
      body: hasBody(req) ? req : null,
    },
    {
      onRequestStart(controller) {
        res.once('close', () => res.writableFinished || controller.abort(new Error('gone')));
      },
      onResponseStart(controller, status, headers) {
        res.writeHead(status, withoutConnection(headers as IncomingMessage['headers']));
        res.on('drain', () => controller.resume());
      },
      onResponseData(controller, chunk) {
        if (!res.write(chunk)) controller.pause();
      },
      onResponseEnd: () => void res.end(),
      onResponseError: (_controller, error) => void res.destroy(error),
    },
  );
}

const proxies: Readonly<Record<string, () => void | Promise<void>>> = {
  undici: () => {
    const pool = new Pool(target);
    listening((req, res) => dispatchTo(pool, req, res));
  },
  http: () => {
    const agent = new Agent({ keepAlive: true });
    listening((req, res) => {
      const { method, url: path, headers } = req;
      const outgoing = request({ agent, port: Number(appPort), method, path, headers: withoutConnection(headers) });
      outgoing.on('response', (answer) => {
        res.writeHead(answer.statusCode ?? 502, withoutConnection(answer.headers));
        answer.pipe(res);
      });
      outgoing.on('error', (error) => res.destroy(error));
      req.pipe(outgoing);
    });
  },
  'http-proxy-3': () => {
    const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true }) });
    listening((req, res) => void proxy.web(req, res));
  },
  fastify: async () => {
    const app = fastify();
    await app.register(fastifyProxy, { upstream: target });
    await app.listen({ port: 0, host: '127.0.0.1' });
    app.server.keepAliveTimeout = 60_000;
    serve({ port: (app.server.address() as AddressInfo).port });
  },
  insidecar: async () => {
    const { nodeHandler, Sidecar } = await loadBuilt();
    const sidecar = new Sidecar({ appId: 'bench', app: { port: Number(appPort) } });
    await sidecar.start();
    listening(nodeHandler(sidecar));
  },
};

await proxies[name]?.();
