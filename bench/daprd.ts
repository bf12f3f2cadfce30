/**
 * The command `insidecar run` beside `daprd` with the same resource files, in turn: publish, publish and deliver to an
 * application over HTTP (in memory; on disk beside a Redis that keeps nothing), a call of the application, jobs, start and
 * idle memory. See README.md.
 *
 * Usage: `DAPRD=<path of daprd> [DAPR_SCHEDULER=<path of Dapr's scheduler>] npx tsx bench/daprd.ts [--quick] [--rounds n]
 * [--seconds s] [--connections n] [--only publish|deliver|durable|invoke|jobs|start]`. On Linux.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import { startRedis } from '../test/support/servers.ts';
import { type Contender, startContender } from './support/contender.ts';
import { ExchangeLoad, requestBytes } from './support/exchange-load.ts';
import { Load } from './support/load.ts';
import { readOptions } from './support/options.ts';
import { PAYLOAD, PUBLISH_PATH } from './support/payload.ts';
import { type Kind, type Programs, SidecarCommand, type Wanted } from './support/sidecar-command.ts';
import { median, printTable } from './support/stats.ts';
import { type Figures, noFigures, rowOf, takeTurns, type Work } from './support/turns.ts';

const KINDS: readonly Kind[] = ['insidecar', 'daprd'];
const JOBS = 5_000;
const LEAD_MS = 8_000;
const MAX_UNCONFIRMED = 256;
const IDLE_MS = 500;

const options = readOptions(['publish', 'deliver', 'durable', 'invoke', 'jobs', 'start']);
const { DAPRD: daprd, DAPR_SCHEDULER: scheduler } = process.env;
if (daprd === undefined) throw new Error('DAPRD: expected the path of daprd');
const directory = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
const programs: Programs = { daprd, scheduler, directory };

const rows: string[][] = [];

/** Starts both, and has them work in turn. */
async function inTurn(label: string, wanted: Wanted, open: (sidecar: SidecarCommand) => Promise<Work>): Promise<void> {
  const able: { readonly sidecar: SidecarCommand; readonly work: Work }[] = [];
  try {
    for (const kind of KINDS) {
      const sidecar = await SidecarCommand.start(kind, programs, wanted);
      able.push({ sidecar, work: await open(sidecar) });
    }
    const entrants = able.map(({ sidecar, work }) => ({ work, cpuMicros: () => sidecar.cpuMicros }));
    const [insidecar = noFigures(), peer = noFigures()] = await takeTurns(entrants, options);
    rows.push(rowOf(label, insidecar, peer));
  } finally {
    for (const { sidecar } of able) await sidecar[Symbol.asyncDispose]();
  }
}

const { connections } = options;
const inMemory = [{ name: 'pubsub', type: 'pubsub.in-memory' }];
const bothInMemory = { insidecar: inMemory, daprd: inMemory };

function publishing(): Promise<void> {
  return inTurn('publish, in memory', { components: bothInMemory }, async ({ port }) => {
    const load = await Load.open({ port, connections, path: PUBLISH_PATH, body: PAYLOAD });
    return (seconds) => load.run(seconds);
  });
}

async function delivering(label: string, wanted: Wanted): Promise<void> {
  const app = await startContender('./daprd-app-server.ts', 'app');
  try {
    await inTurn(label, { ...wanted, appPort: app.port }, async ({ port }) => {
      const path = PUBLISH_PATH;
      const load = await Load.open({ port, connections, path, body: PAYLOAD, maxUnconfirmed: MAX_UNCONFIRMED });
      await subscribed(app, load);
      return (seconds) => delivered(app, load, seconds);
    });
  } finally {
    await app.stop();
  }
}

/** Publishes until a message arrives: then the sidecar has subscribed. */
async function subscribed(app: Contender, load: Load): Promise<void> {
  const { delivered: before } = await app.usage();
  for (let sent = 0; ; sent++) {
    await Promise.all([load.send(1), sleep(0).then(() => load.confirm())]);
    await sleep(100);
    if ((await app.usage()).delivered > before) return;
    if (sent > 100) throw new Error('no message arrives');
  }
}

/** Publishes for so long, and waits for all to arrive; at most a few hundred are under way. */
async function delivered(
  app: Contender,
  load: Load,
  forSeconds: number,
): Promise<{ readonly requests: number; readonly seconds: number }> {
  let seen = (await app.usage()).delivered;
  const startedAt = performance.now();
  let isOver = false;
  const run = load.run(forSeconds).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { delivered: now } = await app.usage();
    for (; seen < now; seen++) load.confirm();
    await sleep(1);
  }
  const { requests } = await run;
  return { requests, seconds: (performance.now() - startedAt) / 1_000 };
}

