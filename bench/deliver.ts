/**
 * Publish → deliver: in one process, observed, and over HTTP both ways. See README.md.
 *
 * Usage: `npx tsx bench/deliver.ts [--quick] [--only process|telemetry|http] [--rounds n] [--seconds s] [--connections n]
 * [--profile directory]`
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Contender, firstMicrosOf, startContender } from './support/contender.ts';
import { Load } from './support/load.ts';
import { readOptions } from './support/options.ts';
import { PAYLOAD, PUBLISH_PATH } from './support/payload.ts';
import { median, printTable, ratio, spread } from './support/stats.ts';

interface Entrant {
  readonly label: string;
  readonly contender: Contender;
  /** Puts messages through for so long; returns how many. */
  readonly run: (seconds: number) => Promise<number>;
  /** CPU time of each of its first messages, where they come from outside. */
  readonly firstMicros?: number;
  readonly end: () => Promise<void>;
  readonly perSecond: number[];
  readonly cpuMicros: number[];
}

const MODULE = './deliver-worker.ts';
const IN_PROCESS = [
  ['queue', 'by hand: JSON to bytes, array, parse, await handler'],
  ['node:events', 'node:events: emit the object, await handler'],
  ['eventemitter3', 'eventemitter3: emit the object, await handler'],
  ['function', 'insidecar: typed publish → function'],
  ['listener', 'insidecar: typed publish → in-process listener'],
] as const;
const OBSERVED = [
  ['function', 'insidecar: typed publish → function'],
  ['counting', 'the same, with two listeners that count'],
  ['inspector', 'the same, with an inspector that nobody looks at'],
  ['recording', 'the same, with an inspector that records'],
  ['otel-0.01', 'the same, with OpenTelemetry, sampled at 0.01'],
  ['otel-1', 'the same, with OpenTelemetry, sampled at 1'],
] as const;
const OVER_HTTP = [
  ['http-by-hand', 'by hand: node:http, 204, undici to the application'],
  ['http', 'insidecar: node adapter → application on a port'],
  ['http-durable', 'the same, durable: on disk before the 204, settled on disk'],
] as const;

/** Accepted and not yet delivered messages: publishing is faster than delivering, and the queue is to stay short. */
const MAX_UNCONFIRMED = 256;

const options = readOptions(['process', 'http', 'telemetry']);

async function enterInProcess(name: string, label: string): Promise<Entrant> {
  const contender = await startContender(MODULE, name, options);
  const run = (seconds: number): Promise<number> => contender.run(seconds);
  return { label, contender, run, end: () => contender.stop(), perSecond: [], cpuMicros: [] };
}

/** The application of both contenders is here, where the load comes from: it confirms what it received. */
async function enterOverHttp(name: string, label: string): Promise<Entrant> {
  let received = (): void => undefined;
  const app = await listen((isMessage) => isMessage && received());
  const argument = String((app.address() as AddressInfo).port);
  const contender = await startContender(MODULE, name, { ...options, argument });
  const { connections } = options;
  const target = { port: contender.port, path: PUBLISH_PATH, body: PAYLOAD };
  const load = await Load.open({ ...target, connections, maxUnconfirmed: MAX_UNCONFIRMED });
  received = () => load.confirm();
  const firstMicros = await firstMicrosOf(contender, load);
  const end = async (): Promise<void> => {
    load.close();
    await contender.stop();
    app.close();
    app.closeAllConnections();
  };
  const run = async (seconds: number): Promise<number> => (await load.run(seconds)).requests;
  return { label, contender, run, firstMicros, end, perSecond: [], cpuMicros: [] };
}

function listen(onRequest: (isMessage: boolean) => void): Promise<Server> {
  const app = createServer((req, res) => {
    req.resume();
    req.on('end', () => {
      if (req.method !== 'POST') res.statusCode = 404;
      res.end();
      onRequest(req.method === 'POST');
    });
  });
  app.keepAliveTimeout = 0;
  return new Promise((resolve) => {
    app.listen(0, '127.0.0.1', () => resolve(app));
  });
}

async function measure({ contender, run, perSecond, cpuMicros }: Entrant): Promise<void> {
  const before = await contender.usage();
  const startedAt = performance.now();
  const messages = await run(options.seconds);
  const taken = (performance.now() - startedAt) / 1_000;
  const after = await contender.usage();
  perSecond.push(messages / taken);
  cpuMicros.push((after.cpuMicros - before.cpuMicros) / messages);
}

async function compare(title: string, entering: readonly (() => Promise<Entrant>)[]): Promise<void> {
  const entrants: Entrant[] = [];
  for (const enter of entering) {
    const entrant = await enter();
    await entrant.run(options.warmupSeconds);
    entrants.push(entrant);
  }
  for (let round = 0; round < options.rounds; round++) {
    for (let turn = 0; turn < entrants.length; turn++) {
      const entrant = entrants[(round + turn) % entrants.length];
      if (entrant !== undefined) await measure(entrant);
    }
  }
  for (const { end } of entrants) await end();
  const floor = entrants[0];
  const rows = entrants.map(({ label, perSecond, cpuMicros, firstMicros }) => [
    label,
    Math.round(median(perSecond)).toLocaleString('en'),
    spread(cpuMicros, 1),
    ratio(perSecond, floor?.perSecond ?? []).toFixed(2),
    ratio(floor?.cpuMicros ?? [], cpuMicros).toFixed(2),
    ...(firstMicros === undefined ? [] : [firstMicros.toFixed(0)]),
  ]);
  const first = floor?.firstMicros === undefined ? [] : ['first 2,000: CPU µs'];
  printTable([title, 'messages/s', 'CPU µs/message', 'ratio msg/s', 'ratio CPU', ...first], rows);
  console.log();
}

console.log(
  `deliver: ${PAYLOAD.length} bytes of JSON; Node ${process.version}, ${options.rounds} rounds of ${options.seconds} s each\n`,
);
const { only } = options;
if (only === undefined || only === 'process')
  await compare(
    'in one process',
    IN_PROCESS.map(
      ([name, label]) =>
        () =>
          enterInProcess(name, label),
    ),
  );
if (only === undefined || only === 'telemetry')
  await compare(
    'observed',
    OBSERVED.map(
      ([name, label]) =>
        () =>
          enterInProcess(name, label),
    ),
  );
if (only === undefined || only === 'http')
  await compare(
    'over HTTP, both hops',
    OVER_HTTP.map(
      ([name, label]) =>
        () =>
          enterOverHttp(name, label),
    ),
  );
console.log('Ratios are to the first row of each table. CPU is that of the contender, not of load and application.');
