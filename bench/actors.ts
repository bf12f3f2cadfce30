/**
 * Actors: `insidecar run`, with its state on disk, beside a server that does the least that a sidecar must (the floor), and
 * beside `daprd` with its placement and scheduler and its state in memory, each with the same application in a process of its
 * own. Calls, transactions, reminders, memory; then calls between two hosts of insidecar on Redis. Prints what was aimed at,
 * and whether it was met. See README.md.
 *
 * Usage: `[DAPRD=<path of daprd> DAPR_SCHEDULER=<path> DAPR_PLACEMENT=<path>] npx tsx bench/actors.ts [--quick] [--rounds n]
 * [--seconds s] [--connections n] [--only calls|state|set|due|memory|forwarded]`. Without daprd its columns are empty. On Linux.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import { startRedis } from '../test/support/servers.ts';
import { type Contender, startContender } from './support/contender.ts';
import { ExchangeLoad, requestBytes } from './support/exchange-load.ts';
import { Load } from './support/load.ts';
import { readOptions } from './support/options.ts';
import { PAYLOAD } from './support/payload.ts';
import { type Kind, type Programs, SidecarCommand } from './support/sidecar-command.ts';
import { median, printTable, ratio } from './support/stats.ts';
import { type Entrant, type Figures, noFigures, takeTurns, type Work } from './support/turns.ts';

const options = readOptions(['calls', 'state', 'set', 'due', 'memory', 'forwarded']);
const { DAPRD: daprd, DAPR_SCHEDULER: scheduler, DAPR_PLACEMENT: placement } = process.env;
const KINDS: readonly Kind[] = daprd === undefined ? ['insidecar'] : ['insidecar', 'daprd'];
const DUE = 2_000;
const LEAD_MS = 6_000;
const ACTIVE = 10_000;
/** The collector and Go's runtime give back what calls took, before memory is read. */
const REST_MS = 3_000;

const { connections } = options;
const directory = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
const programs: Programs = { daprd: daprd ?? '', scheduler, placement, directory };
const rows: string[][] = [];
const aims: string[][] = [];

/** What is aimed at: no more CPU time, and so many times the rate of daprd or so many per second. */
interface Aim {
  readonly micros?: number;
  readonly timesDaprd?: number;
  readonly perSecond?: number;
}

/** Notes an aim, and what has come of it; `undefined` where nothing was measured. */
function noteAim(what: string, aim: string, value: number | undefined, isMet: (value: number) => boolean): void {
  if (value === undefined || Number.isNaN(value)) aims.push([what, aim, '', 'not measured']);
  else aims.push([what, aim, value.toFixed(value < 10 ? 2 : 0), isMet(value) ? 'met' : 'missed']);
}

function noteAims(what: string, { micros, timesDaprd, perSecond }: Aim, own: Figures, peer?: Figures): void {
  if (micros !== undefined)
    noteAim(what, `at most ${micros} µs CPU`, median(own.cpuMicros), (value) => value <= micros);
  if (perSecond !== undefined)
    noteAim(what, `at least ${perSecond}/s`, median(own.perSecond), (value) => value >= perSecond);
  const times = peer && ratio(own.perSecond, peer.perSecond);
  if (timesDaprd !== undefined)
    noteAim(what, `at least ${timesDaprd} times the rate of daprd`, times, (value) => value >= timesDaprd);
}

/** Starts a sidecar for the application; resolves when its actors can be called. */
async function start(kind: Kind, app: Contender): Promise<SidecarCommand> {
  const store = { name: 'state', type: 'state.in-memory', metadata: { actorStateStore: 'true' } };
  const components = { insidecar: [], daprd: [store] };
  const sidecar = await SidecarCommand.start(kind, programs, {
    components,
    appPort: app.port,
    onDisk: true,
    actors: true,
  });
  for (let tries = 0; (await statusOf(sidecar.port, 'first')) !== 200; tries++) {
    if (tries > 300) throw new Error(`${kind}: no actor can be called`);
    await sleep(100);
  }
  return sidecar;
}

