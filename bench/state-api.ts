/**
 * The state API: `insidecar run` beside `daprd` over HTTP with the same component file, for each store; and
 * `sidecar.state` in code beside the drivers of Redis and PostgreSQL by hand, in memory and in SQLite beside daprd. Then
 * locks and secrets over HTTP. CPU includes that of the server of the store. See README.md.
 *
 * Usage: `[DAPRD=<path of daprd>] npx tsx bench/state-api.ts [--quick] [--rounds n] [--seconds s] [--connections n]
 * [--only memory|sqlite|redis|postgresql|floor|code|locks|secrets] [--profile directory]`. Without daprd: in code on Redis and
 * PostgreSQL. On Linux.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import type { ComponentFile } from './support/component-file.ts';
import { type Contender, startContender } from './support/contender.ts';
import { ExchangeLoad, type ExchangeRequest, requestBytes } from './support/exchange-load.ts';
import { readOptions } from './support/options.ts';
import { orderOf } from './support/payload.ts';
import { type Kind, SidecarCommand } from './support/sidecar-command.ts';
import { openPlace, type Place, STORES, type Store } from './support/state-places.ts';
import { fillOverHttp, loadOf, OPERATIONS, type StateTask } from './support/state-work.ts';
import { printTable } from './support/stats.ts';
import { type Entrant, noFigures, rowOf, takeTurns } from './support/turns.ts';

const KINDS: readonly Kind[] = ['insidecar', 'daprd'];
const LABELS = { get: 'get', set: 'set', transact: 'transaction of 10', getMany: 'bulk read of 100' } as const;

const options = readOptions([...STORES, 'floor', 'code', 'locks', 'secrets']);
const { DAPRD: daprd } = process.env;
const directory = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));

/** What is measured, in order. */
function* tasks(): Generator<StateTask> {
  for (const valueBytes of [100, 4_096])
    for (const operation of OPERATIONS)
      for (const callers of [1, options.connections]) yield { operation, callers, valueBytes };
}

function labelOf({ operation, callers, valueBytes }: StateTask): string {
  const size = valueBytes < 1_024 ? `${valueBytes} B` : `${valueBytes / 1_024} KB`;
  return `${LABELS[operation]}, ${size}, ${callers} caller${callers === 1 ? '' : 's'}`;
}

function startCommand(kind: Kind, component: ComponentFile): Promise<SidecarCommand> {
  const programs = { daprd: daprd ?? '', scheduler: undefined, directory };
  return SidecarCommand.start(kind, programs, { components: { insidecar: [component], daprd: [component] } });
}

/** Both commands over HTTP. */
async function overHttp(
  title: string,
  place: Pick<Place, 'component' | 'serverMicros'>,
  measure: Measure,
): Promise<void> {
  if (daprd === undefined) return console.log(`\n${title}: DAPRD is not set`);
  await using insidecar = await startCommand('insidecar', place.component('insidecar'));
  await using peer = await startCommand('daprd', place.component('daprd'));
  const sidecars = [insidecar, peer];
  const rows: string[][] = [];
  for await (const { label, loads } of measure(sidecars)) {
    const entrants = loads.map((load, index) => ({
      work: (seconds: number) => load.run(seconds),
      cpuMicros: () => (sidecars[index]?.cpuMicros ?? 0) + place.serverMicros(),
    }));
    rows.push(await compared(label, entrants));
    for (const load of loads) load.close();
  }
  print(title, KINDS, rows);
}

/** The load of each sidecar, for each row. */
type Measure = (
  sidecars: readonly SidecarCommand[],
) => AsyncGenerator<{ readonly label: string; readonly loads: readonly ExchangeLoad[] }>;

async function compared(label: string, entrants: readonly Entrant[]): Promise<string[]> {
  const [own = noFigures(), peer = noFigures()] = await takeTurns(entrants, options);
  return rowOf(label, own, peer);
}

function print(title: string, [own, peer]: readonly string[], rows: readonly string[][]): void {
  console.log(`\n${title}`);
  printTable(['', `${own}/s`, 'CPU', `${peer}/s`, 'CPU', '× as fast', '÷ CPU'], rows);
}

async function* stateRows(sidecars: readonly SidecarCommand[]): ReturnType<Measure> {
  for (const task of tasks()) {
    for (const { port } of sidecars) await fillOverHttp(port, task.callers, task.valueBytes);
    yield { label: labelOf(task), loads: await Promise.all(sidecars.map(({ port }) => loadOf(port, task))) };
  }
}

