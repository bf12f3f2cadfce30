// The shop: asks the warehouse for the price of each order, publishes the order, waits until it is shipped, and ends.
// Nothing but Node and the HTTP API of its sidecar.
import { once } from 'node:events';
import { createServer } from 'node:http';

const sidecar = `http://127.0.0.1:${process.env.DAPR_HTTP_PORT}`;
const shipped = new Map();

async function bodyOf(req) {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

const server = createServer(async (req, res) => {
  if (req.url === '/dapr/subscribe') {
    const subscription = { pubsubname: 'pubsub', topic: 'shipped', route: '/shipped' };
    res.setHeader('content-type', 'application/json').end(JSON.stringify([subscription]));
  } else if (req.url === '/shipped') {
    const { data } = await bodyOf(req);
    res.end();
    shipped.get(data.id)?.(data);
  } else {
    res.writeHead(404).end();
  }
});
server.listen(Number(process.env.APP_PORT), '127.0.0.1');
await once(server, 'listening');

async function post(path, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(sidecar + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

while ((await fetch(`${sidecar}/v1.0/healthz`)).status !== 204) await new Promise((go) => setTimeout(go, 50));

for (const order of [
  { id: 1, item: 'kettle' },
  { id: 2, item: 'teapot' },
]) {
  const { price } = await post('/v1.0/invoke/warehouse/method/price', order);
  console.log(`order ${order.id}: a ${order.item} for ${price} euros`);
  const arrival = new Promise((resolve) => shipped.set(order.id, resolve));
  await post('/v1.0/publish/pubsub/orders', order);
  const { by } = await arrival;
  console.log(`order ${order.id}: shipped by ${by}`);
}
process.exit(0);
