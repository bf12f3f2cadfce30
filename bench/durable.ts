/**
 * Durable publish over HTTP (on disk before the 204), next to the same server with the memory component and to a bare
 * loop of append and fdatasync; the event loop's delay meanwhile; delivery; start-up with a million messages. See README.md.
 *
 * Usage: `npx tsx bench/durable.ts [--quick] [--rounds n] [--seconds s] [--connections n]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fdatasync, openSync, write } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Contender, firstMicrosOf, startContender, type Usage } from './support/contender.ts';
import { Load } from './support/load.ts';
import { type BenchOptions, readOptions } from './support/options.ts';
import { PAYLOAD, PUBLISH_PATH } from './support/payload.ts';
import { median, printTable, ratio, spread } from './support/stats.ts';

const LABELS = {
  memory: 'memory: publish, nothing kept',
  durable: 'embedded: publish, on disk before 204',
  'durable-slow': 'embedded, each sync 5 ms slower: publish',
  'memory-deliver': 'memory: publish, deliver, settle',
  'durable-deliver': 'embedded: publish, deliver, settle',
} as const;
type Name = keyof typeof LABELS;

interface Entrant {
  readonly name: Name;
  readonly contender: Contender;
  readonly load: Load;
  /** CPU time of each of its first requests. */
  readonly firstMicros: number;
  readonly requests: number[];
  readonly cpuMicros: number[];
  readonly delays: number[];
}

const directory = await mkdtemp(join(tmpdir(), 'insidecar-bench-'));

async function enter(name: Name, options: BenchOptions): Promise<Entrant> {
  const contender = await startContender('./durable-server.ts', name, { argument: join(directory, name) });
  const load = await Load.open({
    port: contender.port,
    connections: options.connections,
    path: PUBLISH_PATH,
    body: PAYLOAD,
  });
  const firstMicros = await firstMicrosOf(contender, load);
  await load.run(options.warmupSeconds);
  return { name, contender, load, firstMicros, requests: [], cpuMicros: [], delays: [] };
}

async function measure(entrant: Entrant, seconds: number): Promise<void> {
  const before = await entrant.contender.usage();
  const { requests, seconds: taken } = await entrant.load.run(seconds);
  const after = (await entrant.contender.usage()) as Usage & { readonly loopDelayP99Ms: number };
  entrant.requests.push(requests / taken);
  entrant.cpuMicros.push((after.cpuMicros - before.cpuMicros) / requests);
  entrant.delays.push(after.loopDelayP99Ms);
}

/** What the disk can do: one append and sync after the other. */
async function syncsPerSecond(seconds: number): Promise<number> {
  const file = openSync(join(directory, 'raw'), 'a');
  const [append, sync] = [promisify(write), promisify(fdatasync)];
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  for (; performance.now() < end; count++) {
    await append(file, Buffer.from(PAYLOAD));
    await sync(file);
  }
  closeSync(file);
  return count / seconds;
}

async function compare(options: BenchOptions): Promise<void> {
  const entrants: Entrant[] = [];
  const raw: number[] = [];
  for (const name of Object.keys(LABELS) as Name[]) entrants.push(await enter(name, options));
  for (let round = 0; round < options.rounds; round++) {
    raw.push(await syncsPerSecond(options.seconds / 2));
    for (let turn = 0; turn < entrants.length; turn++) {
      const entrant = entrants[(round + turn) % entrants.length];
      if (entrant !== undefined) await measure(entrant, options.seconds);
    }
  }
  for (const { load, contender } of entrants) {
    load.close();
    await contender.stop();
  }
  const floorOf = (name: Name): Entrant | undefined =>
    entrants.find((other) => other.name === (name.includes('deliver') ? 'memory-deliver' : 'memory'));
  const rows = entrants.map(({ name, firstMicros, requests, cpuMicros, delays }) => [
    LABELS[name],
    Math.round(median(requests)).toLocaleString('en'),
    spread(cpuMicros, 1),
    firstMicros.toFixed(0),
    ratio(requests, floorOf(name)?.requests ?? []).toFixed(2),
    ratio(requests, raw).toFixed(1),
    median(delays).toFixed(1),
  ]);
  rows.push([
    'append and fdatasync, one after the other',
    Math.round(median(raw)).toLocaleString('en'),
    '',
    '',
    '',
    '1.0',
    '',
  ]);
  printTable(
    ['', 'req/s', 'CPU µs/req', 'first 2,000: CPU µs', 'of memory', 'of raw syncs', 'loop delay p99 ms'],
    rows,
  );
}

async function startUp(messages: number): Promise<void> {
  const path = join(directory, 'backlog');
  const child = async (task: string): Promise<Record<string, number>> => {
    const program = fork(
      fileURLToPath(new URL('./support/backlog.ts', import.meta.url)),
      [task, path, String(messages)],
      {
        execArgv: ['--import', 'tsx'],
      },
    );
    const [reply] = (await once(program, 'message')) as [Record<string, number>];
    await once(program, 'exit');
    return reply;
  };
  await child('fill');
  const { startMs = 0, firstMs = 0, rssMb = 0 } = await child('start');
  console.log(
    `\nstart-up with ${messages.toLocaleString('en')} queued messages: start() ${startMs.toFixed(0)} ms, ` +
      `first message delivered after ${firstMs.toFixed(0)} ms, resident ${rssMb.toFixed(0)} MB`,
  );
}

const options = readOptions([]);
console.log(
  `durable: POST ${PUBLISH_PATH}, ${PAYLOAD.length} bytes of JSON, ${options.connections} connections; ` +
    `Node ${process.version}, ${options.rounds} rounds of ${options.seconds} s each\n`,
);
try {
  await compare(options);
  await startUp(process.argv.includes('--quick') ? 100_000 : 1_000_000);
} finally {
  await rm(directory, { recursive: true, force: true });
}