/** A server that answers at once, beside daprd with values in memory: no sidecar on node:http can be faster. */
async function besideFloor(): Promise<void> {
  if (daprd === undefined) return console.log('\nfloor: DAPRD is not set');
  await using place = await openPlace('memory', directory);
  await using peer = await startCommand('daprd', place.component('daprd'));
  const rows: string[][] = [];
  for (const task of tasks()) {
    if (task.operation !== 'get' && task.operation !== 'set') continue;
    await fillOverHttp(peer.port, task.callers, task.valueBytes);
    const floor = await startContender('./empty-server.ts', 'floor', { argument: orderOf(task.valueBytes) });
    const [own, load] = [await loadOf(floor.port, task), await loadOf(peer.port, task)];
    const ofFloor = {
      work: (seconds: number) => own.run(seconds),
      cpuMicros: async () => (await floor.usage()).cpuMicros,
    };
    const ofPeer = { work: (seconds: number) => load.run(seconds), cpuMicros: () => peer.cpuMicros };
    rows.push(await compared(labelOf(task), [ofFloor, ofPeer]));
    own.close();
    load.close();
    await floor.stop();
  }
  print('a server that answers at once', ['node:http', 'daprd'], rows);
}

/** In code, beside the driver by hand or daprd over HTTP. */
async function inCode(store: Store): Promise<void> {
  await using place = await openPlace(store, directory);
  using _onSignal = disposeOnSignal(place);
  const isOnServer = store === 'redis' || store === 'postgresql';
  if (!isOnServer && daprd === undefined) return console.log(`\n${store}, in code: DAPRD is not set`);
  const argument = JSON.stringify({ store, url: place.url });
  const { profile } = options;
  const own = await startContender('./state-worker.ts', 'insidecar', { argument, profile });
  const raw = isOnServer ? await startContender('./state-worker.ts', 'by hand', { argument, profile }) : undefined;
  const peer = raw === undefined ? await startCommand('daprd', place.component('daprd')) : undefined;
  const rows: string[][] = [];
  try {
    for (const task of tasks()) {
      if (peer !== undefined) await fillOverHttp(peer.port, task.callers, task.valueBytes);
      const load = peer && (await loadOf(peer.port, task));
      const entrants = [own, raw].flatMap((one) => (one === undefined ? [] : [ofContender(one, task, place)]));
      if (peer !== undefined && load !== undefined)
        entrants.push({ work: (seconds) => load.run(seconds), cpuMicros: () => peer.cpuMicros });
      rows.push(await compared(labelOf(task), entrants));
      load?.close();
    }
  } finally {
    await own.stop();
    await raw?.stop();
    await peer?.[Symbol.asyncDispose]();
  }
  print(`${store}, in code`, ['insidecar', raw === undefined ? 'daprd over HTTP' : 'by hand'], rows);
}

function ofContender(contender: Contender, task: StateTask, { serverMicros }: Place): Entrant {
  return {
    work: async (seconds) => {
      const startedAt = performance.now();
      const requests = await contender.run(seconds, JSON.stringify(task));
      return { requests, seconds: (performance.now() - startedAt) / 1_000 };
    },
    cpuMicros: async () => (await contender.usage()).cpuMicros + serverMicros(),
  };
}

/** Requests of each caller, one after the other, at both numbers of callers. */
function rowsOf(what: string, requestsOf: (caller: number) => readonly Omit<ExchangeRequest, 'port'>[]): Measure {
  return async function* rows(sidecars) {
    for (const connections of [1, options.connections]) {
      const open = ({ port }: SidecarCommand): Promise<ExchangeLoad> => {
        const bytesOf = (caller: number): Buffer[] =>
          requestsOf(caller).map((request) => requestBytes({ port, ...request }));
        return ExchangeLoad.open({ port, connections, requestsOf: bytesOf });
      };
      yield { label: `${what}, callers: ${connections}`, loads: await Promise.all(sidecars.map(open)) };
    }
  };
}

/** Each caller takes a lock of its own and releases it, in two requests. */
const lockRows = rowsOf('lock or unlock', (caller) => {
  const [lock, method] = [{ resourceId: `lock-${caller}`, lockOwner: 'bench' }, 'POST'];
  return [
    { method, path: '/v1.0-alpha1/lock/locks', body: JSON.stringify({ ...lock, expiryInSeconds: 60 }) },
    { method, path: '/v1.0-alpha1/unlock/locks', body: JSON.stringify(lock) },
  ];
});

const secretRows = rowsOf('get', () => [{ method: 'GET', path: '/v1.0/secrets/env/BENCH_SECRET' }]);

const isWanted = (name: string): boolean => options.only === undefined || options.only === name;

try {
  for (const store of STORES) {
    if (!isWanted(store)) continue;
    await using place = await openPlace(store, directory);
    using _onSignal = disposeOnSignal(place);
    await overHttp(`${store}, over HTTP`, place, stateRows);
  }
  if (isWanted('floor')) await besideFloor();
  for (const store of STORES) if (isWanted('code')) await inCode(store);
  if (isWanted('locks')) {
    await using place = await openPlace('redis', directory);
    using _onSignal = disposeOnSignal(place);
    const component = { ...place.component('daprd'), name: 'locks', type: 'lock.redis' };
    await overHttp('locks in Redis, over HTTP', { ...place, component: () => component }, lockRows);
  }
  if (isWanted('secrets')) {
    process.env['BENCH_SECRET'] = 'a secret';
    const component = { name: 'env', type: 'secretstores.local.env' };
    await overHttp(
      'secrets of the environment, over HTTP',
      { component: () => component, serverMicros: () => 0 },
      secretRows,
    );
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
