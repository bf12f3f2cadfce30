/** A process of bench/fleet.ts: a host of insidecar, or a peer. It does the work that it is sent and tells how far it is. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineJob } from '../../src/index.ts';
import { loadBuilt } from './built.ts';
import { fleetState } from './fleet-state.ts';
import { ORDER, type Task, type Told, type WorkerMaker } from './fleet-work.ts';
import { openBullmq, openDbos, openPgBoss } from './server-peers.ts';

const [kind = '', url = '', place = ''] = process.argv.slice(2);
const TELL_EVERY_MS = 20;
const MAX_CLOSE_MS = 10_000;
/** As many topics as it takes to give every host some. */
const TOPICS = 16;

const openInsidecar: WorkerMaker = async (done) => {
  const { Sidecar, defineActivity, defineWorkflow, durablePubSub, nodeHandler } = await loadBuilt();
  const server = createServer((req, res) => listener(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sidecar = new Sidecar({
    appId: 'bench',
    state: await fleetState({ url, place }),
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
  const { workflows, jobs, pubsub } = sidecar;
  workflows.register(step, sequence);
  await jobs.register(defineJob('*', () => done()));
  await sidecar.start();
  const topics = Array.from({ length: TOPICS }, (_, index) => `topic-${index}`);
  for (const topic of topics) await pubsub.subscribe('pubsub', topic, () => done(), { concurrency: 100 });
  let published = 0;
  let named = 0;
  const run = async (options: { readonly instanceId?: string }): Promise<void> => {
    const started = await workflows.start('sequence', ORDER, options);
    await started.result();
  };
  return {
    workflow: () => run({}),
    named: () => run({ instanceId: `${process.pid}-${named++}` }),
    publish: () => pubsub.publish('pubsub', topics[published++ % TOPICS] ?? '', ORDER),
    schedule: (name, dueAt) => jobs.schedule(name, { dueTime: new Date(dueAt).toISOString(), data: ORDER }),
    close: async () => {
      await sidecar.stop();
      server.close();
      server.closeAllConnections();
    },
  };
};

const MAKERS: Readonly<Record<string, WorkerMaker>> = {
  insidecar: openInsidecar,
  DBOS: () => openDbos(url),
  'pg-boss': (onDone) => openPgBoss(url, onDone),
  BullMQ: (onDone) => openBullmq(url, onDone),
};

/** Makes calls, so many at a time. */
async function inParallel({ atOnce, count }: Task, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
}

// When the benchmark was killed, its servers may be gone: a start or a close may wait for them for ever.
process.once('disconnect', () => setTimeout(() => process.exit(1), MAX_CLOSE_MS).unref());

let done = 0;
const tell = (hasEnded: boolean): void => {
  if (done === 0 && !hasEnded) return;
  const { user, system } = process.cpuUsage();
  process.send?.({ done, hasEnded, cpuMicros: user + system } satisfies Told);
  done = 0;
};
const worker = await (MAKERS[kind] as WorkerMaker)(() => {
  done++;
});
const timer = setInterval(() => tell(false), TELL_EVERY_MS);
process.on('message', async (task: Task) => {
  const { work, dueAt, name } = task;
  await inParallel(task, async (index) => {
    if (work === 'publish') await worker.publish?.();
    else if (work === 'schedule') await worker.schedule?.(`${name}-${index}`, dueAt ?? Date.now());
    else {
      await (work === 'named' ? worker.named?.() : worker.workflow?.());
      done++;
    }
  });
  tell(true);
});
process.on('disconnect', async () => {
  clearInterval(timer);
  await worker.close();
  process.exit();
});
tell(true);
