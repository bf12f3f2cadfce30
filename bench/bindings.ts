/**
 * Bindings: `insidecar run` beside `daprd` with the same component files: CPU at rest with one schedule, ticks of cron
 * delivered to an application over HTTP, and calls of HTTP and PostgreSQL. CPU is that of the sidecar. See README.md.
 *
 * Usage: `[DAPRD=<path of daprd>] npx tsx bench/bindings.ts [--quick] [--rounds n] [--seconds s] [--connections n]
 * [--only idle|cron|http|postgresql]`. On Linux.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import { connectPg } from '../test/support/pg-client.ts';
import { startPostgresql } from '../test/support/servers.ts';
import type { ComponentFile } from './support/component-file.ts';
import { startContender } from './support/contender.ts';
import { ExchangeLoad, requestBytes } from './support/exchange-load.ts';
import { readOptions } from './support/options.ts';
import { type Kind, SidecarCommand } from './support/sidecar-command.ts';
import { printTable } from './support/stats.ts';
import { type Entrant, noFigures, rowOf, takeTurns, type Work } from './support/turns.ts';

/** Bindings that tick each second. */
const SCHEDULES = 200;
/** Long enough for several ticks of each. */
const TICKING_SECONDS = 5;
/** The clock of CPU time has steps of 10 ms. */
const IDLE_SECONDS = 20;
const MAX_WAIT_MS = 30_000;
const ORDERS = 1_000;

const options = readOptions(['idle', 'cron', 'http', 'postgresql']);
const { DAPRD: daprd } = process.env;
const kinds: readonly Kind[] = daprd === undefined ? ['insidecar'] : ['insidecar', 'daprd'];
const directory = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
const rows: string[][] = [];

/** Starts each sidecar, and has them work in turn. */
async function inTurn(
  label: string,
  components: readonly ComponentFile[],
  open: (sidecar: SidecarCommand) => Promise<Work>,
  {
    appPorts = [],
    seconds = options.seconds,
  }: { readonly appPorts?: readonly number[]; readonly seconds?: number } = {},
): Promise<void> {
  const sidecars: SidecarCommand[] = [];
  try {
    const entrants: Entrant[] = [];
    for (const [index, kind] of kinds.entries()) {
      const programs = { daprd: daprd ?? '', scheduler: undefined, directory };
      const wanted = { insidecar: components, daprd: components };
      const [appPort] = appPorts.slice(index);
      const sidecar = await SidecarCommand.start(kind, programs, {
        components: wanted,
        ...(appPort === undefined ? {} : { appPort }),
      });
      sidecars.push(sidecar);
      entrants.push({ work: await open(sidecar), cpuMicros: () => sidecar.cpuMicros });
    }
    const [own = noFigures(), peer = noFigures()] = await takeTurns(entrants, { ...options, seconds });
    rows.push(rowOf(label, own, peer).slice(0, daprd === undefined ? 3 : undefined));
  } finally {
    for (const sidecar of sidecars) await sidecar[Symbol.asyncDispose]();
  }
}

const cron = (name: string, schedule: string): ComponentFile => ({
  name,
  type: 'bindings.cron',
  metadata: { schedule, direction: 'input' },
});

/** Each sidecar has an application of its own, which counts what comes. */
async function ticking(label: string, components: readonly ComponentFile[], counts: boolean): Promise<void> {
  const apps = await Promise.all(kinds.map(() => startContender('./daprd-app-server.ts', 'app')));
  try {
    await inTurn(
      label,
      components,
      async ({ kind }) => {
        const app = apps[kinds.indexOf(kind)];
        const delivered = async (): Promise<number> => (await app?.usage())?.delivered ?? 0;
        for (let waitedMs = 0; counts && (await delivered()) === 0 && waitedMs < MAX_WAIT_MS; waitedMs += 100)
          await sleep(100);
        return async (seconds) => {
          const [before, startedAt] = [await delivered(), performance.now()];
          await sleep(seconds * 1_000);
          const taken = (performance.now() - startedAt) / 1_000;
          return { requests: counts ? (await delivered()) - before : taken, seconds: taken };
        };
      },
      { appPorts: apps.map(({ port }) => port), seconds: counts ? TICKING_SECONDS : IDLE_SECONDS },
    );
  } finally {
    for (const app of apps) await app.stop();
  }
}

/** Calls of a binding, the same ones by each connection. */
async function calling(label: string, component: ComponentFile, calls: readonly object[]): Promise<void> {
  for (const connections of [1, options.connections])
    await inTurn(`${label}, callers: ${connections}`, [component], async ({ port }) => {
      const path = `/v1.0/bindings/${component.name}`;
      const bytes = calls.map((call) => requestBytes({ port, method: 'POST', path, body: JSON.stringify(call) }));
      const load = await ExchangeLoad.open({ port, connections, requestsOf: () => bytes });
      return (seconds) => load.run(seconds);
    });
}

async function overHttp(): Promise<void> {
  const target = await startContender('./daprd-app-server.ts', 'target');
  const component = { name: 'web', type: 'bindings.http', metadata: { url: `http://127.0.0.1:${target.port}` } };
  const order = { orderId: 1, item: 'kettle', price: 39.9 };
  await calling('http, get of 1 KB', component, [{ operation: 'get', metadata: { path: 'kilobyte' } }]);
  await calling('http, post', component, [{ operation: 'post', data: order }]);
  await target.stop();
}

async function onPostgresql(): Promise<void> {
  await using server = await startPostgresql();
  using _onSignal = disposeOnSignal(server);
  const url = `postgresql://postgres@127.0.0.1:${server.port}/postgres`;
  await using database = await connectPg(url);
  await database.query('create table orders (id int primary key, item text, price numeric)');
  await database.query(`insert into orders select n, 'item ' || n, n / 10.0 from generate_series(1, ${ORDERS}) n`);
  // As many connections as daprd opens at most.
  const component = { name: 'db', type: 'bindings.postgresql', metadata: { url, maxConns: '4' } };
  const sql = 'select id, item, price from orders where id = $1';
  const query = { operation: 'query', metadata: { sql, params: '[7]' } };
  await calling('postgresql, query of a row', component, [query]);
  const update = 'update orders set price = price + $1 where id = $2';
  const execs = [1, 2, 3, 4].map((id) => ({ operation: 'exec', metadata: { sql: update, params: `[1, ${id}]` } }));
  await calling('postgresql, update of a row', component, execs);
}

const isWanted = (name: string): boolean => options.only === undefined || options.only === name;

try {
  if (isWanted('idle')) await ticking('at rest, CPU per second', [cron('tick', '@every 1h')], false);
  if (isWanted('cron')) {
    const components = Array.from({ length: SCHEDULES }, (_, at) => cron(`tick-${at}`, '@every 1s'));
    await ticking(`cron, ${SCHEDULES} schedules of 1 s`, components, true);
  }
  if (isWanted('http')) await overHttp();
  if (isWanted('postgresql')) await onPostgresql();
  const peer = daprd === undefined ? [] : ['daprd/s', 'CPU', '× as fast', '÷ CPU'];
  printTable(['', 'insidecar/s', 'CPU', ...peer], rows);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
