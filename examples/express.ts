/**
 * Express: one application that publishes and receives, with the sidecar's HTTP API in its own server: below a prefix,
 * and for those who have the token. The handler fails twice; the message comes again until it succeeds. Run with `npx tsx examples/express.ts`, or `--serve` to keep it up.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expressHandler, memoryPubSub, Sidecar } from 'insidecar';

const app = express();
const apiToken = process.env['SIDECAR_API_TOKEN'] ?? randomUUID();
const sidecar = new Sidecar({
  appId: 'orders',
  apiToken,
  app: { listener: app },
  components: [memoryPubSub('pubsub')],
  subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/on-order' }],
});

let deliveries = 0;
// Before the body parsers, so that a publish is passed on byte for byte.
app.use('/internal', expressHandler(sidecar));
app.use(express.json({ type: 'application/*+json' }));
app.post('/on-order', (req, res) => {
  deliveries++;
  const ready = deliveries === 3;
  console.log(`delivery ${deliveries} of order ${req.body.data.id}: ${ready ? 'processed' : 'not yet, answering 503'}`);
  res.status(ready ? 200 : 503).end();
});

const processed = new Promise((resolve) => sidecar.events.once('messageDelivered', resolve));
await sidecar.start();
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/internal`;

const reply = await fetch(`${api}/v1.0/publish/pubsub/orders`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'sidecar-api-token': apiToken },
  body: JSON.stringify({ id: 1 }),
});
console.log(`published: ${reply.status}`);
await processed;

if (process.argv.includes('--serve')) console.log(`API at ${api}, token ${apiToken}; stop with Ctrl+C`);
else {
  server.close();
  server.closeAllConnections();
  await sidecar.stop();
}
