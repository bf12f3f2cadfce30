/**
 * bench/fleet.ts --scale: processes on a directory, PostgreSQL and Redis: rates, CPU and shares with 1, 2, 4 and 8 of them;
 * what an idle one asks its server; and how long it takes until the others go on with what a killed one had.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { disposeOnSignal } from '../../test/support/dispose-on-signal.ts';
import { startPostgresql, startRedis } from '../../test/support/servers.ts';
import type { BenchOptions } from './options.ts';
import { cpuMicrosOfServer } from './process-cpu.ts';
import { ScaleHost, settled, usageOf } from './scale-host.ts';
import { printTable } from './stats.ts';

interface Engine {
  readonly name: string;
  readonly url: string;
  readonly serverMicros: () => number;
}

type Handler = 'real' | 'simulated' | 'held' | 'none';

const SIZES = [1, 2, 4, 8];
const SETTLE_MS = 3_000;
/** Hosts of a directory and of a server know each other after it, and the shards are divided. */
const JOIN_MS = 6_000;
const WAITING_MESSAGES = 100_000;
const IDLE_WORKFLOWS = 10_000;
const EVENTS = 64;

const RATES_HEADER = [
  ...['', 'messages/s', '÷ one', 'CPU each', 'share of a host', 'jobs/s', 'CPU each'],
  ...['workflows/s', 'CPU each'],
];

const whole = (number: number): string => Math.round(number).toLocaleString('en');
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** What can be measured alone. */
export const SCALE_PARTS = ['rates', 'idle', 'killed'] as const;

