import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { memoryPubSub } from '../../src/components/memory/memory-pubsub.ts';
import { request } from '../../src/http/message.ts';
import { gate } from '../../src/kit/adapter-case.ts';
import type { SidecarOptions } from '../../src/sidecar/options.ts';
import { Sidecar } from '../../src/sidecar/sidecar.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function sidecarFor(options: SidecarOptions): Sidecar {
  return new Sidecar({ appId: 'app', components: [memoryPubSub('pubsub')], logger: silent, ...options });
}

async function statuses(sidecar: Sidecar): Promise<number[]> {
  const paths = ['/v1.0/healthz', '/v1.0/healthz/outbound'];
  return Promise.all(paths.map(async (path) => (await sidecar.handle(request('GET', path))).status));
}

async function listen(listener: RequestListener, port = 0): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

async function close(server: Server): Promise<number> {
  const { port } = server.address() as AddressInfo;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Subscribes to one topic, and tells what it got. */
function subscriber() {
  const got = gate<unknown>();
  const app = express();
  app.use(express.json({ type: 'application/*+json' }));
  app.get(
    '/sidecar/subscribe',
    (_req, res) => void res.json([{ pubsubname: 'pubsub', topic: 'topic', route: '/got' }]),
  );
  app.post('/got', (req, res) => {
    got.open((req.body as { data: unknown }).data);
    res.sendStatus(200);
  });
  return { app, got: got.opened };
}

test('an application that listens later is waited for, then asked for its subscriptions', async () => {
  const { app, got } = subscriber();
  const port = await close(await listen(app));
  const clock = virtualClock();
  await using sidecar = sidecarFor({ app: { port }, clock });
  expect(await statuses(sidecar)).toEqual([500, 500]);
  await sidecar.start();
  expect(await statuses(sidecar)).toEqual([500, 204]);
  const ready = sidecar.ready();
  await clock.advance('3s');
  expect(await statuses(sidecar)).toEqual([500, 204]);
  expect(sidecar.metadata.get().subscriptions).toEqual([]);
  const server = await listen(app, port);
  await clock.advance('3s');
  await ready;
  expect(await statuses(sidecar)).toEqual([204, 204]);
  await sidecar.pubsub.publish('pubsub', 'topic', { id: 1 });
  expect(await got).toEqual({ id: 1 });
  await sidecar.stop();
  await close(server);
});

test('an application that is up is known when start() resolves', async () => {
  const { app, got } = subscriber();
  const server = await listen(app);
  const { port } = server.address() as AddressInfo;
  await using sidecar = sidecarFor({ app: { port } });
  await sidecar.start();
  expect(await statuses(sidecar)).toEqual([204, 204]);
  await sidecar.pubsub.publish('pubsub', 'topic', 'text');
  expect(await got).toBe('text');
  await sidecar.stop();
  await close(server);
});

test('an application in this process is ready at once', async () => {
  const { app, got } = subscriber();
  await using sidecar = sidecarFor({ app: { listener: app } });
  await sidecar.start();
  await sidecar.ready();
  expect(await statuses(sidecar)).toEqual([204, 204]);
  await sidecar.pubsub.publish('pubsub', 'topic', 'text');
  expect(await got).toBe('text');
});

test('a sidecar without an application is ready when it is started', async () => {
  await using sidecar = sidecarFor({});
  await sidecar.start();
  await sidecar.ready();
  expect(await statuses(sidecar)).toEqual([204, 204]);
});

test('stopping ends the wait for an application that never comes', async () => {
  const port = await close(await listen(() => undefined));
  const sidecar = sidecarFor({ app: { port }, clock: virtualClock() });
  await sidecar.start();
  const ready = sidecar.ready();
  await sidecar.stop();
  await expect(ready).resolves.toBeUndefined();
});

test('calls over a port use connections again', async () => {
  const sockets = new Set<unknown>();
  const { app } = subscriber();
  const server = await listen((req, res) => {
    sockets.add(req.socket);
    app(req, res);
  });
  await using sidecar = sidecarFor({ app: { port: (server.address() as AddressInfo).port } });
  await sidecar.start();
  for (let id = 0; id < 20; id++) {
    const delivered = new Promise((resolve) => sidecar.events.once('messageDelivered', resolve));
    await sidecar.pubsub.publish('pubsub', 'topic', { id });
    await delivered;
  }
  // A second one, when the first is not free in the very moment of the next call.
  expect(sockets.size).toBeLessThanOrEqual(2);
  await sidecar.stop();
  await close(server);
});
