/**
 * The state API in one table: `insidecar run` over HTTP, `sidecar.state` in code, `daprd` over HTTP with the same
 * component file, and the floor, for each store, operation and size. Then locks and secrets over HTTP. CPU includes that
 * of the server of the store. See README.md.
 *
 * Usage: `[DAPRD=<path of daprd>] npx tsx bench/state-api.ts [--quick] [--rounds n] [--seconds s] [--connections n]
 * [--only memory|sqlite|redis|postgresql|locks|secrets] [--profile directory]`. On Linux.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import type { ComponentFile } from './support/component-file.ts';
import type { ExchangeRequest } from './support/exchange-load.ts';
import { readOptions } from './support/options.ts';
import type { SidecarCommand } from './support/sidecar-command.ts';
import { aimsText, type RowFigures } from './support/state-aims.ts';
import { type OpenEntrant, requestsTo, StoreEntrants, startCommand, WHO, type Who } from './support/state-entrants.ts';
import { openPlace, STORES, type Store } from './support/state-places.ts';
import { OPERATIONS, type StateTask } from './support/state-work.ts';
import { median, ratio } from './support/stats.ts';
import { type Entrant, type Figures, noFigures, takeTurns } from './support/turns.ts';

const LABELS = { get: 'get', set: 'set', transact: 'transaction of 10', getMany: 'bulk read of 100' } as const;
const WIDTHS = [58, 9, 9, 9, 9, 9, 9, 9, 9, 7, 7, 7, 7];
const HEADER = [
  '',
  'HTTP/s',
  'CPU',
  'code/s',
  'CPU',
  'daprd/s',
  'CPU',
  'floor/s',
  'CPU',
  '×',
  '÷ CPU',
  'code ×',
  'floor',
];

const options = readOptions(
  [...STORES, 'locks', 'secrets'],
  { rounds: 3, seconds: 0.3, warmupSeconds: 0.2 },
  { rounds: 2, seconds: 0.15, warmupSeconds: 0.1 },
);
const { DAPRD: daprd } = process.env;
const directory = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
const settings = { daprd, directory, profile: options.profile };

/** What is measured, in order. */
function* tasks(): Generator<StateTask> {
  for (const operation of OPERATIONS)
    for (const valueBytes of [100, 4_096])
      for (const callers of [1, options.connections]) yield { operation, callers, valueBytes };
}

const isWanted = (name: string): boolean => options.only === undefined || options.only === name;

/** Each row is printed when it is known: the whole table takes minutes. */
function print(cells: readonly string[]): void {
  console.log(
    cells.map((cell, at) => (at === 0 ? cell.padEnd(WIDTHS[0] ?? 0) : cell.padStart(WIDTHS[at] ?? 0))).join(' '),
  );
}

/** An error ends an entrant for its row and does not end the others: daprd's SQLite may say that it is locked. */
function forgiving({ work, cpuMicros }: Entrant, what: string): Entrant {
  let hasFailed = false;
  return {
    cpuMicros,
    work: async (seconds) => {
      const nothing = { requests: Number.NaN, seconds };
      if (hasFailed) return nothing;
      return work(seconds).catch((error: Error) => {
        hasFailed = true;
        console.log(`${what}: ${error.message}`);
        return nothing;
      });
    },
  };
}

async function compare(label: string, open: (who: Who) => Promise<OpenEntrant | undefined>): Promise<RowFigures> {
  const entrants: { readonly who: Who; readonly entrant: OpenEntrant }[] = [];
  for (const who of WHO) {
    const entrant = await open(who);
    if (entrant !== undefined) entrants.push({ who, entrant });
  }
  const figures = await takeTurns(
    entrants.map(({ who, entrant }) => forgiving(entrant, `${label}, ${who}`)),
    options,
  );
  for (const { entrant } of entrants) await entrant.close();
  const of = (wanted: Who): Figures => figures[entrants.findIndex(({ who }) => who === wanted)] ?? noFigures();
  return { http: of('http'), code: of('code'), daprd: of('daprd'), floor: of('floor') };
}

