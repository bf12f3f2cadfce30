/**
 * The floor of `bench/actors.ts`: a server of node:http that does no more than a sidecar must. A call of an actor becomes a
 * request to the application by undici, whose port is the argument; everything else is read and answered with 204.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { serve } from './contender.ts';

const [, appPort = ''] = process.argv.slice(2);
const app = new Pool(`http://127.0.0.1:${appPort}`);
const PREFIX = '/v1.0';

async function call(req: IncomingMessage, res: ServerResponse, body: Buffer): Promise<void> {
  const { 'content-type': type = 'application/json' } = req.headers;
  const path = (req.url ?? '').slice(PREFIX.length);
  const answer = await app.request({ method: 'PUT', path, headers: { 'content-type': type }, body });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  res.writeHead(answer.statusCode, { 'content-length': bytes.length }).end(bytes);
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => void chunks.push(chunk));
  req.on('end', () => {
    if (req.url?.includes('/method/')) void call(req, res, Buffer.concat(chunks));
    else res.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
