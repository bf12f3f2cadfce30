/** A server for `bench/durable.ts`; its first argument names what keeps its messages and whether they are consumed. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { StateDefinition } from '../../src/kit/index.ts';
import { loadBuilt, loadEmbedded } from './built.ts';

const [name = '', directory = ''] = process.argv.slice(2);
const consumes = name.includes('deliver');
const { Sidecar, durablePubSub, memoryPubSub, nodeHandler } = await loadBuilt();

async function stateOf(): Promise<{ state?: StateDefinition }> {
  if (name.startsWith('memory')) return {};
  const { embeddedState } = await loadEmbedded();
  if (!name.includes('slow')) return { state: embeddedState({ path: directory }) };
  // An option that is not public, so from the source; its thread is the built one all the same.
  const { openEmbeddedStore } = await import('../../src/components/embedded/embedded-store.ts');
  const open: StateDefinition['open'] = (context) => openEmbeddedStore(directory, context, { syncDelayMs: 5 });
  return { state: { type: 'embedded', open } };
}

const sidecar = new Sidecar({
  appId: 'bench',
  components: [name.startsWith('memory') ? memoryPubSub('pubsub') : durablePubSub('pubsub')],
  ...(await stateOf()),
});
await sidecar.start();
let delivered = 0;
// A group that nobody consumes makes the durable component keep every message; memory would fill up, so it has none.
if (consumes || !name.startsWith('memory')) {
  const subscription = await sidecar.pubsub.subscribe('pubsub', 'orders', () => void delivered++, { concurrency: 100 });
  if (!consumes) await subscription.close();
}

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system, delivered, loopDelayP99Ms: delay.percentile(99) / 1e6 });
  delay.reset();
});
process.on('disconnect', () => process.exit(0));
const server = createServer(nodeHandler(sidecar));
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
