import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import type * as Insidecar from '../src/index.ts';
import { listen } from './support/http.ts';

const outside = createRequire(import.meta.url);

/** What a test finds under Jest with jsdom: a realm of its own, a browser's timers, and few of Node's globals. */
function browserRealm(): object {
  const timer = (begin: (callback: () => void, delayMs?: number) => NodeJS.Timeout) => {
    return (callback: () => void, delayMs?: number) => Number(begin(callback, delayMs));
  };
  const { console, process, URL, URLSearchParams, AbortController, AbortSignal, performance, queueMicrotask } =
    globalThis;
  const shared = { Buffer, console, process, URL, URLSearchParams, AbortController, AbortSignal, performance };
  const timers = { setTimeout: timer(setTimeout), setInterval: timer(setInterval), clearTimeout, clearInterval };
  return createContext({ ...shared, ...timers, queueMicrotask });
}

/** Loads files of the built package in a realm, and all others outside of it, as Jest does with Node's modules. */
function loader(realm: object): (file: string) => unknown {
  const modules = new Map<string, { exports: unknown }>();
  return function load(file) {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    const code = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'utf8')}\n})`;
    const run = runInContext(code, realm, { filename: file }) as (...args: unknown[]) => void;
    const require = (id: string): unknown => (id.startsWith('.') ? load(resolve(dirname(file), id)) : outside(id));
    run(module.exports, Object.assign(require, { resolve: outside.resolve }), module, file, dirname(file));
    return module.exports;
  };
}

test("a sidecar calls its application and keeps messages in a browser's realm, as under jsdom", async () => {
  const load = loader(browserRealm());
  // The cast is safe: it is what the file exports.
  const { durablePubSub, Sidecar } = load(resolve('dist/index.cjs')) as typeof Insidecar;
  const bodies: string[] = [];
  await using server = await listen((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    req.on('end', () => {
      if (req.method !== 'GET') bodies.push(body);
      res.end(req.url === '/sidecar/subscribe' ? '[]' : '{}');
    });
  });
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const sidecar = new Sidecar({
    appId: 'orders',
    app: { port: server.port },
    components: [durablePubSub('pubsub')],
    subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }],
    logger,
  });
  await sidecar.start();
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  const reply = await sidecar.invocation.invoke('orders', 'pay', { method: 'POST', body: 'ten' });
  expect({ status: reply.status, text: await reply.text() }).toEqual({ status: 200, text: '{}' });
  await expect.poll(() => bodies).toEqual(expect.arrayContaining([expect.stringContaining('"data":{"id":1}'), 'ten']));
  await sidecar.stop();
});
