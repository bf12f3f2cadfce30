/**
 * One, two and four processes of one application on PostgreSQL and on Redis, with the same number of callers in all,
 * beside one process on the embedded store and beside peers on the same servers: DBOS, pg-boss, BullMQ. Each process is
 * its own, the servers are the benchmark's own. See README.md.
 *
 * With --scale: 1, 2, 4 and 8 processes on a directory and on both servers, handlers that take 1 ms, idle calls, and what
 * a killed process leaves to the others.
 *
 * Usage: `npx tsx bench/fleet.ts [--quick] [--rounds n] [--only workflow|named|publish|job|now] [--peers] [--delay]
 * [--scale [--only rates|idle|killed]]`. With --peers: the embedded store
 * and peers only. The peers run when they
 * are installed: `npm ci --prefix bench/peers`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import { startPostgresql, startRedis } from '../test/support/servers.ts';
import { TcpProxy } from '../test/support/tcp-proxy.ts';
import type { Task, Told } from './support/fleet-work.ts';
import { readOptions } from './support/options.ts';
import { peerIfInstalled } from './support/peers.ts';
import { measureScale, SCALE_PARTS } from './support/scale.ts';
import { median, printTable, ratio } from './support/stats.ts';

const WORKS = ['workflow', 'named', 'publish', 'job', 'now'] as const;
type Work = (typeof WORKS)[number];
const TITLES: Readonly<Record<Work, string>> = {
  workflow: 'workflows',
  named: 'workflows whose ID the caller gives',
  publish: 'messages',
  job: 'jobs due at one instant, from then on',
  now: 'jobs due at once, scheduled and run',
};

const CALLERS = 64;
const SETTLE_MS = 8_000;
const TIME_LIMIT_MS = 120_000;
/** Things per second that a job needs at least to be scheduled in time. */
const SCHEDULES_PER_SECOND = 1_000;

/** Whether a flag is there, which is this benchmark's own. */
function takeFlag(name: string): boolean {
  const at = process.argv.indexOf(name);
  return at >= 0 && process.argv.splice(at, 1).length > 0;
}

const withDelay = takeFlag('--delay');
const onlyPeers = takeFlag('--peers');
const isScale = takeFlag('--scale');
const options = readOptions(isScale ? SCALE_PARTS : WORKS);
if (isScale) {
  await measureScale(options);
  process.exit();
}
const isQuick = options.seconds < 1;
const counts: Readonly<Record<Work, number>> = isQuick
  ? { workflow: 3_000, named: 3_000, publish: 6_000, job: 3_000, now: 6_000 }
  : { workflow: 10_000, named: 10_000, publish: 20_000, job: 10_000, now: 20_000 };

const noFigures = (): Record<Work, number[]> => ({ workflow: [], named: [], publish: [], job: [], now: [] });

/** A fleet of processes, or a peer. */
class Contender {
  readonly name: string;
  readonly works: readonly Work[];
  readonly rates = noFigures();
  /** Of all its processes, for each thing done. */
  readonly cpuMicros = noFigures();
  readonly #processes: readonly ChildProcess[];
  /** Of each process, since its start. */
  readonly #cpu: number[] = [];
  #onTold: (told: Told) => void = () => undefined;

  private constructor(name: string, works: readonly Work[], processes: readonly ChildProcess[]) {
    this.name = name;
    this.works = works;
    this.#processes = processes;
    for (const [index, child] of processes.entries())
      child.on('message', (told: Told) => {
        this.#cpu[index] = told.cpuMicros;
        this.#onTold(told);
      });
  }

  static async start(
    name: string,
    { kind = 'insidecar', url = '', place = '', processes = 1, works = WORKS }: Partial<Settings> = {},
  ): Promise<Contender> {
    const file = fileURLToPath(new URL('./support/fleet-worker.ts', import.meta.url));
    const started: ChildProcess[] = [];
    for (let index = 0; index < processes; index++) {
      const env = { ...process.env, NODE_ENV: 'production' };
      const child = fork(file, [kind, url, place], { execArgv: ['--import', 'tsx'], env });
      await once(child, 'message');
      started.push(child);
    }
    return new Contender(name, works, started);
  }

