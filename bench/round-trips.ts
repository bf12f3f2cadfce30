/**
 * How often a store is called for a unit of work: a message that is published, delivered to a function and settled; a
 * job that is scheduled for now and run; a workflow of three steps. One at a time, and 64 at a time. Every call of the
 * store, which is in memory, takes 1 ms more, as on a store that a network is in front of: what waits for a call, and
 * what is gathered meanwhile, is as it would be there. On a store of this process alone, on one that others may have open
 * too, and on such a one with two hosts of one app ID, who do every other unit each. For those also how often a store is
 * called within a second in which nothing is to be done but for 500 jobs of another day. `apart`: two hosts as if each
 * were in a process of its own, and a workflow that belongs to the other one than starts it and waits for it; without a
 * secret, so that it goes through the store, and with one.
 *
 * Run after a build: `npx tsx bench/round-trips.ts [--quick] [--only messages|jobs|workflows|idle|apart]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { defineJob, type Sidecar } from '../src/index.ts';
import { loadBuilt } from './support/built.ts';
import { FarStore, type StoreCalls } from './support/far-store.ts';
import { TwoHosts } from './support/other-host.ts';
import { printTable } from './support/stats.ts';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } });
const ROUND_TRIP_MS = 1;
/** So long until two hosts have divided the shards. */
const HAND_OVER_MS = 2_000;
/** A poll of 15 s belongs to it. */
const IDLE_S = options.quick ? 16 : 31;
const AT_ONCE = [1, 64];
/** Units of work by how many are at work at a time. */
const UNITS = options.quick ? { 1: 50, 64: 1_280 } : { 1: 500, 64: 12_800 };
const DATA = { orderId: 4711, customer: 'c-0815', items: [1, 2, 3] };

const built = await loadBuilt();
const { Sidecar: Built, defineActivity, defineWorkflow, durablePubSub, memoryState } = built;

/** Does one unit of work to its end. */
type DoOne = (index: number) => Promise<void>;

/** Calls back when the unit of a number is done. */
class Ends {
  readonly #waiting = new Map<number, () => void>();

  of(index: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(index, resolve));
  }

  tell(index: number): void {
    this.#waiting.get(index)?.();
    this.#waiting.delete(index);
  }
}

async function messages({ pubsub }: Sidecar, ends: Ends): Promise<DoOne> {
  await pubsub.subscribe<{ index: number }>('pubsub', 'orders', ({ data }) => ends.tell(data?.index ?? -1), {
    concurrency: 64,
  });
  return async (index) => {
    const end = ends.of(index);
    await pubsub.publish('pubsub', 'orders', { ...DATA, index });
    await end;
  };
}

async function jobs({ jobs: own }: Sidecar, ends: Ends): Promise<DoOne> {
  await own.register(defineJob('*', ({ index }: { index: number }) => ends.tell(index)));
  return async (index) => {
    const end = ends.of(index);
    await own.schedule(`job-${index}`, { dueTime: '0s', data: { ...DATA, index } });
    await end;
  };
}

function register({ workflows: own }: Sidecar): (instanceId?: string) => Promise<void> {
  const step = defineActivity('step', (order: typeof DATA) => ({ ...order, orderId: order.orderId + 1 }));
  const sequence = defineWorkflow('sequence', async (ctx, order: typeof DATA) => {
    const first = await ctx.callActivity(step, order);
    const second = await ctx.callActivity(step, first);
    return ctx.callActivity(step, second);
  });
  own.register(step, sequence);
  return async (instanceId) => {
    const run = await own.start(sequence, DATA, instanceId === undefined ? {} : { instanceId });
    await run.result();
  };
}

async function workflows(sidecar: Sidecar): Promise<DoOne> {
  const run = register(sidecar);
  return () => run();
}

