import compression from 'compression';
import express from 'express';
import { createProxyServer } from 'http-proxy-3';
import { afterEach, expect, test } from 'vitest';
import { expressHandler } from '../../src/adapters/express.ts';
import { fetchHandler } from '../../src/adapters/fetch.ts';
import { memoryPubSub, Sidecar } from '../../src/index.ts';
import { type Inspector, inspect } from '../../src/inspector/index.ts';
import { fetchListener } from '../adapters/fetch-bridge.ts';
import { type Listening, listen } from '../support/http.ts';
import { EventReader } from './event-reader.ts';
import { TOKEN } from './inspected.ts';

const toEnd: AsyncDisposable[] = [];
const untilEnd = <T extends AsyncDisposable>(one: T): T => {
  toEnd.push(one);
  return one;
};

afterEach(async () => {
  for (const one of toEnd.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

/** Where the inspector is, behind something of the application. */
type Behind = (inspector: Inspector) => Promise<string>;

const compressed: Behind = async (inspector) => {
  const app = express();
  app.use(compression({ threshold: 0 }));
  app.use('/admin/inspector', expressHandler(inspector));
  return `${untilEnd(await listen(app)).url}/admin/inspector`;
};

const proxied: Behind = async (inspector) => {
  const behind = await compressed(inspector);
  const proxy = createProxyServer({});
  const front: Listening = await listen((req, res) => {
    // As a proxy does that removes the prefix of a service.
    req.url = (req.url ?? '').replace(/^\/shop/, '');
    void proxy.web(req, res, { target: new URL(behind).origin });
  });
  return `${untilEnd(front).url}/shop/admin/inspector`;
};

const fetched: Behind = async (inspector) => `${untilEnd(await listen(fetchListener(fetchHandler(inspector)))).url}`;

test.each([
  ['compression, under a prefix', compressed],
  ['a proxy that strips a prefix', proxied],
  ['a fetch function', fetched],
])('events come at once behind %s, and the end of the reader arrives', async (_, behind) => {
  const sidecar = untilEnd(new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] }));
  await sidecar.start();
  const inspector = untilEnd(inspect(sidecar, { token: TOKEN, hosts: ['127.0.0.1'] }));
  const url = await behind(inspector);
  const open = (): Promise<EventReader> => EventReader.open(`${url}/api/v1/live`, { 'accept-encoding': 'gzip, br' });
  const reader = await open();
  expect(reader.headers['content-encoding']).toBeUndefined();
  for (let n = 0; n < 3; n++) {
    await sidecar.pubsub.publish('pubsub', 'orders', n);
    await reader.until(`message ${n} came while the stream is open`, () => reader.records.length === n + 1);
  }
  await reader[Symbol.asyncDispose]();
  // Eight places: those of readers that have gone are free again.
  for (let n = 0; n < 20; n++) {
    const next = await untilOpen(open);
    await next[Symbol.asyncDispose]();
  }
  await using last = await untilOpen(open);
  await sidecar.stop();
  await last.until('it has ended', () => last.hasEnded);
  expect(last.events.at(-1)?.name).toBe('ended');
});

async function untilOpen(open: () => Promise<EventReader>): Promise<EventReader> {
  for (let turn = 0; turn < 200; turn++) {
    try {
      return await open();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  return open();
}
