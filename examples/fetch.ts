/**
 * fetch: a Hono application, called without a socket in both directions. The same two lines mount the sidecar in Next
 * route handlers, Bun and Deno. Run with `npx tsx examples/fetch.ts`.
 */
import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { fetchHandler, memoryPubSub, Sidecar } from 'insidecar';

const app = new Hono();
const apiToken = process.env['SIDECAR_API_TOKEN'] ?? randomUUID();
const sidecar = new Sidecar({
  appId: 'orders',
  apiToken,
  app: { fetch: (request) => app.fetch(request) },
  components: [memoryPubSub('pubsub')],
  subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/on-order' }],
});

const api = fetchHandler(sidecar, { prefix: '/internal' });
app.all('/internal/*', (c) => api(c.req.raw));
app.post('/on-order', async (c) => {
  const event = await c.req.json<{ data: { id: number } }>();
  console.log(`received order ${event.data.id}`);
  return c.json({ status: 'SUCCESS' });
});

await sidecar.start();
const processed = new Promise((resolve) => sidecar.events.once('messageDelivered', resolve));
const reply = await app.request('/internal/v1.0/publish/pubsub/orders', {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'sidecar-api-token': apiToken },
  body: JSON.stringify({ id: 1 }),
});
console.log(`published: ${reply.status}`);
await processed;
await sidecar.stop();
