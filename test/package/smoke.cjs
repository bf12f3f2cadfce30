// The same program for require(); smoke.mjs hands in what it imported.
const { once } = require('node:events');

exports.smoke = async ({ assert, createServer, memoryPubSub, nodeHandler, Sidecar, testRequest, virtualClock }) => {
  const received = [];
  const app = (req, res) => {
    const chunks = [];
    req.on('data', (chunk) => chunks.push(chunk));
    req.on('end', () => {
      received.push(JSON.parse(Buffer.concat(chunks)).data);
      res.end();
    });
  };
  const sidecar = new Sidecar({
    appId: 'smoke',
    app: { listener: (req, res) => (req.method === 'GET' ? res.writeHead(404).end() : app(req, res)) },
    components: [memoryPubSub('pubsub')],
    subscriptions: [
      {
        pubsubName: 'pubsub',
        topic: 'orders',
        routes: { rules: [{ match: 'event.data.id == 2', path: '/two' }], default: '/one' },
      },
    ],
  });
  await sidecar.start();
  const server = createServer(nodeHandler(sidecar)).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const both = new Promise((resolve) =>
    sidecar.events.on('messageDelivered', () => received.length === 2 && resolve()),
  );
  const { status } = await fetch(`http://127.0.0.1:${server.address().port}/v1.0/publish/pubsub/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":1}',
  });
  assert.equal(status, 204);
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 2 });
  await both;
  assert.deepEqual(received, [{ id: 1 }, { id: 2 }]);
  assert.equal((await sidecar.handle(testRequest('GET', '/v1.0/healthz'))).status, 204);
  assert.equal(typeof virtualClock().now(), 'number');

  server.close();
  server.closeAllConnections();
  await sidecar.stop();
};

if (require.main === module) {
  const parts = {
    assert: require('node:assert/strict'),
    createServer: require('node:http').createServer,
    ...require('insidecar'),
    ...require('insidecar/testing'),
  };
  exports
    .smoke(parts)
    .then(() => console.log(`require on Node ${process.version}: started, published, received, stopped`));
}