async function doAll(doOne: DoOne, from: number, units: number, atOnce: number): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    while (next < from + units) await doOne(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function row(where: Place, what: string, atOnce: number, units: number, calls: StoreCalls): string[] {
  const { commit, get, scan } = calls;
  const perUnit = (count: number): string => (count / units).toFixed(3);
  const each = [commit + get + scan, commit, get, scan].map(perUnit);
  return [where.name, what, String(atOnce), ...each];
}

/** A kind of store, and how many hosts use it. */
interface Place {
  readonly name: string;
  readonly isShareable: boolean;
  readonly hosts: number;
}

const PLACES: readonly Place[] = [
  { name: 'exclusive', isShareable: false, hosts: 1 },
  { name: 'shareable', isShareable: true, hosts: 1 },
  { name: 'two hosts', isShareable: true, hosts: 2 },
];

async function start({ isShareable, hosts }: Place): Promise<{ store: FarStore; sidecars: Sidecar[] }> {
  const store = new FarStore(memoryState(), ROUND_TRIP_MS, { isShareable });
  const sidecars: Sidecar[] = [];
  for (let host = 0; host < hosts; host++) {
    const sidecar = new Built({ appId: 'bench', state: store.definition, components: [durablePubSub('pubsub')] });
    await sidecar.start();
    sidecars.push(sidecar);
  }
  return { store, sidecars };
}

async function measure(where: Place, what: keyof typeof makers): Promise<string[][]> {
  const { store, sidecars } = await start(where);
  const ends = new Ends();
  const doers: DoOne[] = [];
  for (const sidecar of sidecars) doers.push(await makers[what](sidecar, ends));
  const doOne: DoOne = (index) => doers[index % doers.length]?.(index) ?? Promise.resolve();
  await sleep(sidecars.length > 1 ? HAND_OVER_MS : 0);
  const rows = await measureRows(where, what, store, doOne);
  for (const sidecar of sidecars) await sidecar.stop();
  return rows;
}

async function measureRows(where: Place, what: string, store: FarStore, doOne: DoOne): Promise<string[][]> {
  const rows: string[][] = [];
  let from = 0;
  for (const atOnce of AT_ONCE) {
    const units = UNITS[atOnce as keyof typeof UNITS];
    await doAll(doOne, from, atOnce * 2, atOnce);
    // What the last units leave to be written belongs to them.
    await sleep(100);
    store.take();
    await doAll(doOne, from + atOnce * 2, units, atOnce);
    await sleep(100);
    rows.push(row(where, what, atOnce, units, store.take()));
    from += atOnce * 2 + units;
  }
  return rows;
}

/** Workflows that another host owns than the one at work. */
async function apart(isForwarded: boolean): Promise<string[][]> {
  const hosts = await TwoHosts.open(built, { roundTripMs: ROUND_TRIP_MS, isForwarded });
  const [run = () => Promise.resolve()] = hosts.sidecars.map(register);
  const where = { name: isForwarded ? 'forwarded' : 'through the store', isShareable: true, hosts: 2 };
  const rows = await measureRows(where, 'workflows', hosts.store, (index) => run(hosts.theirId(index)));
  await hosts.close();
  return rows;
}

async function idle(where: Place): Promise<string[]> {
  const { store, sidecars } = await start(where);
  for (const sidecar of sidecars) {
    await messages(sidecar, new Ends());
    await jobs(sidecar, new Ends());
    await workflows(sidecar);
  }
  for (let index = 0; index < 500; index++)
    await sidecars[0]?.jobs.schedule(`job-${index}`, { dueTime: '24h', data: DATA });
  await sleep(sidecars.length > 1 ? HAND_OVER_MS : 0);
  store.take();
  await sleep(IDLE_S * 1_000);
  const idleRow = row(where, 'idle, per second and host', 0, IDLE_S * where.hosts, store.take());
  for (const sidecar of sidecars) await sidecar.stop();
  return idleRow;
}

const makers = { messages, jobs, workflows };
const parts = ['messages', 'jobs', 'workflows'] as const;
const isAsked = (part: string): boolean => options.only === undefined || part === options.only;
const rows: string[][] = [];
for (const where of PLACES) {
  for (const part of parts.filter(isAsked)) rows.push(...(await measure(where, part)));
  if (isAsked('idle')) rows.push(await idle(where));
}
if (isAsked('apart')) for (const isForwarded of [false, true]) rows.push(...(await apart(isForwarded)));
printTable(['store', 'work', 'at a time', 'calls per unit', 'commit', 'get', 'scan'], rows);
