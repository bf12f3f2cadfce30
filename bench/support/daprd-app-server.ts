/** The application of `bench/daprd.ts`: takes messages and job runs, counts them, and answers a GET with 1 KB. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

const KILOBYTE = Buffer.alloc(1_024, 'k');
const SUBSCRIPTIONS = JSON.stringify([{ pubsubname: 'pubsub', topic: 'orders', route: '/orders' }]);

let delivered = 0;
let lastDeliveredAt = 0;
const server = createServer((req, res) => {
  if (req.method === 'POST') {
    delivered++;
    lastDeliveredAt = Date.now();
    req.resume().on('end', () => res.end());
  } else if (req.url === '/dapr/subscribe') {
    res.writeHead(200, { 'content-type': 'application/json' }).end(SUBSCRIPTIONS);
  } else if (req.url === '/kilobyte') {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': KILOBYTE.length }).end(KILOBYTE);
  } else {
    res.writeHead(req.url === '/healthz' ? 200 : 404).end();
  }
});
server.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
serve({ port, delivered: () => delivered, lastDeliveredAt: () => lastDeliveredAt });
