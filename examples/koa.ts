/**
 * Koa: one application that publishes and receives. It publishes in code, inside one of its own routes; the HTTP API is
 * below a prefix of the same server, and for those who have the token.
 * Run with `npx tsx examples/koa.ts`, or `--serve` to keep it up.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { koaHandler, memoryPubSub, Sidecar } from 'insidecar';
import Koa from 'koa';

const app = new Koa();
const sidecar = new Sidecar({
  appId: 'orders',
  apiToken: process.env['SIDECAR_API_TOKEN'] ?? randomUUID(),
  app: { listener: app },
  components: [memoryPubSub('pubsub')],
  subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/on-order' }],
});

app.use(koaHandler(sidecar, { prefix: '/internal', fallthrough: true }));
app.use(async (ctx) => {
  if (ctx.method === 'POST' && ctx.path === '/orders') {
    const order = await json(ctx.req);
    await sidecar.pubsub.publish('pubsub', 'orders', order);
    ctx.status = 202;
  } else if (ctx.method === 'POST' && ctx.path === '/on-order') {
    const { data } = (await json(ctx.req)) as { data: unknown };
    console.log(`received ${JSON.stringify(data)}`);
    ctx.body = { status: 'SUCCESS' };
  }
});

await sidecar.start();
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const processed = new Promise((resolve) => sidecar.events.once('messageDelivered', resolve));
const reply = await fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify({ id: 1 }) });
console.log(`order taken: ${reply.status}`);
await processed;
const health = await fetch(`${url}/internal/v1.0/healthz`);
const metadata = await fetch(`${url}/internal/v1.0/metadata`);
console.log(`health: ${health.status}, metadata without the token: ${metadata.status}`);

if (process.argv.includes('--serve')) console.log(`listening on ${url}; stop with Ctrl+C`);
else {
  server.close();
  server.closeAllConnections();
  await sidecar.stop();
}
