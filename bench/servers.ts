/**
 * Commits per second on PostgreSQL and Redis beside their drivers used directly and the embedded store: a fence and a new
 * entry of 300 bytes, durable; on loopback and with 1 ms of delay. It starts servers of its own. See README.md.
 *
 * Usage: `npx tsx bench/servers.ts [--quick] [--rounds n] [--seconds s] [--only loopback|delay]`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../src/components/embedded/embedded-store.ts';
import { loadPg } from '../src/components/postgresql/driver.ts';
import { postgresqlState } from '../src/components/postgresql/index.ts';
import { loadRedis } from '../src/components/redis/driver.ts';
import { redisState } from '../src/components/redis/index.ts';
import type { StateStore } from '../src/state/store.ts';
import { systemClock } from '../src/util/clock.ts';
import { standardErrorLogger } from '../src/util/logger.ts';
import { disposeOnSignal } from '../test/support/dispose-on-signal.ts';
import { startPostgresql, startRedis } from '../test/support/servers.ts';
import { delayed } from './support/delayed.ts';
import { type BenchOptions, readOptions } from './support/options.ts';
import { median, printTable, ratio } from './support/stats.ts';

const CALLERS = [1, 64, 1_000] as const;
const POOL = 20;
const value = new Uint8Array(300).fill(120);
const context = { clock: systemClock, logger: standardErrorLogger({ appId: 'bench' }) };

/** Writes one entry; resolves when it is durable. */
type Write = (key: string) => Promise<unknown>;

interface Entrant {
  readonly name: string;
  readonly write: Write;
  readonly close: () => Promise<unknown>;
}

async function ofStore(name: string, store: StateStore): Promise<Entrant> {
  const version = await store.commit({ put: [{ key: 'fence', value }] });
  const require = [{ key: 'fence', version }];
  return { name, write: (key) => store.commit({ require, put: [{ key, value }] }), close: () => store.close() };
}

/** One INSERT for each caller, over a pool of connections. */
async function rawPostgresql(url: string): Promise<Entrant> {
  const { Client } = await loadPg();
  const clients = Array.from({ length: POOL }, () => new Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  const [first] = clients;
  const text = 'CREATE TABLE IF NOT EXISTS raw (key text PRIMARY KEY, version bigint, value bytea)';
  await first?.query({ text, rowMode: 'array' });
  const free = [...clients];
  const waiting: ((client: (typeof clients)[number]) => void)[] = [];
  const take = async (): Promise<(typeof clients)[number]> =>
    free.pop() ?? new Promise((resolve) => waiting.push(resolve));
  const write = async (key: string): Promise<void> => {
    const client = await take();
    const values = [key, 1, Buffer.from(value)];
    await client.query({ name: 'raw', text: 'INSERT INTO raw VALUES ($1, $2, $3)', values, rowMode: 'array' });
    const next = waiting.shift();
    if (next === undefined) free.push(client);
    else next(client);
  };
  return { name: 'pg, INSERT', write, close: () => Promise.all(clients.map((client) => client.end())) };
}

async function rawRedis(url: string): Promise<Entrant> {
  const { createClient } = await loadRedis();
  const client = createClient({ url });
  await client.connect();
  const bytes = Buffer.from(value);
  return {
    name: 'redis, SET',
    write: (key) => client.sendCommand(['SET', key, bytes]),
    close: async () => client.destroy(),
  };
}

let sequence = 0;

async function rateOf({ write }: Entrant, callers: number, seconds: number): Promise<number> {
  const startedAt = performance.now();
  let commits = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) {
      await write(`key ${sequence++}`);
      commits++;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (commits * 1_000) / (performance.now() - startedAt);
}

async function compare(entrants: readonly Entrant[], options: BenchOptions): Promise<void> {
  const rows: string[][] = [];
  for (const callers of CALLERS) {
    const rates = entrants.map((): number[] => []);
    for (const entrant of entrants) await rateOf(entrant, callers, options.seconds / 2);
    for (let round = 0; round < options.rounds; round++)
      for (const [at, entrant] of entrants.entries()) rates[at]?.push(await rateOf(entrant, callers, options.seconds));
    const [pg = [], rawPg = [], onRedis = [], raw = []] = rates;
    const columns = rates.map((numbers) => Math.round(median(numbers)).toLocaleString('en'));
    rows.push([String(callers), ...columns, ratio(pg, rawPg).toFixed(2), ratio(onRedis, raw).toFixed(2)]);
  }
  printTable(['callers', ...entrants.map(({ name }) => `${name}/s`), 'PostgreSQL ÷ INSERT', 'Redis ÷ SET'], rows);
}

const options = readOptions(['loopback', 'delay']);
const directory = await mkdtemp(join(tmpdir(), 'insidecar-bench-'));
await using postgresqlServer = await startPostgresql();
await using redisServer = await startRedis();
using _onSignal = disposeOnSignal(postgresqlServer, redisServer);
for (const delayMs of [0, 1]) {
  if (options.only !== undefined && (options.only === 'delay') !== delayMs > 0) continue;
  await using pgPlace = await delayed(postgresqlServer.port, delayMs);
  await using redisPlace = await delayed(redisServer.port, delayMs);
  const pgUrl = `postgresql://postgres@127.0.0.1:${pgPlace.port}/postgres`;
  const redisUrl = `redis://127.0.0.1:${redisPlace.port}`;
  const entrants = [
    await ofStore('PostgreSQL', await postgresqlState({ url: pgUrl }).open(context)),
    await rawPostgresql(pgUrl),
    await ofStore('Redis', await redisState({ url: redisUrl }).open(context)),
    await rawRedis(redisUrl),
    await ofStore('embedded', await openEmbeddedStore(join(directory, String(delayMs)), context)),
  ];
  console.log(delayMs === 0 ? 'on loopback' : `\nwith ${delayMs} ms of delay there and back`);
  await compare(entrants, options);
  for (const { close } of entrants) await close();
}
await rm(directory, { recursive: true, force: true });