async function invoking(): Promise<void> {
  const app = await startContender('./daprd-app-server.ts', 'app');
  const path = '/v1.0/invoke/bench/method/kilobyte';
  await inTurn('call of the application, GET of 1 KB', { appPort: app.port }, async ({ port }) => {
    const request = requestBytes({ port, method: 'GET', path });
    const load = await ExchangeLoad.open({ port, connections, requestsOf: () => [request] });
    return (seconds) => load.run(seconds);
  });
  await app.stop();
}

type FiguresOfKinds = Readonly<Record<Kind, Figures>>;

const newFigures = (): FiguresOfKinds => ({ insidecar: noFigures(), daprd: noFigures() });

/** 5,000 jobs, scheduled, all due at one instant, and run: in a new process each round. */
async function jobs(): Promise<void> {
  if (scheduler === undefined) return console.log('jobs: DAPR_SCHEDULER is not set');
  const app = await startContender('./daprd-app-server.ts', 'app');
  const [scheduled, ran] = [newFigures(), newFigures()];
  for (let round = 0; round < Math.min(5, options.rounds); round++)
    for (const kind of KINDS) await burst(kind, app, { scheduled, ran });
  await app.stop();
  rows.push(rowOf('5,000 jobs scheduled over HTTP, first of a process', scheduled.insidecar, scheduled.daprd));
  rows.push(rowOf('… due at one instant, run over HTTP', ran.insidecar, ran.daprd));
}

async function burst(
  kind: Kind,
  app: Contender,
  { scheduled, ran }: { readonly scheduled: FiguresOfKinds; readonly ran: FiguresOfKinds },
): Promise<void> {
  await using sidecar = await SidecarCommand.start(kind, programs, { appPort: app.port, onDisk: true, jobs: true });
  await sleep(2_000);
  const dueAt = Date.now() + LEAD_MS;
  const body = JSON.stringify({ dueTime: new Date(dueAt).toISOString(), data: JSON.parse(PAYLOAD) as unknown });
  const path = (index: number): string => `/v1.0-alpha1/jobs/job-${index}`;
  const load = await Load.open({ port: sidecar.port, connections, path, body });
  const before = sidecar.cpuMicros;
  const { delivered: first } = await app.usage();
  const { seconds } = await load.send(JOBS);
  const between = sidecar.cpuMicros;
  load.close();
  if (Date.now() > dueAt) throw new Error(`${kind}: the jobs were due before all were scheduled`);
  let arrived = await app.usage();
  for (; arrived.delivered < first + JOBS; arrived = await app.usage()) await sleep(10);
  const { cpuMicros } = sidecar;
  scheduled[kind].perSecond.push(JOBS / seconds);
  scheduled[kind].cpuMicros.push((between - before) / JOBS);
  ran[kind].perSecond.push((JOBS * 1_000) / (arrived.lastDeliveredAt - dueAt));
  ran[kind].cpuMicros.push((cpuMicros - between) / JOBS);
}

async function starting(): Promise<void> {
  const ready: Record<Kind, number[]> = { insidecar: [], daprd: [] };
  const memory: Record<Kind, number[]> = { insidecar: [], daprd: [] };
  for (let round = 0; round < options.rounds; round++)
    for (const kind of KINDS) {
      await using sidecar = await SidecarCommand.start(kind, programs, { components: bothInMemory });
      ready[kind].push(sidecar.readyMs);
      await sleep(IDLE_MS);
      memory[kind].push(sidecar.mebibytes);
    }
  const cells = (kind: Kind): string[] => [
    kind,
    `${median(ready[kind]).toFixed(0)} ms`,
    `${median(memory[kind]).toFixed(1)} MiB`,
  ];
  console.log('\nfrom the start of the process to its first answer; resident when idle');
  printTable(['command', 'ready', 'idle'], KINDS.map(cells));
}

const isWanted = (name: string): boolean => options.only === undefined || options.only === name;

try {
  if (isWanted('publish')) await publishing();
  if (isWanted('deliver')) await delivering('publish → application, in memory', { components: bothInMemory });
  if (isWanted('durable')) {
    await using redis = await startRedis(['--appendonly', 'no', '--save', '']);
    using _onSignal = disposeOnSignal(redis);
    await delivering('publish → application; insidecar on disk, daprd on a Redis that keeps nothing', {
      onDisk: true,
      components: {
        insidecar: [{ name: 'pubsub', type: 'pubsub.durable' }],
        daprd: [
          {
            name: 'pubsub',
            type: 'pubsub.redis',
            metadata: { redisHost: `127.0.0.1:${redis.port}`, redisPassword: '' },
          },
        ],
      },
    });
  }
  if (isWanted('invoke')) await invoking();
  if (isWanted('jobs')) await jobs();
  printTable(['work', 'insidecar/s', 'CPU', 'daprd/s', 'CPU', '× as fast', '÷ CPU'], rows);
  if (isWanted('start')) await starting();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
