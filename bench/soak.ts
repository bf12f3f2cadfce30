/**
 * A long run with all building blocks busy, over HTTP and on disk, at half of the top speed: whether heap, handles and
 * latency stay where they were. Prints a row per minute, writes them with a chart, and exits with 1 when something grew.
 *
 * Run after a build, with nothing else on the machine: `npx tsx bench/soak.ts [--minutes 120] [--share 0.5] [--out directory]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chartOf } from './support/chart.ts';
import { DiskProbe } from './support/disk-probe.ts';
import type { AppReport } from './support/soak-app-server.ts';
import { SoakLoad } from './support/soak-load.ts';
import type { SoakSample } from './support/soak-server.ts';
import { median } from './support/stats.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    share: { type: 'string', default: '0.5' },
    out: { type: 'string', default: 'soak' },
  },
});
const minutes = Number(values.minutes);
const SATURATION_SECONDS = 20;
const CALLERS = 64;
/** Compared are so many minutes of the beginning and of the end; the first minute is not one of them: V8 gets warm. */
const COMPARED = Math.max(1, Math.min(10, Math.floor((minutes - 1) / 2)));
const MAX_HEAP_GROWTH_MIB = 4;
const MAX_NEW_HANDLES = 8;
const MAX_SLOWER = 1.2;
/** Of what is asked for: the load begins no more units while thousands are open, as when the disk stands still. */
const MIN_PACE = 0.95;

interface Minute extends SoakSample {
  readonly unitsPerSecond: number;
  readonly publishP99Ms: number;
  readonly deliveryP99Ms: number;
  /** Of a flush of 4 KiB that has nothing to do with the server: disks have good and bad hours. */
  readonly diskP99Ms: number;
}

function start(module: string, args: readonly string[], execArgv: readonly string[] = []): ChildProcess {
  return fork(fileURLToPath(new URL(module, import.meta.url)), [...args], {
    execArgv: ['--import', 'tsx', ...execArgv],
    env: { ...process.env, NODE_ENV: 'production' },
  });
}

async function next<T>(child: ChildProcess): Promise<T> {
  const [answer] = (await once(child, 'message')) as [T];
  return answer;
}

function ask<T>(child: ChildProcess): Promise<T> {
  child.send('report');
  return next<T>(child);
}

function p99(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
}

const directory = mkdtempSync(join(tmpdir(), 'insidecar-soak-'));
const app = start('./support/soak-app-server.ts', []);
const { port: appPort } = await next<{ port: number }>(app);
const server = start('./support/soak-server.ts', [String(appPort), join(directory, 'state')], ['--expose-gc']);
const { port } = await next<{ port: number }>(server);
const load = new SoakLoad(port);
const probe = await DiskProbe.start(join(directory, 'probe'));

const sent = { messages: 0, jobs: 0 };
const got = { messages: 0, runs: 0 };

/** Everything since the last call. */
async function collect(): Promise<{ report: ReturnType<SoakLoad['report']>; arrived: AppReport }> {
  const report = load.report();
  const arrived = await ask<AppReport>(app);
  sent.messages += report.messages;
  sent.jobs += report.jobs;
  got.messages += arrived.messages;
  got.runs += arrived.runs;
  return { report, arrived };
}

const top = await load.saturate(SATURATION_SECONDS, CALLERS);
const perSecond = top * Number(values.share);
console.log(
  `top ${top.toFixed(0)} units/s; ${perSecond.toFixed(0)} units/s for ${minutes} minutes; Node ${process.version}`,
);
await collect();
await ask<SoakSample>(server);
probe.take();

const rows: Minute[] = [];
const problems: string[] = [];
/** A unit that fails ends the run; what was measured before is shown all the same. */
async function pace(): Promise<boolean> {
  try {
    await load.pace(perSecond, 60);
    return true;
  } catch (error) {
    problems.push(`minute ${rows.length + 1}: ${(error as Error).message}`);
    return false;
  }
}
while (rows.length < minutes && (await pace())) {
  const { report, arrived } = await collect();
  const sample = await ask<SoakSample>(server);
  const row: Minute = {
    unitsPerSecond: report.units / 60,
    publishP99Ms: p99(report.publishMs),
    deliveryP99Ms: p99(arrived.deliveryMs),
    diskP99Ms: p99(probe.take()),
    ...sample,
  };
  rows.push(row);
  const shown = Object.entries(row).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  console.log(`${rows.length}: ${shown.join(', ')}`);
}
await load.end().catch((error: Error) => problems.length === 0 && problems.push(error.message));
const arrivedBy = performance.now() + 30_000;
do await collect();
while ((got.messages < sent.messages || got.runs < sent.jobs) && performance.now() < arrivedBy);
await probe.stop();
server.disconnect();
app.disconnect();
await once(server, 'exit');
rmSync(directory, { recursive: true, force: true });

const first = rows.slice(1, 1 + COMPARED);
const last = rows.slice(-COMPARED);
const middle = (of: readonly Minute[], figure: keyof Minute): number => median(of.map((row) => row[figure]));
const compare = (figure: keyof Minute, limit: (before: number) => number): void => {
  const [before, after] = [middle(first, figure), middle(last, figure)];
  const isGood = after <= limit(before);
  console.log(`${figure}: ${before.toFixed(1)} at first, ${after.toFixed(1)} at last ${isGood ? '' : '- TOO MUCH'}`);
  if (!isGood) problems.push(figure);
};
compare('heap', (before) => before + MAX_HEAP_GROWTH_MIB);
compare('buffers', (before) => before + MAX_HEAP_GROWTH_MIB);
const atLast = middle(last, 'unitsPerSecond');
if (atLast < perSecond * MIN_PACE) problems.push(`${atLast.toFixed(0)} units/s at last`);
compare('handles', (before) => before + MAX_NEW_HANDLES);
const slowerDisk = Math.max(1, middle(last, 'diskP99Ms') / middle(first, 'diskP99Ms'));
console.log(`a flush by itself took ${slowerDisk.toFixed(2)} times as long at last`);
compare('publishP99Ms', (before) => before * MAX_SLOWER * slowerDisk);
compare('deliveryP99Ms', (before) => before * MAX_SLOWER * slowerDisk);
console.log(
  `messages: ${sent.messages} published, ${got.messages} delivered; jobs: ${sent.jobs} scheduled, ${got.runs} run`,
);
if (got.messages < sent.messages || got.runs < sent.jobs) problems.push('lost');

mkdirSync(values.out, { recursive: true });
const names = Object.keys(rows[0] ?? {}) as (keyof Minute)[];
const lines = rows.map((row, at) => [at + 1, ...names.map((name) => row[name].toFixed(2))].join());
writeFileSync(join(values.out, 'soak.csv'), `${['minute', ...names].join()}\n${lines.join('\n')}\n`);
writeFileSync(
  join(values.out, 'soak.svg'),
  chartOf('minutes', [
    { label: 'heap after a collection, MiB', values: rows.map(({ heap }) => heap) },
    { label: 'publish until 204 on disk, p99, ms', values: rows.map(({ publishP99Ms }) => publishP99Ms) },
    { label: 'publish until the application has it, p99, ms', values: rows.map(({ deliveryP99Ms }) => deliveryP99Ms) },
    { label: 'a flush of 4 KiB by itself, p99, ms', values: rows.map(({ diskP99Ms }) => diskP99Ms) },
    { label: 'handles', values: rows.map(({ handles }) => handles) },
  ]),
);
for (const problem of problems) console.log(`not as it should be: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