async function statusOf(port: number, actor: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1.0/actors/Bench/${actor}/method/m`, { method: 'PUT' });
  await response.arrayBuffer();
  return response.status;
}

/** A row of the table; the cells of what was not measured are empty. */
function row(label: string, own: Figures, floor?: Figures, peer?: Figures): string[] {
  const cells = (figures: Figures | undefined): string[] =>
    figures === undefined
      ? ['', '']
      : [Math.round(median(figures.perSecond)).toLocaleString('en'), `${median(figures.cpuMicros).toFixed(0)} µs`];
  const overFloor = floor === undefined ? '' : ratio(own.cpuMicros, floor.cpuMicros).toFixed(2);
  const overPeer =
    peer === undefined
      ? ['', '']
      : [ratio(own.perSecond, peer.perSecond), ratio(peer.cpuMicros, own.cpuMicros)].map((value) => value.toFixed(2));
  return [label, ...cells(own), ...cells(floor), overFloor, ...cells(peer), ...overPeer];
}

/** Starts all, and has them work in turn. */
async function inTurn(label: string, aim: Aim, open: (port: number) => Promise<Work>): Promise<void> {
  const app = await startContender('./actors-app-server.ts', 'app');
  const floor = await startContender('./actors-floor-server.ts', 'floor', { argument: String(app.port) });
  const sidecars: SidecarCommand[] = [];
  try {
    const floorMicros = async (): Promise<number> => (await floor.usage()).cpuMicros;
    const entrants: Entrant[] = [{ work: await open(floor.port), cpuMicros: floorMicros }];
    for (const kind of KINDS) {
      const sidecar = await start(kind, app);
      sidecars.push(sidecar);
      entrants.push({ work: await open(sidecar.port), cpuMicros: () => sidecar.cpuMicros });
    }
    const [floorFigures, own = noFigures(), peer] = await takeTurns(entrants, options);
    rows.push(row(label, own, floorFigures, peer));
    noteAims(label, aim, own, peer);
  } finally {
    for (const sidecar of sidecars) await sidecar[Symbol.asyncDispose]();
    await floor.stop();
    await app.stop();
  }
}

/** Each connection sends one request, again and again. */
async function again(port: number, method: string, path: (connection: number) => string, body: string): Promise<Work> {
  const requestsOf = (index: number): Buffer[] => [requestBytes({ port, method, path: path(index), body })];
  const load = await ExchangeLoad.open({ port, connections, requestsOf });
  return (seconds) => load.run(seconds);
}

const actor = (name: string | number): string => `/v1.0/actors/Bench/${name}`;

async function calls(): Promise<void> {
  for (const actors of [1, connections])
    await inTurn(
      `call, ${actors} actor${actors === 1 ? '' : 's'}`,
      { micros: actors === 1 ? 100 : 90, timesDaprd: 3 },
      (port) => again(port, 'PUT', (index) => `${actor(index % actors)}/method/m`, PAYLOAD),
    );
}

async function state(): Promise<void> {
  const body = JSON.stringify([{ operation: 'upsert', request: { key: 'k', value: JSON.parse(PAYLOAD) as unknown } }]);
  const aim = { micros: 90, perSecond: 8_000 };
  await inTurn(`state transaction of one key, ${connections} actors`, aim, async (port) => {
    for (let index = 0; index < connections; index++) await statusOf(port, String(index));
    return again(port, 'PUT', (index) => `${actor(index)}/state`, body);
  });
}

async function reminders(): Promise<void> {
  const body = JSON.stringify({ dueTime: '1h', data: JSON.parse(PAYLOAD) as unknown });
  await inTurn('reminder set, 64 actors', { perSecond: 5_800 }, async (port) => {
    const path = (index: number): string => `${actor(index % 64)}/reminders/r${index}`;
    const load = await Load.open({ port, connections, path, body });
    return (seconds) => load.run(seconds);
  });
}

/** Reminders of as many actors, all due at one instant: in a new process each round. */
async function due(): Promise<void> {
  const figures = KINDS.map(noFigures);
  const memory = KINDS.map((): number[] => []);
  const lateness = KINDS.map((): number[] => []);
  for (let round = 0; round < Math.min(5, options.rounds); round++)
    for (const [index, kind] of KINDS.entries()) {
      const app = await startContender('./actors-app-server.ts', 'app');
      await using sidecar = await start(kind, app);
      const dueAt = Date.now() + LEAD_MS;
      const body = JSON.stringify({ dueTime: new Date(dueAt).toISOString() });
      const load = await Load.open({ port: sidecar.port, connections, path: (n) => `${actor(n)}/reminders/r`, body });
      await load.send(DUE);
      load.close();
      if (Date.now() > dueAt) throw new Error(`${kind}: the reminders were due before all were set`);
      const before = sidecar.cpuMicros;
      let arrived = await app.usage();
      for (; arrived.delivered < DUE; arrived = await app.usage()) await sleep(10);
      const lastMs = arrived.lastDeliveredAt - dueAt;
      await sleep(200);
      figures[index]?.perSecond.push((DUE * 1_000) / lastMs);
      figures[index]?.cpuMicros.push((sidecar.cpuMicros - before) / DUE);
      lateness[index]?.push(lastMs);
      memory[index]?.push(sidecar.mebibytesInAll);
      await app.stop();
    }
  const label = `${DUE} reminders due at one instant`;
  const [own = noFigures(), peer] = figures;
  rows.push(row(label, own, undefined, peer));
  noteAims(label, { micros: 200 }, own);
  noteAim(label, 'the last after at most 700 ms', median(lateness[0] ?? []), (value) => value <= 700);
  noteAim(label, 'at most 100 MiB then', median(memory[0] ?? []), (value) => value <= 100);
  const cells = (kind: Kind, index: number): string[] => [
    kind,
    `${median(lateness[index] ?? []).toFixed(0)} ms`,
    `${median(memory[index] ?? []).toFixed(0)} MiB`,
  ];
  console.log(`\n${DUE} reminders due at one instant: the last tick after it; resident after that, all processes`);
  printTable(['', 'last', 'memory'], KINDS.map(cells));
}

async function memoryOfActors(): Promise<void> {
  const cells: string[][] = [];
  for (const kind of KINDS) {
    const app = await startContender('./actors-app-server.ts', 'app');
    await using sidecar = await start(kind, app);
    // The first calls make room for what all later ones use again.
    const open = (from: number): Promise<ExchangeLoad> =>
      ExchangeLoad.open({
        ...{ port: sidecar.port, connections },
        requestsOf: (index) =>
          Array.from({ length: Math.ceil(ACTIVE / connections) }, (_, nth) => {
            const path = `${actor(from + index + nth * connections)}/method/m`;
            return requestBytes({ port: sidecar.port, method: 'PUT', path, body: '' });
          }),
      });
    const warm = await open(0);
    await warm.run(2);
    await sleep(REST_MS);
    const before = sidecar.mebibytes;
    const load = await open(ACTIVE);
    await load.send(Math.ceil(ACTIVE / connections) * connections);
    await sleep(REST_MS);
    const kibibytes = ((sidecar.mebibytes - before) * 1_024) / ACTIVE;
    cells.push([kind, `${kibibytes.toFixed(2)} KiB`, `${sidecar.mebibytes.toFixed(0)} MiB`]);
    warm.close();
    load.close();
    await app.stop();
  }
  console.log(`\nmemory of ${ACTIVE} more active actors: each; resident then`);
  printTable(['', 'actor', 'resident'], cells);
}

/** Calls of actors at the host that is asked, and at the other one. CPU is that of both sidecars. */
async function forwarded(): Promise<void> {
  await using redis = await startRedis(['--appendonly', 'no', '--save', '']);
  using _onSignal = disposeOnSignal(redis);
  const apps = [
    await startContender('./actors-app-server.ts', 'app a'),
    await startContender('./actors-app-server.ts', 'app b'),
  ] as const;
  const argumentOf = ({ port }: Contender): string => `redis://127.0.0.1:${redis.port} ${port}`;
  const hosts = [
    await startContender('./actor-host.ts', 'a', { argument: argumentOf(apps[0]) }),
    await startContender('./actor-host.ts', 'b', { argument: argumentOf(apps[1]) }),
  ] as const;
  const [{ port }] = hosts;
  const places = await divided(port);
  const cpuMicros = async (): Promise<number> => {
    const usages = await Promise.all(hosts.map((host) => host.usage()));
    return usages.reduce((sum, usage) => sum + usage.cpuMicros, 0);
  };
  const [first = [], second = []] = [...places.values()];
  const entrants: Entrant[] = [];
  for (const ids of [first, second]) {
    const path = (index: number): string => `${actor(ids[index % ids.length] ?? '')}/method/where`;
    entrants.push({ work: await again(port, 'PUT', path, ''), cpuMicros });
  }
  const figures = await takeTurns(entrants, options);
  const [a, b] = figures.map(({ cpuMicros: each }) => median(each));
  const [local = noFigures(), remote = noFigures()] = (a ?? 0) < (b ?? 0) ? figures : [...figures].reverse();
  rows.push(row(`call, ${connections} actors, two hosts on Redis: local`, local));
  rows.push(row(`call, ${connections} actors, two hosts on Redis: forwarded`, remote));
  const times = ratio(remote.cpuMicros, local.cpuMicros);
  noteAim('forwarded call, CPU of both hosts', 'at most 2.2 local calls', times, (value) => value <= 2.2);
  for (const contender of [...hosts, ...apps]) await contender.stop();
}

