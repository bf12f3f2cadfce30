/**
 * One application in four processes of Node's `cluster`, with their state in one directory and no server: one port for
 * the requests of the world, messages and jobs that are done once, a workflow that goes on in another process. One of
 * them is killed, and then the one that holds the directory.
 *
 * Run with `npm run example:cluster`. PM2 starts processes in the same way: `pm2 start app.js -i 4`.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  defineActivity,
  defineJob,
  defineWorkflow,
  durablePubSub,
  type Logger,
  nodeHandler,
  runUntilSignal,
  Sidecar,
} from 'insidecar';
import { embeddedState } from 'insidecar/embedded';

const WORKERS = 4;
const ORDERS = 100;
const PATIENCE_MS = 60_000;

/** What a worker tells the primary. */
type Report =
  | { readonly kind: 'up'; readonly port: number }
  | { readonly kind: 'message' | 'job' | 'workflow'; readonly id: string };

if (cluster.isPrimary) await supervise();
else await work();

/** One of the processes. All of them run this, and each of them can do everything. */
async function work(): Promise<void> {
  const { STATE = './.insidecar', SECRET = '' } = process.env;
  const quiet: Logger = { debug() {}, info() {}, warn() {}, error: console.error };
  // Calls of the other processes. Without `address`, they go through the directory, which costs more.
  const peers = createServer();
  // Exclusive: each worker has a port of its own, while `cluster` shares the others.
  await new Promise<void>((listening) => peers.listen({ port: 0, host: '127.0.0.1', exclusive: true }, listening));
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [durablePubSub('pubsub')],
    state: embeddedState(STATE),
    address: `http://127.0.0.1:${(peers.address() as AddressInfo).port}`,
    identity: { keys: [{ secret: SECRET }] },
    logger: quiet,
  });
  peers.on('request', nodeHandler(sidecar.peers));

  const pack = defineActivity('pack', async (id: string) => `${id}, packed by worker ${cluster.worker?.id}`);
  const order = defineWorkflow('order', async (ctx, id: string) => {
    const packed = await ctx.callActivity(pack, id);
    await ctx.waitForEvent('paid');
    return packed;
  });
  sidecar.workflows.register(order, pack);
  sidecar.events.on('workflowCompleted', ({ instanceId }) => tell({ kind: 'workflow', id: instanceId }));
  sidecar.register(defineJob('*', (_, { name }) => tell({ kind: 'job', id: name })));
  await sidecar.start();
  await sidecar.pubsub.subscribe<string>('pubsub', 'orders', ({ data = '' }) => tell({ kind: 'message', id: data }));

  // One port for all workers: the primary hands out the connections.
  const web = createServer(async (request, response) => {
    const [, what, id = ''] = request.url?.split('/') ?? [];
    try {
      if (what === 'order') {
        await sidecar.pubsub.publish('pubsub', 'orders', id);
        await sidecar.jobs.schedule(`bill-${id}`, { dueTime: '100ms' });
        await sidecar.workflows.start(order, id, { instanceId: id, ifExists: 'keep' });
      } else await sidecar.workflows.raiseEvent(id, 'paid');
    } catch (error) {
      // The caller sends it again.
      console.error(error);
      response.statusCode = 503;
    }
    response.end(`worker ${cluster.worker?.id}`);
  });
  web.listen(0, '127.0.0.1', () => tell({ kind: 'up', port: (web.address() as AddressInfo).port }));
  await runUntilSignal(sidecar, web);
  process.exit();
}

function tell(report: Report): void {
  if (process.connected) process.send?.(report, () => undefined);
}

/** The primary: starts the workers, sends orders, kills two of them, and counts what was done. */
async function supervise(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'insidecar-cluster-'));
  const state = join(directory, 'state');
  // In production: from a secret store. The processes prove to each other with it who they are.
  const settings = { STATE: state, SECRET: 'a secret for the calls between the workers' };
  const done = {
    message: new Map<string, number>(),
    job: new Map<string, number>(),
    workflow: new Map<string, number>(),
  };
  let port = 0;
  const start = (): Promise<Worker> =>
    new Promise((up) => {
      const worker = cluster.fork(settings);
      worker.on('message', (report: Report) => {
        if (report.kind !== 'up') done[report.kind].set(report.id, (done[report.kind].get(report.id) ?? 0) + 1);
        else {
          ({ port } = report);
          up(worker);
        }
      });
    });
  const workers = await Promise.all(Array.from({ length: WORKERS }, start));
  const holder = (): number => JSON.parse(readFileSync(join(state, 'holder.json'), 'utf8')).pid;
  console.log(`${WORKERS} workers on one port and one directory, which worker ${idOf(holder())} holds`);

  function idOf(pid: number): number | undefined {
    return workers.find(({ process: { pid: own } }) => own === pid)?.id;
  }

  /** Another worker answers while one has just been killed. */
  async function send(what: 'order' | 'pay', id: number): Promise<string> {
    for (;;) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}/${what}/${id}`, { method: 'POST' });
        if (response.ok) return await response.text();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  const answeredBy = new Set<string>();
  for (let id = 0; id < ORDERS; id++) {
    answeredBy.add(await send('order', id));
    const victim = id === ORDERS / 4 ? 'another worker' : id === ORDERS / 2 ? 'the holder of the directory' : undefined;
    if (victim === undefined) continue;
    const worker = workers.find(({ id: own, process: { pid } }) =>
      victim === 'another worker' ? pid !== holder() && own !== 1 : pid === holder(),
    );
    worker?.process.kill('SIGKILL');
    console.log(`order ${id}: killed worker ${worker?.id}, ${victim}`);
    workers.push(await start());
  }
  console.log(`${ORDERS} orders were taken, by ${answeredBy.size} workers`);
  for (let id = 0; id < ORDERS; id++) await send('pay', id);

  const areDone = (): boolean => Object.values(done).every(({ size }) => size === ORDERS);
  for (const until = Date.now() + PATIENCE_MS; !areDone() && Date.now() < until; )
    await new Promise((resolve) => setTimeout(resolve, 100));
  for (const [what, counts] of Object.entries(done)) {
    const again = [...counts.values()].filter((count) => count > 1).length;
    console.log(`${counts.size} of ${ORDERS} ${what}s are done, ${again} of them again after a kill`);
  }
  const running = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const ended = running.map((worker) => once(worker, 'exit'));
  for (const worker of running) worker.process.kill('SIGTERM');
  await Promise.all(ended);
  rmSync(directory, { recursive: true, force: true });
  process.exit(areDone() ? 0 : 1);
}