function cellsOf({ http, code, daprd: peer, floor }: RowFigures): string[] {
  const both = ({ perSecond, cpuMicros }: Figures): string[] =>
    perSecond.length === 0 || Number.isNaN(median(perSecond))
      ? ['–', '–']
      : [Math.round(median(perSecond)).toLocaleString('en'), `${median(cpuMicros).toFixed(0)} µs`];
  const share = (one: readonly number[], other: readonly number[]): string =>
    one.length === 0 || other.length === 0 ? '–' : ratio(one, other).toFixed(2);
  return [
    ...[http, code, peer, floor].flatMap(both),
    share(http.perSecond, peer.perSecond),
    share(peer.cpuMicros, http.cpuMicros),
    share(code.perSecond, peer.perSecond),
    share(code.perSecond, floor.perSecond),
  ];
}

async function storeRows(store: Store): Promise<void> {
  await using place = await openPlace(store, directory);
  using _onSignal = disposeOnSignal(place);
  await using entrants = await StoreEntrants.start(store, place, settings);
  for (const task of tasks()) {
    const { operation, callers, valueBytes } = task;
    const size = valueBytes < 1_024 ? `${valueBytes} B` : `${valueBytes / 1_024} KB`;
    const label = `${store}: ${LABELS[operation]}, ${size}, ${callers} caller${callers === 1 ? '' : 's'}`;
    const row = await compare(label, (who) => entrants.open(who, task));
    print([label, ...cellsOf(row), ` ${aimsText(store, task, row)}`]);
  }
}

type RequestsOf = (caller: number) => readonly Omit<ExchangeRequest, 'port'>[];

/** Requests over HTTP only, at both numbers of callers. */
async function requestRows(what: string, component: ComponentFile, requestsOf: RequestsOf): Promise<void> {
  const place = { component: () => component };
  await using insidecar = await startCommand('insidecar', place, settings);
  await using peer = daprd === undefined ? undefined : await startCommand('daprd', place, settings);
  const commands: Partial<Readonly<Record<Who, SidecarCommand | undefined>>> = { http: insidecar, daprd: peer };
  for (const callers of [1, options.connections]) {
    const label = `${what}, ${callers} caller${callers === 1 ? '' : 's'}`;
    const row = await compare(label, async (who) => {
      const { [who]: command } = commands;
      return command && requestsTo(command, callers, requestsOf);
    });
    print([label, ...cellsOf(row)]);
  }
}

/** Each caller takes a lock of its own and releases it, in two requests. */
const lockRequests: RequestsOf = (caller) => {
  const [lock, method] = [{ resourceId: `lock-${caller}`, lockOwner: 'bench' }, 'POST'];
  return [
    { method, path: '/v1.0-alpha1/lock/locks', body: JSON.stringify({ ...lock, expiryInSeconds: 60 }) },
    { method, path: '/v1.0-alpha1/unlock/locks', body: JSON.stringify(lock) },
  ];
};

try {
  if (daprd === undefined) console.log('DAPRD is not set: without daprd, and without the aims beside it');
  print(HEADER);
  for (const store of STORES) if (isWanted(store)) await storeRows(store);
  if (isWanted('locks')) {
    await using place = await openPlace('redis', directory);
    using _onSignal = disposeOnSignal(place);
    const component = { ...place.component('daprd'), name: 'locks', type: 'lock.redis' };
    await requestRows('locks in Redis: lock or unlock', component, lockRequests);
  }
  if (isWanted('secrets')) {
    process.env['BENCH_SECRET'] = 'a secret';
    const path = '/v1.0/secrets/env/BENCH_SECRET';
    const component = { name: 'env', type: 'secretstores.local.env' };
    await requestRows('secrets of the environment: get', component, () => [{ method: 'GET', path }]);
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
