/**
 * fetch: a Hono application, called without a socket in both directions. The same two lines mount the sidecar in Next
 * route handlers, Bun and Deno. Run with `npx tsx examples/fetch.ts`.
 */
import { Hono } from 'hono';
import { fetchHandler, memoryPubSub, Sidecar } from 'insidecar';

const app = new Hono();
const sidecar = new Sidecar({
  appId: 'orders',
  app: { fetch: (request) => app.fetch(request) },
  components: [memoryPubSub('pubsub')],
  subscriptions: [{ pubsubname: 'pubsub', topic: 'orders', route: '/on-order' }],
});

const handle = fetchHandler(sidecar);
app.all('/v1.0/*', (c) => handle(c.req.raw));
app.post('/on-order', async (c) => {
  const event = await c.req.json<{ data: { id: number } }>();
  console.log(`received order ${event.data.id}`);
  return c.json({ status: 'SUCCESS' });
});

await sidecar.start();
const processed = new Promise((resolve) => sidecar.events.once('delivered', resolve));
const reply = await app.request('/v1.0/publish/pubsub/orders', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ id: 1 }),
});
console.log(`published: ${reply.status}`);
await processed;
await sidecar.stop();
