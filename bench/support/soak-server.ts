/** The sidecar of `bench/soak.ts` with all of its blocks busy; its arguments are the application's port and a directory. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { loadBuilt, loadEmbedded } from './built.ts';

/** What the process holds, after a collection of garbage. Sizes are in MiB. */
export interface SoakSample {
  readonly heap: number;
  readonly buffers: number;
  readonly resident: number;
  /** Timers, sockets and the like that keep it alive. */
  readonly handles: number;
  readonly loopDelayP99Ms: number;
}

const MIB = 2 ** 20;
const [appPort = '', path = ''] = process.argv.slice(2);
const { Sidecar, defineActivity, defineWorkflow, durablePubSub, memoryPubSub, nodeHandler } = await loadBuilt();
const { embeddedState } = await loadEmbedded();

const sidecar = new Sidecar({
  appId: 'soak',
  components: [durablePubSub('durable'), memoryPubSub('memory')],
  state: embeddedState({ path }),
  subscriptions: ['durable', 'memory'].map((pubsubName) => ({ pubsubName, topic: 'orders', route: '/orders' })),
  app: { port: Number(appPort) },
});
const add = defineActivity('add', (count: number) => count + 1);
const flow = defineWorkflow('flow', async (ctx, count: number) => {
  await ctx.sleep(5);
  return ctx.callActivity(add, await ctx.callActivity(add, count));
});
sidecar.workflows.register(add, flow);
await sidecar.start();
await sidecar.ready();

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on('message', () => {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  process.send?.({
    ...{ heap: heapUsed / MIB, buffers: arrayBuffers / MIB, resident: rss / MIB },
    handles: process.getActiveResourcesInfo().length,
    loopDelayP99Ms: delay.percentile(99) / 1e6,
  } satisfies SoakSample);
  delay.reset();
});
process.on('disconnect', () => void sidecar.stop().then(() => process.exit(0)));
const server = createServer(nodeHandler(sidecar));
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
