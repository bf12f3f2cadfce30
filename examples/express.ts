/**
 * Express: one application that publishes and receives. The handler fails twice; the message comes again until it
 * succeeds. Run with `npx tsx examples/express.ts`, or `--serve` to keep it up.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expressHandler, memoryPubSub, Sidecar } from 'insidecar';

const app = express();
const sidecar = new Sidecar({
  appId: 'orders',
  app: { listener: app },
  components: [memoryPubSub('pubsub')],
  subscriptions: [{ pubsubname: 'pubsub', topic: 'orders', route: '/on-order' }],
});

let deliveries = 0;
// Before the body parsers, so that a publish is passed on byte for byte.
app.use(expressHandler(sidecar, { fallthrough: true }));
app.use(express.json({ type: 'application/*+json' }));
app.post('/on-order', (req, res) => {
  deliveries++;
  const ready = deliveries === 3;
  console.log(`delivery ${deliveries} of order ${req.body.data.id}: ${ready ? 'processed' : 'not yet, answering 503'}`);
  res.status(ready ? 200 : 503).end();
});

const processed = new Promise((resolve) => sidecar.events.once('delivered', resolve));
await sidecar.start();
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const reply = await fetch(`${api}/v1.0/publish/pubsub/orders`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ id: 1 }),
});
console.log(`published: ${reply.status}`);
await processed;

if (process.argv.includes('--serve')) console.log(`listening on ${api}; stop with Ctrl+C`);
else {
  server.close();
  server.closeAllConnections();
  await sidecar.stop();
}
