/** A process of bench/fleet.ts --scale: a host whose handler of messages takes some time of a processor, real or simulated. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob } from '../../src/index.ts';
import { loadBuilt } from './built.ts';
import { fleetState } from './fleet-state.ts';
import { ORDER } from './fleet-work.ts';
import type { ScaleReply, ScaleTask } from './scale-work.ts';

const [url = '', place = '', handler = 'none'] = process.argv.slice(2);
const AT_ONCE = 64;
const BATCH = 500;
const HANDLER_MS = 1;

let [messages, jobs, calls] = [0, 0, 0];
let goOn: () => void = () => undefined;
const held = new Promise<void>((resolve) => {
  goOn = resolve;
});
/** One handler at a time, as on a processor of its own. */
let processor = Promise.resolve();

async function handle(): Promise<void> {
  if (handler === 'held') await held;
  if (handler === 'real') for (const until = performance.now() + HANDLER_MS; performance.now() < until; );
  if (handler === 'simulated') {
    processor = processor.then(() => sleep(HANDLER_MS));
    await processor;
  }
  messages++;
}

const { Sidecar, defineActivity, defineWorkflow, durablePubSub, nodeHandler } = await loadBuilt();
const server = createServer((req, res) => listener(req, res));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const sidecar = new Sidecar({
  appId: 'bench',
  state: await fleetState({ url, place, onCall: () => void calls++ }),
  components: [durablePubSub('pubsub')],
  address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  identity: { keys: [{ secret: 'a shared secret of more than 32 bytes' }] },
});
const listener = nodeHandler(sidecar.peers);
const step = defineActivity('step', async (order: typeof ORDER) => ({ ...order, orderId: order.orderId + 1 }));
const sequence = defineWorkflow('sequence', async (ctx, order: typeof ORDER) => {
  const first = await ctx.callActivity(step, order);
  const second = await ctx.callActivity(step, first);
  return ctx.callActivity(step, second);
});
const waiting = defineWorkflow('waiting', async (ctx) => ctx.waitForEvent('go'));
sidecar.workflows.register(step, sequence, waiting);
sidecar.register(defineJob('*', () => void jobs++));
await sidecar.start();
await sidecar.pubsub.subscribe('pubsub', 'orders', handle, { concurrency: 100 });

async function each(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

async function work(task: ScaleTask): Promise<void> {
  const { workflows, pubsub } = sidecar;
  switch (task.ask) {
    case 'publish':
      if (task.count >= BATCH * AT_ONCE) return publishBatches(task.count);
      return each(task.count, () => pubsub.publish('pubsub', 'orders', ORDER));
    case 'workflow':
      return each(task.count, async () => (await workflows.start(sequence, ORDER)).result());
    case 'idle':
      return each(task.count, (index) =>
        workflows.start(waiting, undefined, { instanceId: `idle-${task.from + index}` }),
      );
    case 'schedule': {
      const dueTime = new Date(task.dueAt).toISOString();
      return each(task.count, (index) => sidecar.jobs.schedule(`job-${task.from + index}`, { dueTime, data: ORDER }));
    }
    case 'raise':
      await Promise.all(task.ids.map((id) => endOf(`idle-${id}`)));
      return;
    case 'go':
      return goOn();
    case 'usage':
      return undefined;
  }
}

async function publishBatches(count: number): Promise<void> {
  const entries = Array.from({ length: BATCH }, (_, index) => ({ entryId: String(index), event: ORDER }));
  for (let done = 0; done < count; done += BATCH) await sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
}

/** Gives an instance its event, and waits for its end. */
async function endOf(instanceId: string): Promise<void> {
  await sidecar.workflows.raiseEvent(instanceId, 'go', 1);
  await sidecar.workflows.run(waiting, instanceId).result();
}

process.on('message', async ({ number, task }: { readonly number: number; readonly task: ScaleTask }) => {
  const startedAt = performance.now();
  const error = await work(task).then(
    () => undefined,
    (failure: Error) => failure.message,
  );
  const { user, system } = process.cpuUsage();
  const reply: ScaleReply = {
    number,
    tookMs: performance.now() - startedAt,
    messages,
    jobs,
    calls,
    cpuMicros: user + system,
    ...(error === undefined ? {} : { error }),
  };
  process.send?.(reply);
});
const MAX_CLOSE_MS = 10_000;
process.on('disconnect', async () => {
  setTimeout(() => process.exit(1), MAX_CLOSE_MS).unref();
  goOn();
  await sidecar.stop();
  process.exit();
});
process.send?.('ready');
