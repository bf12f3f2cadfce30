import express, { type Express, type RequestHandler } from 'express';

/**
 * The orders service: takes orders from its customers and tells the world, over the sidecar's HTTP API. It may have an
 * inspector.
 */
export function ordersService(sidecarUrl: () => string, inspector?: RequestHandler): Express {
  const app = express();
  if (inspector !== undefined) app.use('/inspector', inspector);
  app.use(express.json());
  app.post('/orders', async (req, res) => {
    const publish = await fetch(`${sidecarUrl()}/v1.0/publish/pubsub/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(req.body),
    });
    res.status(publish.ok ? 202 : 502).end();
  });
  return app;
}

/** How often the shipping service is out of order before it takes the order with the ID `flaky`. */
const FAILURES_OF_FLAKY = 2;

/** The shipping service: subscribes to orders. It fails for some of them, in ways that its sidecar deals with. */
export function shippingService(): Express {
  const app = express();
  let failures = 0;
  app.use(express.json({ type: ['application/json', 'application/*+json'] }));

  app.get('/sidecar/subscribe', (_req, res) => {
    res.json([
      {
        pubsubname: 'pubsub',
        topic: 'orders',
        routes: {
          rules: [{ match: 'event.type == "order.cancelled"', path: '/cancellations' }],
          default: '/orders',
        },
        deadLetterTopic: 'orders-dead',
      },
      { pubsubname: 'pubsub', topic: 'orders-dead', routes: { default: '/dead-orders' } },
    ]);
  });

  app.post('/orders', (req, res) => {
    const { id } = req.body.data;
    if (id === 'flaky' && failures++ < FAILURES_OF_FLAKY) return void res.status(503).end();
    res.json({ status: id === 'broken' ? 'RETRY' : 'SUCCESS' });
  });
  app.post('/cancellations', (_req, res) => void res.end());
  app.post('/dead-orders', (_req, res) => void res.end());
  return app;
}
