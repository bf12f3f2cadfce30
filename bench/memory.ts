/**
 * Memory after up to a million messages through one sidecar: flat or not. See README.md.
 *
 * Usage: `npx tsx bench/memory.ts [--quick] [--way function|listener]`; starts itself again with `--expose-gc`.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Sidecar } from '../src/index.ts';
import { loadBuilt } from './support/built.ts';
import { PAYLOAD } from './support/payload.ts';
import { printTable } from './support/stats.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, way: { type: 'string' } },
});
const MARKS = values.quick ? [0, 10_000, 25_000, 50_000, 100_000] : [0, 100_000, 250_000, 500_000, 1_000_000];
const WAYS = ['function', 'listener'];
const data: unknown = JSON.parse(PAYLOAD);
const BURST = 100;
/** More growth of the heap than this between the second mark and the last is no noise any more. */
const FLAT_BYTES = 1024 * 1024;

let settled = 0;
let wake: (() => void) | undefined;

async function start(way: string): Promise<Sidecar> {
  const { Sidecar, memoryPubSub } = await loadBuilt();
  const components = [memoryPubSub('pubsub')];
  const sidecar = new Sidecar({
    appId: 'bench',
    components,
    ...(way === 'listener'
      ? {
          subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }],
          app: { listener: (req, res) => void res.writeHead(req.method === 'POST' ? 200 : 404).end() },
        }
      : {}),
  });
  sidecar.events.on('messageDelivered', () => {
    if (++settled % BURST === 0) wake?.();
  });
  await sidecar.start();
  await sidecar.ready();
  if (way === 'function') await sidecar.pubsub.subscribe('pubsub', 'orders', () => undefined);
  return sidecar;
}

/** Publishes until so many messages are settled, a burst at a time. */
async function until(mark: number, sidecar: Sidecar): Promise<void> {
  while (settled < mark) {
    const burst = new Promise<void>((resolve) => {
      wake = resolve;
    });
    for (let sent = 0; sent < BURST; sent++) await sidecar.pubsub.publish('pubsub', 'orders', data);
    await burst;
  }
}

/** What is left when everything that can be freed is. */
async function usage(): Promise<NodeJS.MemoryUsage> {
  for (let pass = 0; pass < 3; pass++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc?.();
  }
  return process.memoryUsage();
}

async function through(way: string): Promise<boolean> {
  const sidecar = await start(way);
  const rows: string[][] = [];
  const heaps: number[] = [];
  for (const mark of MARKS) {
    await until(mark, sidecar);
    const { rss, heapUsed, arrayBuffers } = await usage();
    heaps.push(heapUsed + arrayBuffers);
    rows.push([mark.toLocaleString('en'), ...[rss, heapUsed, arrayBuffers].map((bytes) => megabytes(bytes))]);
  }
  await sidecar.stop();
  const growth = (heaps.at(-1) ?? 0) - (heaps[1] ?? 0);
  const flat = growth < FLAT_BYTES;
  printTable([`messages to a ${way}`, 'RSS MB', 'heap MB', 'buffers MB'], rows);
  const [from, to] = [MARKS[1], MARKS.at(-1)].map((mark) => mark?.toLocaleString('en'));
  console.log(`${flat ? 'flat' : 'NOT FLAT'}: heap and buffers ${megabytes(growth)} MB from ${from} to ${to}\n`);
  return flat;
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(2);
}

if (globalThis.gc === undefined || values.way === undefined) {
  const ways = values.way === undefined ? WAYS : [values.way];
  const flags = [
    '--expose-gc',
    '--import',
    'tsx',
    fileURLToPath(import.meta.url),
    ...(values.quick ? ['--quick'] : []),
  ];
  for (const way of ways) {
    const { status } = spawnSync(process.execPath, [...flags, '--way', way], { stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
} else if (!WAYS.includes(values.way)) {
  throw new Error(`--way ${values.way}: expected ${WAYS.join(', ')}`);
} else {
  settled = 0;
  if (!(await through(values.way))) process.exitCode = 1;
}
