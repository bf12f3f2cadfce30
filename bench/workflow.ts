/**
 * Workflows on the embedded store: workflows per second with three sequential activities, 1, 64 and 1,000 at a time,
 * and how long each took; those that fan out to 1,000 and 10,000 activities; one whose history gets 10,000 events, each
 * activity after a commit of its own; one with such a history that goes on after a restart. DBOS on PostgreSQL runs the
 * same beside it when it is installed (`npm ci --prefix bench/peers`): on 127.0.0.1:5432, or DBOS_SYSTEM_DATABASE_URL.
 *
 * Run after a build: `npx tsx bench/workflow.ts [--quick] [--only sequence|fan-out|history|replay]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sidecar } from '../src/index.ts';
import type { StateDefinition } from '../src/kit/index.ts';
import { loadBuilt, loadEmbedded } from './support/built.ts';
import { FIRST } from './support/contender.ts';
import { startDbos, type WorkflowPeer } from './support/dbos-peer.ts';
import { readOptions } from './support/options.ts';
import { recorded, writtenDirectlyMs } from './support/sqlite-floor.ts';
import { median, printTable } from './support/stats.ts';

const PARTS = ['sequence', 'fan-out', 'history', 'replay'];
const options = readOptions(PARTS);
const FAN_OUT = 1_000;
const LARGE_FAN_OUT = 10_000;
const HISTORY_EVENTS = 10_000;
const ORDER = { orderId: 4711, customer: 'c-0815', items: [1, 2, 3], note: 'x'.repeat(120) };
const LOADS: readonly (readonly [atOnce: number, workflows: number])[] = [
  [1, 1_000],
  [64, 10_000],
  [1_000, 10_000],
];

/** Runs a workflow to its end. */
type RunOne = (input: unknown) => Promise<unknown>;

/** Something that runs the three workflows. */
interface Contender {
  readonly sequence: RunOne;
  readonly fanOut: RunOne;
  readonly history: RunOne;
  close(): Promise<void>;
}

const { Sidecar: Built, defineActivity, defineWorkflow } = await loadBuilt();
const { embeddedState } = await loadEmbedded();
const root = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));

const step = defineActivity('step', async (order: typeof ORDER) => ({ ...order, orderId: order.orderId + 1 }));
const sequence = defineWorkflow('sequence', async (ctx, order: typeof ORDER) => {
  const first = await ctx.callActivity(step, order);
  const second = await ctx.callActivity(step, first);
  return ctx.callActivity(step, second);
});
const one = defineActivity('one', (index: number) => index);
const fanOut = defineWorkflow('fan-out', async (ctx, count: number) => {
  const all = await Promise.all(Array.from({ length: count }, (_, index) => ctx.callActivity(one, index)));
  return all.length;
});
const long = defineWorkflow('long', async (ctx, activities: number) => {
  for (let index = 0; index < activities; index++) await ctx.callActivity(one, index);
  return activities;
});

/** The same with an event at its end: until then, it can be stopped. */
const resumed = defineWorkflow('resumed', async (ctx, activities: number) => {
  for (let index = 0; index < activities; index++) await ctx.callActivity(one, index);
  ctx.setCustomStatus('waiting');
  return ctx.waitForEvent<string>('end');
});

const newDirectory = (): string => mkdtempSync(join(root, 'state-'));

async function startSidecar(state: StateDefinition): Promise<Sidecar> {
  const sidecar: Sidecar = new Built({ appId: 'bench', state });
  sidecar.workflows.register(step, one, sequence, fanOut, long, resumed);
  await sidecar.start();
  return sidecar;
}

async function startOwn(state = embeddedState({ path: newDirectory() })): Promise<Contender> {
  const sidecar = await startSidecar(state);
  const { workflows } = sidecar;
  const runOf =
    (name: string): RunOne =>
    async (input) => {
      const run = await workflows.start(name, input);
      await run.result();
    };
  return {
    sequence: runOf('sequence'),
    fanOut: runOf('fan-out'),
    history: runOf('long'),
    close: () => sidecar.stop(),
  };
}

