/** A server of node:http that answers at once, for bench/state-api.ts: the least that a sidecar on it costs. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

const [, value = ''] = process.argv.slice(2);
const body = Buffer.from(value);

const server = createServer((req, res) => {
  if (req.method === 'GET') return void res.setHeader('content-type', 'application/json').end(body);
  req.resume().on('end', () => res.writeHead(204).end());
});
server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