/** The actors of each host, by its application, once both have some. */
async function divided(port: number): Promise<ReadonlyMap<number, string[]>> {
  for (;;) {
    const places = new Map<number, string[]>();
    for (let index = 0; index < 256; index++) {
      const response = await fetch(`http://127.0.0.1:${port}${actor(index)}/method/where`, { method: 'PUT' });
      const pid = Number(await response.text());
      places.set(pid, [...(places.get(pid) ?? []), String(index)]);
    }
    if (places.size === 2 && Math.min(...[...places.values()].map(({ length }) => length)) > 64) return places;
    await sleep(200);
  }
}

const isWanted = (name: string): boolean => options.only === undefined || options.only === name;

try {
  if (isWanted('calls')) await calls();
  if (isWanted('state')) await state();
  if (isWanted('set')) await reminders();
  if (isWanted('due')) await due();
  if (isWanted('memory')) await memoryOfActors();
  if (isWanted('forwarded')) await forwarded();
} finally {
  // After a failure as well: a run takes minutes.
  if (rows.length > 0) {
    console.log();
    const peers = ['floor/s', 'CPU', 'CPU ÷ floor', 'daprd/s', 'CPU', '× as fast', '÷ CPU'];
    printTable(['actors', 'insidecar/s', 'CPU', ...peers], rows);
  }
  if (aims.length > 0) {
    console.log();
    printTable(['', 'aim', 'is', ''], aims);
  }
  rmSync(directory, { recursive: true, force: true });
}
