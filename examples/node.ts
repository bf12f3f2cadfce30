/**
 * node:http: the application and the sidecar's HTTP API on two ports, as with a separate sidecar process. The
 * application tells its subscriptions itself. Run with `npx tsx examples/node.ts`, or `--serve` to keep it up.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { memoryPubSub, nodeHandler, Sidecar } from 'insidecar';

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const app = createServer(async (req, res) => {
  if (req.method === 'GET' && req.url === '/sidecar/subscribe') {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify([{ pubsubname: 'pubsub', topic: 'orders', routes: { default: '/on-order' } }]));
  } else if (req.method === 'POST' && req.url === '/on-order') {
    const event = (await json(req)) as { id: string; type: string; data: unknown };
    console.log(`received ${event.type}: ${JSON.stringify(event.data)}`);
    res.end();
  } else res.writeHead(404).end();
});

const sidecar = new Sidecar({
  appId: 'orders',
  app: { port: await listen(app) },
  components: [memoryPubSub('pubsub')],
});
await sidecar.start();
const api = createServer(nodeHandler(sidecar));
const url = `http://127.0.0.1:${await listen(api)}`;

const processed = new Promise((resolve) => sidecar.events.once('messageDelivered', resolve));
const reply = await fetch(`${url}/v1.0/publish/pubsub/orders`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ id: 1 }),
});
console.log(`published: ${reply.status}`);
await processed;

if (process.argv.includes('--serve')) console.log(`the sidecar listens on ${url}; stop with Ctrl+C`);
else {
  api.close();
  api.closeAllConnections();
  await sidecar.stop();
  app.close();
  app.closeAllConnections();
}
