/**
 * The application of `bench/actors.ts`: hosts actors of one type, answers each call, `where` with its process, and counts the
 * ticks of reminders.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

const CONFIGURATION = JSON.stringify({ entities: ['Bench'], actorIdleTimeout: '1h' });

let delivered = 0;
let lastDeliveredAt = 0;
const server = createServer((req, res) => {
  const { method, url = '' } = req;
  if (method === 'PUT') {
    if (url.includes('/method/remind/')) {
      delivered++;
      lastDeliveredAt = Date.now();
    }
    const answer = url.endsWith('/where') ? String(process.pid) : undefined;
    req.resume().on('end', () => res.end(answer));
  } else if (url === '/dapr/config') {
    res.writeHead(200, { 'content-type': 'application/json' }).end(CONFIGURATION);
  } else {
    res.writeHead(url === '/healthz' || method === 'DELETE' ? 200 : 404).end();
  }
});
server.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
serve({ port, delivered: () => delivered, lastDeliveredAt: () => lastDeliveredAt });
