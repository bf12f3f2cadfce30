/**
 * How often a store is called for a unit of work: a message that is published, delivered to a function and settled; a
 * job that is scheduled for now and run; a workflow of three steps. One at a time, and 64 at a time. Every call of the
 * store, which is in memory, takes 1 ms more, as on a store that a network is in front of: what waits for a call, and
 * what is gathered meanwhile, is as it would be there.
 *
 * Run after a build: `npx tsx bench/round-trips.ts [--quick] [--only messages|jobs|workflows]`
 */
import { parseArgs } from 'node:util';
import type { Sidecar } from '../src/index.ts';
import { loadBuilt } from './support/built.ts';
import { FarStore, type StoreCalls } from './support/far-store.ts';
import { printTable } from './support/stats.ts';

const PARTS = ['messages', 'jobs', 'workflows'];
const { values: options } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } });
const ROUND_TRIP_MS = 1;
const AT_ONCE = [1, 64];
/** Units of work by how many are at work at a time. */
const UNITS = options.quick ? { 1: 50, 64: 1_280 } : { 1: 500, 64: 12_800 };
const DATA = { orderId: 4711, customer: 'c-0815', items: [1, 2, 3] };

const { Sidecar: Built, defineActivity, defineWorkflow, durablePubSub, memoryStore } = await loadBuilt();

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

async function messages({ pubsub }: Sidecar): Promise<DoOne> {
  const ends = new Ends();
  await pubsub.subscribe<{ index: number }>('pubsub', 'orders', ({ data }) => ends.tell(data?.index ?? -1), {
    concurrency: 64,
  });
  return async (index) => {
    const end = ends.of(index);
    await pubsub.publish('pubsub', 'orders', { ...DATA, index });
    await end;
  };
}

async function jobs({ jobs: own }: Sidecar): Promise<DoOne> {
  const ends = new Ends();
  own.handle<{ index: number }>('*', ({ data }) => ends.tell(data.index));
  return async (index) => {
    const end = ends.of(index);
    await own.schedule(`job-${index}`, { dueTime: '0s', data: { ...DATA, index } });
    await end;
  };
}

async function workflows({ workflows: own }: Sidecar): Promise<DoOne> {
  const step = defineActivity('step', (_ctx, order: typeof DATA) => ({ ...order, orderId: order.orderId + 1 }));
  const sequence = defineWorkflow('sequence', async (ctx, order: typeof DATA) => {
    const first = await ctx.callActivity(step, order);
    const second = await ctx.callActivity(step, first);
    return ctx.callActivity(step, second);
  });
  own.register(step, sequence);
  return async () => {
    const { status } = await own.waitForCompletion(await own.start(sequence, DATA));
    if (status !== 'COMPLETED') throw new Error(`the workflow is ${status}`);
  };
}

async function doAll(doOne: DoOne, from: number, units: number, atOnce: number): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    while (next < from + units) await doOne(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function row(what: string, atOnce: number, units: number, calls: StoreCalls): string[] {
  const { commit, get, scan } = calls;
  const perUnit = (count: number): string => (count / units).toFixed(3);
  return [what, String(atOnce), perUnit(commit + get + scan), perUnit(commit), perUnit(get), perUnit(scan)];
}

async function measure(what: string, make: (sidecar: Sidecar) => Promise<DoOne>): Promise<string[][]> {
  const store = new FarStore(memoryStore(), ROUND_TRIP_MS);
  const sidecar = new Built({ appId: 'bench', state: store.definition, components: [durablePubSub('pubsub')] });
  await sidecar.start();
  const doOne = await make(sidecar);
  const rows: string[][] = [];
  let from = 0;
  for (const atOnce of AT_ONCE) {
    const units = UNITS[atOnce as keyof typeof UNITS];
    await doAll(doOne, from, atOnce * 2, atOnce);
    // What the last units leave to be written belongs to them.
    await new Promise((resolve) => setTimeout(resolve, 100));
    store.take();
    await doAll(doOne, from + atOnce * 2, units, atOnce);
    await new Promise((resolve) => setTimeout(resolve, 100));
    rows.push(row(what, atOnce, units, store.take()));
    from += atOnce * 2 + units;
  }
  await sidecar.stop();
  return rows;
}

const makers = { messages, jobs, workflows };
const rows: string[][] = [];
for (const part of PARTS.filter((one) => options.only === undefined || one === options.only))
  rows.push(...(await measure(part, makers[part as keyof typeof makers])));
printTable(['work', 'at a time', 'calls per unit', 'commit', 'get', 'scan'], rows);