  async measure(work: Work, count: number): Promise<void> {
    // Jobs are due after the slowest has scheduled them.
    const dueAt = Date.now() + 1_000 + (count / SCHEDULES_PER_SECOND) * 1_000;
    const each = Math.floor(count / this.#processes.length);
    let [open, left] = [this.#processes.length, each * this.#processes.length];
    let scheduledAt = Number.NaN;
    const cpuBefore = this.#cpuOfAll;
    const startedAt = Date.now();
    const over = new Promise<void>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`${this.name}: ${left} of ${work} left`)), TIME_LIMIT_MS);
      this.#onTold = ({ done, hasEnded }) => {
        left -= done;
        if (hasEnded && --open === 0) scheduledAt = Date.now();
        if (open > 0 || left > 0) return;
        clearTimeout(limit);
        resolve();
      };
    });
    const atOnce = CALLERS / this.#processes.length;
    const isJob = work === 'job' || work === 'now';
    const due = work === 'job' ? { dueAt } : {};
    const task: Task = { work: isJob ? 'schedule' : work, atOnce, count: each, ...due, name: String(startedAt) };
    for (const [index, child] of this.#processes.entries()) child.send({ ...task, name: `${task.name}-${index}` });
    await over;
    if (work === 'job' && scheduledAt > dueAt) throw new Error(`${this.name} has scheduled its jobs too late`);
    const from = work === 'job' ? dueAt : startedAt;
    this.rates[work].push((count * 1_000) / (Date.now() - from));
    this.cpuMicros[work].push((this.#cpuOfAll - cpuBefore) / count);
  }

  get #cpuOfAll(): number {
    return this.#cpu.reduce((sum, micros) => sum + micros, 0);
  }

  async stop(): Promise<void> {
    for (const child of this.#processes) {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    }
  }
}

interface Settings {
  readonly kind: string;
  readonly url: string;
  readonly place: string;
  readonly processes: number;
  readonly works: readonly Work[];
}

const root = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
await using postgresqlServer = await startPostgresql(['max_connections=200']);
await using redisServer = await startRedis();
using _onSignal = disposeOnSignal(postgresqlServer, redisServer);
await using pgProxy = await TcpProxy.start(postgresqlServer.port);
await using redisProxy = await TcpProxy.start(redisServer.port);
for (const proxy of [pgProxy, redisProxy]) proxy.delayMs = 1;
const pgPort = withDelay ? pgProxy.port : postgresqlServer.port;
const onPostgresql = `postgresql://postgres@127.0.0.1:${pgPort}/postgres`;
const onRedis = `redis://127.0.0.1:${withDelay ? redisProxy.port : redisServer.port}`;

const contenders = [await Contender.start('embedded', { place: join(root, 'state') })];
for (const [name, url] of [
  ['PostgreSQL', onPostgresql],
  ['Redis', onRedis],
] as const)
  for (const processes of onlyPeers ? [] : [1, 2, 4])
    contenders.push(await Contender.start(`${name}, ${processes}`, { url, place: `bench${processes}`, processes }));
const peers: [string, string, Partial<Settings>][] = [
  ['@dbos-inc/dbos-sdk', 'DBOS', { url: onPostgresql, works: ['workflow'] }],
  ['pg-boss', 'pg-boss', { url: onPostgresql, works: ['publish', 'job', 'now'] }],
  ['bullmq', 'BullMQ', { url: onRedis, works: ['publish', 'job', 'now'] }],
];
for (const [module, name, settings] of peers) {
  if (options.only !== undefined && settings.works?.includes(options.only as Work) !== true) continue;
  if ((await peerIfInstalled(module)) !== undefined)
    contenders.push(await Contender.start(name, { ...settings, kind: name }));
}
// Until the hosts have divided the shards.
await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

const whole = (number: number): string => Math.round(number).toLocaleString('en');
const SHARE_OF_PEER = 10;
try {
  for (const work of WORKS) {
    if (options.only !== undefined && options.only !== work) continue;
    const able = contenders.filter(({ works }) => works.includes(work));
    const isSlow = ({ name }: Contender): boolean => name === 'DBOS';
    for (let round = -1; round < options.rounds; round++) {
      for (const contender of able)
        await contender.measure(work, isSlow(contender) ? counts[work] / SHARE_OF_PEER : counts[work]);
      // The first round warms up.
      if (round < 0) for (const { rates, cpuMicros } of able) for (const of of [rates, cpuMicros]) of[work].length = 0;
    }
    const of = (name: string): number[] => able.find((one) => one.name === name)?.rates[work] ?? [];
    const rows = able.map(({ name, rates: { [work]: rates }, cpuMicros: { [work]: cpu } }) => {
      const one = of(`${name.split(',')[0]}, 1`);
      const columns = [of('embedded'), one, of('DBOS'), of('pg-boss'), of('BullMQ')];
      return [
        name,
        whole(median(rates)),
        `${whole(median(cpu))} µs`,
        ...columns.map((base) => (base.length > 0 ? ratio(rates, base).toFixed(2) : '')),
      ];
    });
    console.log(`\n${TITLES[work]}, ${CALLERS} callers${withDelay ? ', 1 ms there and back' : ''}`);
    printTable(['processes', 'per second', 'CPU', '÷ embedded', '÷ one', '÷ DBOS', '÷ pg-boss', '÷ BullMQ'], rows);
  }
} finally {
  for (const contender of contenders) await contender.stop();
  rmSync(root, { recursive: true, force: true });
}