/** Measures all of it, or a part; with fewer things in short rounds. */
export async function measureScale({ seconds: perRound, only }: Pick<BenchOptions, 'seconds' | 'only'>): Promise<void> {
  const isQuick = perRound < 1;
  const wants = (part: (typeof SCALE_PARTS)[number]): boolean => only === undefined || only === part;
  const root = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
  await using postgresql = await startPostgresql(['max_connections=200']);
  await using redis = await startRedis();
  using _onSignal = disposeOnSignal(postgresql, redis);
  const engines: readonly Engine[] = [
    { name: 'directory', url: '', serverMicros: () => 0 },
    {
      name: 'PostgreSQL',
      url: `postgresql://postgres@127.0.0.1:${postgresql.port}/postgres`,
      serverMicros: () => cpuMicrosOfServer(postgresql.pid),
    },
    {
      name: 'Redis',
      url: `redis://127.0.0.1:${redis.port}`,
      serverMicros: () => cpuMicrosOfServer(redis.pid),
    },
  ];
  let places = 0;
  const start = (engine: Engine, count: number, handler: Handler): Promise<readonly ScaleHost[]> => {
    const name = `scale${++places}`;
    return ScaleHost.startAll(count, [engine.url, engine.url === '' ? join(root, name) : name, handler]);
  };
  try {
    if (wants('rates')) {
      const rates: string[][] = [];
      for (const handler of ['simulated', 'real'] as const)
        for (const engine of engines)
          for (const size of handler === 'real' ? [1, 2] : SIZES)
            rates.push(said(await rateRow(engine, handler, await start(engine, size, handler), isQuick)));
      console.log('\nA handler of messages takes 1 ms: of a processor of its own (simulated), or of these (real)');
      printTable(RATES_HEADER, withRatios(rates));
    }
    if (wants('idle')) {
      const idle: string[][] = [];
      for (const engine of engines.slice(1))
        for (const size of [1, 4]) idle.push(said(await idleRow(engine, await start(engine, size, 'none'), isQuick)));
      console.log('\nIdle, for each process and minute');
      printTable(['', 'calls of the server', 'CPU, ms, with the server'], idle);
    }
    if (wants('killed')) {
      const killed: string[][] = [];
      for (const engine of engines) killed.push(said(await killedRow(engine, await start(engine, 3, 'held'), isQuick)));
      console.log('\nOne of three is killed (on a directory: the one that holds it), and since then:');
      printTable(['', 'a commit', `${EVENTS} idle workflows`, 'first message', 'all messages', 'of'], killed);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Prints a row at once, before the table: all of it takes minutes. */
function said(row: string[]): string[] {
  console.log(row.join('  '));
  return row;
}

/** `÷ one` of the rates of messages. */
function withRatios(rows: readonly string[][]): string[][] {
  let one = Number.NaN;
  return rows.map(([name = '', rate = '', ...rest]) => {
    const own = Number(rate.replaceAll(',', ''));
    if (/: 1 /.test(name)) one = own;
    return [name, rate, (own / one).toFixed(2), ...rest];
  });
}

async function rateRow(
  engine: Engine,
  handler: Handler,
  hosts: readonly ScaleHost[],
  isQuick: boolean,
): Promise<string[]> {
  const size = hosts.length;
  await sleep(size === 1 ? SETTLE_MS : JOIN_MS);
  const perHost = isQuick ? 1_000 : 4_000;
  const each = async (work: (host: ScaleHost, index: number) => Promise<unknown>): Promise<void> => {
    await Promise.all(hosts.map(work));
  };
  const cpu = async (): Promise<number> => (await usageOf(hosts)).cpuMicros + engine.serverMicros();
  /** How many a second, and the CPU time of each. */
  const timed = async (count: number, work: () => Promise<void>): Promise<[string, string]> => {
    const [before, startedAt] = [await cpu(), performance.now()];
    await work();
    const took = performance.now() - startedAt;
    return [whole((count * 1_000) / took), `${whole(((await cpu()) - before) / count)} µs`];
  };
  const total = perHost * size;
  const publish = async (count: number): Promise<void> => {
    const done = (await usageOf(hosts)).messages + count * size;
    await each((host) => host.ask({ ask: 'publish', from: 0, count }));
    await settled(hosts, ({ messages }) => messages >= done);
  };
  await publish(perHost / 4);
  const before = await Promise.all(hosts.map((host) => host.usage()));
  const messages = await timed(total, () => publish(perHost));
  const after = await Promise.all(hosts.map((host) => host.usage()));
  const shares = after.map((one, index) => ((one.messages - (before[index]?.messages ?? 0)) * size) / total);
  const jobs = await timed(total, async () => {
    const done = (await usageOf(hosts)).jobs + total;
    await each((host, index) =>
      host.ask({ ask: 'schedule', from: index * perHost, count: perHost, dueAt: Date.now() }),
    );
    await settled(hosts, (usage) => usage.jobs >= done);
  });
  const runs = Math.round(perHost / 2);
  const workflows = await timed(runs * size, () => each((host) => host.ask({ ask: 'workflow', from: 0, count: runs })));
  for (const host of hosts) await host.stop();
  const name = `${engine.name}: ${size} ${handler}`;
  const spread = `${Math.min(...shares).toFixed(2)}–${Math.max(...shares).toFixed(2)}`;
  return [name, ...messages, spread, ...jobs, ...workflows];
}

async function idleRow(
  { name, serverMicros }: Engine,
  hosts: readonly ScaleHost[],
  isQuick: boolean,
): Promise<string[]> {
  await sleep(JOIN_MS);
  const minutes = isQuick ? 0.25 : 1;
  const [before, cpu] = [await usageOf(hosts), serverMicros()];
  await sleep(minutes * 60_000);
  const after = await usageOf(hosts);
  for (const host of hosts) await host.stop();
  const per = (value: number): string => whole(value / minutes / hosts.length);
  const micros = after.cpuMicros - before.cpuMicros + serverMicros() - cpu;
  return [`${name}: ${hosts.length}`, per(after.calls - before.calls), per(micros / 1_000)];
}

/** One is killed while messages wait that are not handled yet, and workflows for an event. */
async function killedRow({ name }: Engine, hosts: readonly ScaleHost[], isQuick: boolean): Promise<string[]> {
  await sleep(JOIN_MS);
  const [victim, ...others] = hosts;
  const [other] = others;
  if (victim === undefined || other === undefined) throw new Error('expected several hosts');
  const [messages, workflows] = isQuick
    ? [WAITING_MESSAGES / 5, IDLE_WORKFLOWS / 5]
    : [WAITING_MESSAGES, IDLE_WORKFLOWS];
  await other.ask({ ask: 'publish', from: 0, count: Math.max(messages, 64 * 500) });
  await other.ask({ ask: 'idle', from: 0, count: workflows });
  const count = Math.max(messages, 64 * 500);
  await victim.kill();
  const killedAt = performance.now();
  const since = (): number => performance.now() - killedAt;
  const goes = Promise.all(others.map((host) => host.ask({ ask: 'go' })));
  const first = settled(others, (usage) => usage.messages > 0).then(since);
  const all = settled(others, (usage) => usage.messages >= count).then(since);
  const ids = Array.from({ length: EVENTS }, (_, index) => Math.floor((index * workflows) / EVENTS));
  const raised = other.ask({ ask: 'raise', ids }).then(since);
  const commit = other.ask({ ask: 'schedule', from: 0, count: 1, dueAt: Date.now() + 3_600_000 }).then(since);
  const figures = await Promise.all([commit, raised, first, all]);
  await goes;
  for (const host of others) await host.stop();
  return [name, ...figures.map(seconds), `${whole(count)} messages, ${whole(workflows)} workflows`];
}