/** How a load went. */
interface Figures {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

async function load(run: RunOne, atOnce: number, count: number): Promise<Figures> {
  const took: number[] = [];
  const startedAt = performance.now();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next++ < count) {
      const before = performance.now();
      await run(ORDER);
      took.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  const seconds = (performance.now() - startedAt) / 1_000;
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.floor(took.length * share)] ?? Number.NaN;
  return { perSecond: count / seconds, p50: at(0.5), p99: at(0.99) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** From an event to the end, after a restart: the history is read and replayed. */
async function replayMs(activities: number): Promise<number> {
  const path = newDirectory();
  const first = await startSidecar(embeddedState({ path }));
  const { instanceId } = await first.workflows.start(resumed, activities);
  while ((await first.workflows.get(instanceId))?.customStatus !== 'waiting') await sleep(20);
  await first.stop();
  const second = await startSidecar(embeddedState({ path }));
  const took = await timed(async () => {
    await second.workflows.raiseEvent(instanceId, 'end');
    await second.workflows.run(instanceId).result();
  });
  await second.stop();
  return took;
}

const whole = (number: number): string => Math.round(number).toLocaleString('en');
const ms = (number: number): string => `${number.toFixed(number < 10 ? 1 : 0)} ms`;
const SHARE_OF_PEER = 10;

/** Both in turn, round by round, so that a slow phase of the machine meets both. */
async function sequences(own: Contender, peer: WorkflowPeer | undefined): Promise<string[][]> {
  const rows: string[][] = [];
  for (const [atOnce, all] of LOADS) {
    const count = Math.ceil(all * (options.seconds < 1 ? 0.2 : 1));
    const [owns, peers]: [Figures[], Figures[]] = [[], []];
    for (let round = 0; round < Math.min(3, options.rounds); round++) {
      owns.push(await load(own.sequence, atOnce, count));
      if (peer !== undefined) peers.push(await load(peer.sequence, atOnce, Math.ceil(count / SHARE_OF_PEER)));
    }
    rows.push([`insidecar: 3 activities, ${whole(atOnce)} at a time`, ...shown(owns)]);
    if (peers.length > 0) rows.push([`DBOS: the same`, ...shown(peers)]);
  }
  return rows;
}

/** The first workflows of a process: V8 has compiled little of the code by then. */
async function firstRow(own: Contender): Promise<string[]> {
  const { user, system } = process.cpuUsage();
  const figures = await load(own.sequence, 64, FIRST);
  const after = process.cpuUsage();
  const micros = (after.user + after.system - user - system) / FIRST;
  return [`the first ${whole(FIRST)}, 64 at a time: ${micros.toFixed(0)} µs CPU each`, ...shown([figures])];
}

/** What their rows cost by themselves: no store on SQLite lets more of them end. */
async function floorRow([atOnce, all]: (typeof LOADS)[number]): Promise<string[]> {
  const count = Math.ceil(all * (options.seconds < 1 ? 0.2 : 1));
  const { definition, commits } = recorded(embeddedState({ path: newDirectory() }));
  const own = await startOwn(definition);
  const before = commits.length;
  await load(own.sequence, atOnce, count);
  const rates: number[] = [];
  for (let round = 0; round < Math.min(3, options.rounds); round++)
    rates.push((count * 1_000) / (await writtenDirectlyMs(newDirectory(), commits.slice(before))));
  await own.close();
  return [`SQLite directly: the rows of ${whole(atOnce)} at a time`, `${whole(median(rates))}/s`, '', ''];
}

function shown(figures: readonly Figures[]): string[] {
  const of = (pick: (figures: Figures) => number): number => median(figures.map(pick));
  return [`${whole(of((f) => f.perSecond))}/s`, ms(of((f) => f.p50)), ms(of((f) => f.p99))];
}

async function single(own: RunOne, peer: RunOne | undefined, input: number): Promise<readonly [number, number?]> {
  const [owns, peers]: [number[], number[]] = [[], []];
  for (let round = 0; round < Math.min(3, options.rounds); round++) {
    owns.push(await timed(() => own(input)));
    if (peer !== undefined && round === 0) peers.push(await timed(() => peer(input)));
  }
  return peers.length === 0 ? [median(owns)] : [median(owns), median(peers)];
}

function singleRows(what: string, [own, peer]: readonly [number, number?]): string[][] {
  const rows = [[`insidecar: ${what}`, '', ms(own), '']];
  if (peer !== undefined) rows.push(['DBOS: the same', '', ms(peer), '']);
  return rows;
}

const peer = await startDbos().catch((error: Error) => console.log(`DBOS does not run here: ${error.message}`));
const own = await startOwn();
try {
  const rows: string[][] = [];
  const wants = (part: string): boolean => options.only === undefined || options.only === part;
  const first = await firstRow(own);
  if (wants('sequence')) rows.push(first, ...(await sequences(own, peer || undefined)));
  if (wants('sequence')) for (const size of LOADS) rows.push(await floorRow(size));
  if (wants('fan-out')) {
    const figures = await single(own.fanOut, peer?.fanOut, FAN_OUT);
    rows.push(...singleRows(`fan-out to ${whole(FAN_OUT)} activities`, figures));
    const large = await single(own.fanOut, undefined, LARGE_FAN_OUT);
    rows.push(...singleRows(`fan-out to ${whole(LARGE_FAN_OUT)} activities`, large));
  }
  if (wants('history')) {
    // Each activity is two events.
    const figures = await single(own.history, undefined, HISTORY_EVENTS / 2);
    rows.push(...singleRows(`a history of ${whole(HISTORY_EVENTS)} events, one after the other`, figures));
  }
  if (wants('replay')) {
    const took: number[] = [];
    for (let round = 0; round < Math.min(3, options.rounds); round++) took.push(await replayMs(HISTORY_EVENTS / 2));
    rows.push(...singleRows(`going on with a history of ${whole(HISTORY_EVENTS)} events`, [median(took)]));
  }
  printTable(['', 'workflows', 'p50', 'p99'], rows);
} finally {
  await own.close();
  if (peer) await peer.close();
  rmSync(root, { recursive: true, force: true });
}
