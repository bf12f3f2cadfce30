/**
 * Publish over HTTP through every adapter, next to the same framework doing it by hand. See README.md.
 *
 * Usage: `npx tsx bench/publish.ts [--quick] [--only node|express|koa|fetch] [--cold] [--rounds n]
 * [--seconds s] [--connections n] [--profile directory]`
 */
import { type Contender, startContender } from './support/contender.ts';
import { Load } from './support/load.ts';
import { type BenchOptions, readOptions } from './support/options.ts';
import { PAYLOAD, PUBLISH_PATH } from './support/payload.ts';
import { median, printTable, ratio, spread } from './support/stats.ts';

const ADAPTERS = ['node', 'express', 'koa', 'fetch'];
const ROLES = ['floor', 'publish', 'deliver'] as const;
const LABELS = {
  floor: 'by hand: route, read, parse, 204',
  publish: 'insidecar: publish',
  deliver: 'insidecar: publish and deliver in process',
};

interface Entrant {
  readonly label: string;
  readonly contender: Contender;
  readonly load: Load;
  readonly requestsPerSecond: number[];
  readonly cpuMicros: number[];
}

/** The requests after a start that `--cold` measures: V8 has compiled little of the code by then. */
const COLD_REQUESTS = 2_000;

async function enter(adapter: string, role: (typeof ROLES)[number], options: BenchOptions): Promise<Entrant> {
  const contender = await startContender('./publish-server.ts', `${adapter}-${role}`, options);
  const { connections } = options;
  const load = await Load.open({ port: contender.port, connections, path: PUBLISH_PATH, body: PAYLOAD });
  return { label: `${adapter}  ${LABELS[role]}`, contender, load, requestsPerSecond: [], cpuMicros: [] };
}

async function leave({ load, contender }: Entrant): Promise<void> {
  load.close();
  await contender.stop();
}

async function measure(entrant: Entrant, delivers: boolean, seconds: number): Promise<void> {
  const before = await entrant.contender.usage();
  const { requests, seconds: taken } = await entrant.load.run(seconds);
  const after = await entrant.contender.usage();
  const delivered = after.delivered - before.delivered;
  // The question for the usage may overtake the last deliveries.
  if (delivers && Math.abs(delivered - requests) > 100)
    throw new Error(`${entrant.label}: ${delivered} of ${requests} delivered`);
  entrant.requestsPerSecond.push(requests / taken);
  entrant.cpuMicros.push((after.cpuMicros - before.cpuMicros) / requests);
}

async function compare(adapter: string, options: BenchOptions): Promise<string[][]> {
  const entrants: Entrant[] = [];
  for (const role of ROLES) {
    const entrant = await enter(adapter, role, options);
    await entrant.load.run(options.warmupSeconds);
    entrants.push(entrant);
  }
  for (let round = 0; round < options.rounds; round++) {
    // Each round begins with another contender, so that nobody always follows the same one.
    for (let turn = 0; turn < entrants.length; turn++) {
      const at = (round + turn) % entrants.length;
      const entrant = entrants[at];
      if (entrant !== undefined) await measure(entrant, ROLES[at] === 'deliver', options.seconds);
    }
  }
  for (const entrant of entrants) await leave(entrant);
  return rowsOf(entrants);
}

/** Starts each contender anew in every round and sends its first requests. */
async function compareCold(adapter: string, options: BenchOptions): Promise<string[][]> {
  const entrants = new Map<string, Entrant>();
  for (let round = 0; round < options.rounds; round++) {
    for (const role of ROLES) {
      const started = await enter(adapter, role, options);
      const entrant = entrants.get(role) ?? started;
      entrants.set(role, entrant);
      const before = await started.contender.usage();
      const startedAt = performance.now();
      await started.load.send(COLD_REQUESTS);
      entrant.requestsPerSecond.push((COLD_REQUESTS * 1_000) / (performance.now() - startedAt));
      const after = await started.contender.usage();
      entrant.cpuMicros.push((after.cpuMicros - before.cpuMicros) / COLD_REQUESTS);
      await leave(started);
    }
  }
  return rowsOf([...entrants.values()]);
}

function rowsOf(entrants: readonly Entrant[]): string[][] {
  const [floor] = entrants;
  return entrants.map(({ label, requestsPerSecond, cpuMicros }) => [
    label,
    Math.round(median(requestsPerSecond)).toLocaleString('en'),
    spread(cpuMicros, 1),
    ratio(requestsPerSecond, floor?.requestsPerSecond ?? []).toFixed(2),
    ratio(floor?.cpuMicros ?? [], cpuMicros).toFixed(2),
  ]);
}

const options = readOptions(ADAPTERS);
console.log(
  `publish: POST ${PUBLISH_PATH}, ${PAYLOAD.length} bytes of JSON, ${options.connections} connections; ` +
    `Node ${process.version}, ${options.rounds} rounds of ` +
    (options.cold ? `the first ${COLD_REQUESTS} requests after a start\n` : `${options.seconds} s each\n`),
);
const rows: string[][] = [];
for (const adapter of ADAPTERS) {
  if (options.only === undefined || options.only === adapter) {
    rows.push(...(await (options.cold ? compareCold : compare)(adapter, options)));
  }
}
printTable(['', 'req/s', 'CPU µs/req', 'ratio req/s', 'ratio CPU'], rows);
console.log('\nratio CPU = CPU time by hand / CPU time with insidecar; 1.00 costs nothing. "publish" is the headline.');
