/** A contender of `bench/deliver.ts`; its first argument names which, its second is the application's port, if any. */
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import { EventEmitter as EventEmitter3 } from 'eventemitter3';
import { Pool } from 'undici';
import type { Sidecar, SidecarOptions } from '../../src/index.ts';
import { type Insidecar, loadBuilt, loadEmbedded, loadInspector, loadOtel } from './built.ts';
import { serve } from './contender.ts';
import { PAYLOAD } from './payload.ts';

const [, , name = '', appPort = ''] = process.argv;
const data: unknown = JSON.parse(PAYLOAD);

/** How many messages are published before the next ones wait until these have arrived. */
const BURST = 100;

let delivered = 0;
let arrived: (() => void) | undefined;

/** What every receiver does with a message. */
function receive(): void {
  if (++delivered % BURST === 0) arrived?.();
}

async function runBursts(publish: () => unknown, seconds: number): Promise<number> {
  const before = delivered;
  const deadline = performance.now() + seconds * 1_000;
  while (performance.now() < deadline) {
    const done = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    for (let sent = 0; sent < BURST; sent++) await publish();
    await done;
  }
  return delivered - before;
}

function inProcess(publish: () => unknown): void {
  serve({ run: (seconds) => runBursts(publish, seconds), delivered: () => delivered });
}

function served(server: Server): void {
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
}

/** An emitter whose listener's promise is awaited: the object itself goes through, and nothing is kept. */
function throughEmitter(emitter: {
  on(event: string, listener: (value: unknown, done: (result: Promise<void>) => void) => void): unknown;
  emit(event: string, value: unknown, done: (result: Promise<void>) => void): boolean;
}): void {
  const handler = async (_value: unknown): Promise<void> => receive();
  emitter.on('orders', (value, done) => done(handler(value)));
  inProcess(async () => {
    let result: Promise<void> | undefined;
    emitter.emit('orders', data, (promise) => {
      result = promise;
    });
    await result;
  });
}

/** The least that a queue of bytes does: write JSON, queue it, read it, call and await the handler, one at a time. */
function throughQueue(): void {
  const handler = async (_value: unknown): Promise<void> => receive();
  const queue: Buffer[] = [];
  let running = false;
  const drain = async (): Promise<void> => {
    running = true;
    for (let bytes = queue.shift(); bytes !== undefined; bytes = queue.shift())
      await handler(JSON.parse(bytes.toString()));
    running = false;
  };
  inProcess(async () => {
    queue.push(Buffer.from(JSON.stringify(data)));
    if (!running) void drain();
  });
}

async function sidecarWith(options: SidecarOptions): Promise<{ sidecar: Sidecar; built: Insidecar }> {
  const built = await loadBuilt();
  const sidecar = new built.Sidecar({ appId: 'bench', components: [built.memoryPubSub('pubsub')], ...options });
  await sidecar.start();
  await sidecar.ready();
  return { sidecar, built };
}

const subscriptions = [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }];

/** With the SDK of OpenTelemetry: metrics, and spans of which a part is recorded; a batch of them is thrown away. */
async function observed(ratio: number): Promise<void> {
  const traces = await import('@opentelemetry/sdk-trace-node');
  const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } = await import(
    '@opentelemetry/sdk-metrics'
  );
  const exporter: SpanExporter = {
    export: (_spans, done) => done({ code: 0 }),
    shutdown: () => Promise.resolve(),
  };
  const provider = new traces.NodeTracerProvider({
    sampler: new traces.ParentBasedSampler({ root: new traces.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new traces.BatchSpanProcessor(exporter, { maxQueueSize: 100_000 })],
  });
  provider.register();
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meterProvider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: metricExporter })],
  });
  const { openTelemetry } = await loadOtel();
  const { sidecar } = await sidecarWith({ telemetry: openTelemetry({ meterProvider }) });
  await sidecar.pubsub.subscribe('pubsub', 'orders', receive);
  inProcess(() => sidecar.pubsub.publish('pubsub', 'orders', data));
}

/** With an inspector that nobody looks at, or that records all the same. */
async function inspected(record: 'watched' | 'always'): Promise<void> {
  const { sidecar } = await sidecarWith({});
  const { inspect } = await loadInspector();
  inspect(sidecar, { access: 'open', record });
  await sidecar.pubsub.subscribe('pubsub', 'orders', receive);
  inProcess(() => sidecar.pubsub.publish('pubsub', 'orders', data));
}

const contenders: Readonly<Record<string, () => void | Promise<void>>> = {
  'node:events': () => throughEmitter(new EventEmitter()),
  eventemitter3: () => throughEmitter(new EventEmitter3()),
  queue: throughQueue,
  function: async () => {
    const { sidecar } = await sidecarWith({});
    await sidecar.pubsub.subscribe('pubsub', 'orders', receive);
    inProcess(() => sidecar.pubsub.publish('pubsub', 'orders', data));
  },
  counting: async () => {
    const { sidecar } = await sidecarWith({});
    let [published, settled] = [0, 0];
    sidecar.events.on('messagePublished', () => void published++);
    sidecar.events.on('messageDelivered', () => void settled++);
    await sidecar.pubsub.subscribe('pubsub', 'orders', receive);
    inProcess(() => sidecar.pubsub.publish('pubsub', 'orders', data));
  },
  inspector: () => inspected('watched'),
  recording: () => inspected('always'),
  'otel-1': () => observed(1),
  'otel-0.01': () => observed(0.01),
  listener: async () => {
    const { sidecar } = await sidecarWith({
      subscriptions,
      app: {
        listener: (req, res) => {
          if (req.method === 'POST') receive();
          else res.statusCode = 404;
          res.end();
        },
      },
    });
    inProcess(() => sidecar.pubsub.publish('pubsub', 'orders', data));
  },
  /** Two hops by hand: answers 204, then posts the same bytes to the application, 10 at a time as the sidecar does. */
  'http-by-hand': () => {
    const pool = new Pool(`http://127.0.0.1:${appPort}`, { connections: 10 });
    const forward = async (body: Buffer): Promise<void> => {
      const headers = { 'content-type': 'application/json' };
      const response = await pool.request({ method: 'POST', path: '/orders', headers, body });
      await response.body.dump();
    };
    served(
      createServer((req, res) => {
        const chunks: Buffer[] = [];
        req.on('data', (chunk: Buffer) => chunks.push(chunk));
        req.on('end', () => {
          const body = Buffer.concat(chunks);
          JSON.parse(body.toString());
          res.statusCode = 204;
          res.end();
          void forward(body);
        });
      }),
    );
  },
  http: async () => {
    const { sidecar, built } = await sidecarWith({ subscriptions, app: { port: Number(appPort) } });
    served(createServer(built.nodeHandler(sidecar)));
  },
  'http-durable': async () => {
    const { durablePubSub } = await loadBuilt();
    const { embeddedState } = await loadEmbedded();
    const path = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
    const app = { port: Number(appPort) };
    const stored = { components: [durablePubSub('pubsub')], state: embeddedState({ path }) };
    const { sidecar, built } = await sidecarWith({ subscriptions, app, ...stored });
    process.on('exit', () => rmSync(path, { recursive: true, force: true }));
    served(createServer(built.nodeHandler(sidecar)));
  },
};

await contenders[name]?.();
