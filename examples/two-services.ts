/**
 * Two services, each with its sidecar: the shop calls billing by its name. Billing lets the shop charge, and nobody do
 * anything else. Run with `npx tsx examples/two-services.ts`.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { nodeHandler, Sidecar } from 'insidecar';

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Both services have it; in production it comes from the environment.
const identity = { keys: [{ secret: 'at least thirty-two bytes of a secret' }] };

const billing = new Sidecar({
  appId: 'billing',
  app: {
    listener: async (req, res) => {
      if (req.url !== '/charge') return void res.writeHead(404).end();
      const { orderId } = (await json(req)) as { orderId: number };
      console.log(`billing: ${req.headers['sidecar-caller-app-id']} charges order ${orderId}`);
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ orderId, charged: true }));
    },
  },
  identity,
  accessControl: {
    defaultAction: 'deny',
    policies: [
      {
        appId: 'shop',
        namespace: 'default',
        trustDomain: 'public',
        defaultAction: 'deny',
        operations: [{ name: '/charge', httpVerb: ['POST'], action: 'allow' }],
      },
    ],
  },
});
const peers = createServer(nodeHandler(billing.peers));

const shop = new Sidecar({ appId: 'shop', identity, nameResolution: { static: { billing: await listen(peers) } } });
const api = createServer(nodeHandler(shop));
const url = await listen(api);

await Promise.all([billing.start(), shop.start()]);

const charged = await shop.invocation.invoke('billing', 'charge', { method: 'POST', body: { orderId: 1 } });
console.log(`in code: ${charged.status} ${await charged.text()}`);

const headers = { 'sidecar-app-id': 'billing', 'content-type': 'application/json' };
const overHttp = await fetch(`${url}/charge`, { method: 'POST', headers, body: JSON.stringify({ orderId: 2 }) });
console.log(`over HTTP: ${overHttp.status} ${await overHttp.text()}`);

const denied = await shop.invocation.invoke('billing', 'charge', { method: 'DELETE' });
console.log(`not allowed: ${denied.status}`);
denied.discard();

for (const server of [api, peers]) {
  server.close();
  server.closeAllConnections();
}
await Promise.all([shop.stop(), billing.stop()]);
