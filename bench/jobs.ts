/**
 * Jobs: schedules per second over HTTP on the embedded store; a burst in a new process, cold and warm; triggers per
 * second of one-shots that are all due at once (to a function in this process and to an application on a port), and how
 * late jobs are that come due over one second. BullMQ runs beside it when it is installed
 * (`npm ci --prefix bench/peers`), on Redis on 127.0.0.1:6379.
 *
 * Run after a build: `npx tsx bench/jobs.ts [--quick] [--only schedule|burst|trigger|late]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineJob, type Sidecar, type SidecarOptions } from '../src/index.ts';
import { loadBuilt, loadEmbedded } from './support/built.ts';
import { type Peer, startPeer } from './support/bullmq-peer.ts';
import { startContender } from './support/contender.ts';
import { jobBurstRows } from './support/job-burst.ts';
import { Load } from './support/load.ts';
import { readOptions } from './support/options.ts';
import { median, printTable } from './support/stats.ts';

const PARTS = ['schedule', 'burst', 'trigger', 'late'];
const options = readOptions(PARTS);
const TRIGGERS = 20_000;
const LATE_JOBS = 10_000;
const DATA = { orderId: 4711, customer: 'c-0815', items: [1, 2, 3], note: 'x'.repeat(120) };
const DUE_IN_AN_HOUR = JSON.stringify({ dueTime: '1h', data: DATA });
const CALLERS = 64;

const { Sidecar: Built } = await loadBuilt();
const { embeddedState } = await loadEmbedded();
const root = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
let directories = 0;

async function startSidecar(more: Partial<SidecarOptions> = {}): Promise<Sidecar> {
  const sidecar = new Built({
    appId: 'bench',
    state: embeddedState({ path: join(root, String(++directories)) }),
    ...more,
  });
  await sidecar.start();
  return sidecar;
}

/** Makes `count` calls, 64 of them at a time; answers the seconds that it took. */
async function inParallel(count: number, call: (index: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (next < count) await call(next++);
    }),
  );
  return (performance.now() - startedAt) / 1_000;
}

const whole = (number: number): string => Math.round(number).toLocaleString('en');
const percentile = (values: readonly number[], share: number): string =>
  ([...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN).toFixed(1);

async function schedules(peer: Peer | undefined): Promise<string[][]> {
  const argument = JSON.stringify({ path: join(root, 'http') });
  const contender = await startContender('./jobs-server.ts', 'jobs', { ...options, argument });
  const { connections, rounds, seconds } = options;
  const path = (index: number): string => `/v1.0-alpha1/jobs/job-${index}`;
  const load = await Load.open({ port: contender.port, connections, path, body: DUE_IN_AN_HOUR });
  await load.run(options.warmupSeconds);
  const [rates, peerRates, cpu]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const before = await contender.usage();
    const { requests, seconds: taken } = await load.run(seconds);
    const after = await contender.usage();
    rates.push(requests / taken);
    cpu.push((after.cpuMicros - before.cpuMicros) / requests);
    if (peer !== undefined) peerRates.push(3_000 / (await inParallel(3_000, () => peer.add(3_600_000, DATA))));
  }
  load.close();
  await contender.stop();
  const rows = [
    ['insidecar: schedules/s over HTTP, durable', whole(median(rates)), `${median(cpu).toFixed(1)} µs CPU`],
  ];
  if (peer !== undefined) rows.push(['BullMQ: delayed adds/s in process', whole(median(peerRates)), peer.durability]);
  return rows;
}

/** All are due at one instant that lies ahead; from then on until the last one has run and that is recorded. */
async function triggersOf(sidecar: Sidecar): Promise<number> {
  const dueAt = Date.now() + 4_000;
  const dueTime = new Date(dueAt).toISOString();
  await inParallel(TRIGGERS, (index) => sidecar.jobs.schedule(`once-${index}`, { dueTime, data: DATA }));
  if (Date.now() > dueAt) throw new Error('scheduling took longer than the time to the first run');
  let done = 0;
  await new Promise<void>((resolve) => {
    sidecar.events.on('jobCompleted', () => {
      if (++done === TRIGGERS) resolve();
    });
  });
  return TRIGGERS / ((Date.now() - dueAt) / 1_000);
}

async function triggerRows(peer: Peer | undefined): Promise<string[][]> {
  const [inCode, overHttp, peers]: [number[], number[], number[]] = [[], [], []];
  const app = await startContender('./jobs-app-server.ts', 'app');
  for (let round = 0; round < Math.min(3, options.rounds); round++) {
    const own = await startSidecar();
    own.register(defineJob('*', () => undefined));
    inCode.push(await triggersOf(own));
    await own.stop();
    const sending = await startSidecar({ app: { port: app.port } });
    overHttp.push(await triggersOf(sending));
    await sending.stop();
    if (peer !== undefined) peers.push(await peer.process(TRIGGERS, DATA));
  }
  await app.stop();
  const rows = [
    [`insidecar: ${whole(TRIGGERS)} due at once, triggers/s in process`, whole(median(inCode)), 'durable'],
    ['insidecar: the same to an application on a port', whole(median(overHttp)), 'durable'],
  ];
  if (peer !== undefined) rows.push(['BullMQ: jobs/s, concurrency 50', whole(median(peers)), peer.durability]);
  return rows;
}

async function lateRows(peer: Peer | undefined): Promise<string[][]> {
  const sidecar = await startSidecar();
  const late: number[] = [];
  const ran = new Promise<void>((resolve) => {
    sidecar.register(
      defineJob('*', (_, { dueAt }) => {
        const now = performance.timeOrigin + performance.now();
        late.push(now - dueAt);
        if (late.length === LATE_JOBS) resolve();
      }),
    );
  });
  const startAt = Date.now() + 3_000;
  await inParallel(LATE_JOBS, (index) => {
    const dueTime = new Date(startAt + (index * 1_000) / LATE_JOBS).toISOString();
    return sidecar.jobs.schedule(`late-${index}`, { dueTime, data: DATA });
  });
  await ran;
  await sidecar.stop();
  const figures = (values: readonly number[]): string =>
    `p50 ${percentile(values, 0.5)} ms, p99 ${percentile(values, 0.99)} ms, max ${percentile(values, 0.99999)} ms`;
  const rows = [[`insidecar: lateness of ${whole(LATE_JOBS)} jobs due over one second`, figures(late), 'durable']];
  if (peer !== undefined) rows.push(['BullMQ: the same', figures(await peer.late(LATE_JOBS, DATA)), peer.durability]);
  return rows;
}

const peer = await startPeer();
try {
  const rows: string[][] = [];
  const burst = (): Promise<string[][]> => jobBurstRows(options, DATA, () => join(root, `burst-${++directories}`));
  const parts = { schedule: schedules, burst, trigger: triggerRows, late: lateRows };
  for (const [name, part] of Object.entries(parts)) {
    if (options.only === undefined || options.only === name) rows.push(...(await part(peer)));
  }
  printTable(['', 'median', ''], rows);
} finally {
  await peer?.close();
  rmSync(root, { recursive: true, force: true });
}
