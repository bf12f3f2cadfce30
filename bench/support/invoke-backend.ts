/** The application behind every proxy of `bench/invoke.ts`: 1 KB for a GET, a short answer for a body, 1 GB for `/big`. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

const KILOBYTE = Buffer.alloc(1_024, 'k');
const CHUNK = Buffer.alloc(64 * 1_024, 'c');
const BIG_BYTES = 1_024 ** 3;

function sendBig(res: ServerResponse): void {
  let left = BIG_BYTES / CHUNK.length;
  const more = (): void => {
    while (left > 0) {
      left--;
      if (!res.write(CHUNK)) return void res.once('drain', more);
    }
    res.end();
  };
  res.writeHead(200, { 'content-type': 'application/octet-stream' });
  more();
}

const server = createServer((req, res) => {
  if (req.url === '/big' && req.method === 'GET') return sendBig(res);
  if (req.method === 'GET') {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': KILOBYTE.length });
    return void res.end(KILOBYTE);
  }
  req.resume().on('end', () => res.writeHead(200, { 'content-length': 2 }).end('ok'));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
