/** A server of node:http that answers at once, for bench/state-api.ts: the least that a sidecar on it costs. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

const [, value = ''] = process.argv.slice(2);
const body = Buffer.from(value);
/** As many as a bulk read asks for. */
const many = Buffer.from(
  JSON.stringify(Array.from({ length: 100 }, (_, key) => ({ key, data: JSON.parse(value || '0') }))),
);

const server = createServer((req, res) => {
  if (req.method === 'GET') return void res.setHeader('content-type', 'application/json').end(body);
  req.resume().on('end', () => {
    if (req.url?.endsWith('/bulk') === true) res.setHeader('content-type', 'application/json').end(many);
    else res.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
