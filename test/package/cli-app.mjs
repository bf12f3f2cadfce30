// An application beside `insidecar run`: publishes through its sidecar, receives what it published, ends.
import { once } from 'node:events';
import { createServer } from 'node:http';

const server = createServer((req, res) => {
  if (req.url === '/dapr/subscribe') {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify([{ pubsubname: 'pubsub', topic: 'orders', route: '/orders' }]));
  } else if (req.url === '/orders') {
    res.end();
    console.log(`command on Node ${process.version}: published and received`);
    process.exit(0);
  } else {
    res.writeHead(404).end();
  }
});
await once(server.listen(Number(process.env.APP_PORT), '127.0.0.1'), 'listening');
const sidecar = `http://127.0.0.1:${process.env.DAPR_HTTP_PORT}`;
while ((await fetch(`${sidecar}/v1.0/healthz`)).status !== 204) await new Promise((go) => setTimeout(go, 50));
await fetch(`${sidecar}/v1.0/publish/pubsub/orders`, { method: 'POST', body: 'order 1' });
