/**
 * Service invocation through one hop, next to other proxies. See README.md.
 *
 * Usage: `npx tsx bench/invoke.ts [--quick] [--only get|post|big] [--rounds n] [--seconds s] [--connections n]
 * [--profile directory]`
 */
import { get } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type Contender, firstMicrosOf, startContender } from './support/contender.ts';
import { ExchangeLoad, requestBytes } from './support/exchange-load.ts';
import { type BenchOptions, readOptions } from './support/options.ts';
import { median, printTable, ratio, spread } from './support/stats.ts';

const PROXIES = {
  undici: 'undici dispatch, by hand',
  http: 'node:http with an agent, by hand',
  'http-proxy-3': 'http-proxy-3',
  fastify: '@fastify/http-proxy',
  insidecar: 'insidecar: invoke',
} as const;
type Name = keyof typeof PROXIES;
const NAMES = Object.keys(PROXIES) as Name[];

const LOADS = {
  get: { title: 'GET 1 KB', method: 'GET', path: '/data', bodyBytes: 0 },
  post: { title: 'POST 100 KB', method: 'POST', path: '/data', bodyBytes: 100 * 1_024 },
} as const;

interface Entrant {
  readonly name: Name;
  readonly contender: Contender;
  readonly load: ExchangeLoad;
  /** CPU time of each of its first requests. */
  readonly firstMicros: number;
  readonly requestsPerSecond: number[];
  readonly cpuMicros: number[];
  readonly p50: number[];
  readonly p99: number[];
}

function pathThrough(name: Name, path: string): string {
  return name === 'insidecar' ? `/v1.0/invoke/bench/method${path}` : path;
}

function quantile(sorted: Float64Array, at: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

async function enter(name: Name, appPort: number, kind: keyof typeof LOADS, options: BenchOptions): Promise<Entrant> {
  const { profile, connections, warmupSeconds } = options;
  const contender = await startContender('./invoke-proxy.ts', name, { profile, argument: String(appPort) });
  const { method, path, bodyBytes } = LOADS[kind];
  const { port } = contender;
  const body = bodyBytes === 0 ? {} : { body: Buffer.alloc(bodyBytes, 'x'), contentType: 'application/octet-stream' };
  const request = requestBytes({ port, method, path: pathThrough(name, path), ...body });
  const load = await ExchangeLoad.open({ port, connections, requestsOf: () => [request] });
  const firstMicros = await firstMicrosOf(contender, load);
  await load.run(warmupSeconds);
  return { name, contender, load, firstMicros, requestsPerSecond: [], cpuMicros: [], p50: [], p99: [] };
}

async function measure(entrant: Entrant, seconds: number): Promise<void> {
  const before = await entrant.contender.usage();
  const { requests, seconds: taken, latenciesMs } = await entrant.load.run(seconds);
  const after = await entrant.contender.usage();
  entrant.requestsPerSecond.push(requests / taken);
  entrant.cpuMicros.push((after.cpuMicros - before.cpuMicros) / requests);
  entrant.p50.push(quantile(latenciesMs, 0.5));
  entrant.p99.push(quantile(latenciesMs, 0.99));
}

async function compare(kind: keyof typeof LOADS, appPort: number, options: BenchOptions): Promise<void> {
  const entrants: Entrant[] = [];
  for (const name of NAMES) entrants.push(await enter(name, appPort, kind, options));
  for (let round = 0; round < options.rounds; round++) {
    for (let turn = 0; turn < entrants.length; turn++) {
      const entrant = entrants[(round + turn) % entrants.length];
      if (entrant !== undefined) await measure(entrant, options.seconds);
    }
  }
  for (const { load, contender } of entrants) {
    load.close();
    await contender.stop();
  }
  const floor = entrants[0];
  const rows = entrants.map(({ name, firstMicros, requestsPerSecond, cpuMicros, p50, p99 }) => [
    PROXIES[name],
    Math.round(median(requestsPerSecond)).toLocaleString('en'),
    ratio(requestsPerSecond, floor?.requestsPerSecond ?? []).toFixed(2),
    spread(cpuMicros, 1),
    ratio(floor?.cpuMicros ?? [], cpuMicros).toFixed(2),
    firstMicros.toFixed(0),
    `${median(p50).toFixed(2)} / ${median(p99).toFixed(2)}`,
  ]);
  console.log(`\n${LOADS[kind].title}`);
  printTable(['', 'req/s', 'ratio req/s', 'CPU µs/req', 'ratio CPU', 'first 2,000: CPU µs', 'p50 / p99 ms'], rows);
}

/** Reads 1 GB through a proxy; how many bytes came, and how fast. */
function readBig(port: number, path: string): Promise<{ bytes: number; seconds: number }> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, agent: false }, (res) => {
      let bytes = 0;
      res.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      res.on('end', () => resolve({ bytes, seconds: (performance.now() - startedAt) / 1_000 }));
      res.on('error', reject);
    }).on('error', reject);
  });
}

/** Asks again and again until something has ended. */
async function mostMemoryMb(contender: Contender, end: Promise<unknown>): Promise<number> {
  let most = 0;
  let ended = false;
  const done = (): void => {
    ended = true;
  };
  end.then(done, done);
  while (!ended) {
    most = Math.max(most, await contender.memoryMb());
    await setTimeout(50);
  }
  return most;
}

async function stream(appPort: number): Promise<void> {
  const rows: string[][] = [];
  for (const name of NAMES) {
    const contender = await startContender('./invoke-proxy.ts', name, { argument: String(appPort) });
    const path = pathThrough(name, '/big');
    const before = await contender.memoryMb();
    const reading = readBig(contender.port, path);
    const most = await mostMemoryMb(contender, reading);
    const { bytes, seconds } = await reading;
    await contender.stop();
    if (bytes !== 1_024 ** 3) throw new Error(`${name}: ${bytes} bytes of 1 GB came through`);
    rows.push([PROXIES[name], before.toFixed(0), most.toFixed(0), (1_024 / seconds).toFixed(0)]);
  }
  console.log('\n1 GB streamed');
  printTable(['', 'RSS before, MB', 'at most, MB', 'MB/s'], rows);
}

const options = readOptions(['get', 'post', 'big']);
console.log(
  `invoke: ${options.connections} connections; Node ${process.version}, ${options.rounds} rounds of ${options.seconds} s each`,
);
const app = await startContender('./invoke-backend.ts', 'app');
for (const kind of ['get', 'post'] as const)
  if (options.only === undefined || options.only === kind) await compare(kind, app.port, options);
if (options.only === undefined || options.only === 'big') await stream(app.port);
await app.stop();
