/** Calls state in code, for bench/state-api.ts: the sidecar's, or the driver of the same database by hand. */
import { createHash } from 'node:crypto';
import { loadPg } from '../../src/components/postgresql/driver.ts';
import { loadRedis } from '../../src/components/redis/driver.ts';
import type { KeyValueDefinition } from '../../src/kit/index.ts';
import { loadBuilt, loadEmbedded } from './built.ts';
import { serve } from './contender.ts';
import { orderOf } from './payload.ts';
import { callsOf, type Operation, STORE, type StateTask } from './state-work.ts';

/** A call of an operation. Values go in and come out as JavaScript has them. */
type Calls = Readonly<Record<Operation, (keys: readonly string[], value: unknown) => Promise<unknown>>>;

/** As many connections as the component has. */
const CONNECTIONS = 4;

const [who = '', argument = ''] = process.argv.slice(2);
// The cast is safe: bench/state-api.ts has written it.
const { store, url } = JSON.parse(argument) as { readonly store: string; readonly url: string };

const load = (name: string): Promise<unknown> => import(new URL(`../../dist/${name}.mjs`, import.meta.url).href);

async function definitionOf(): Promise<KeyValueDefinition> {
  const { keyValueStore, memoryState } = await loadBuilt();
  if (store === 'memory') return keyValueStore(STORE, { store: memoryState() });
  if (store === 'sqlite') return (await loadEmbedded()).sqliteStateStore(STORE, { file: url });
  if (store === 'redis') {
    const { redisStateStore } = (await load('redis')) as typeof import('../../src/components/redis/index.ts');
    return redisStateStore(STORE, { url });
  }
  const { postgresqlStateStore } = (await load(
    'postgresql',
  )) as typeof import('../../src/components/postgresql/index.ts');
  return postgresqlStateStore(STORE, { url, maxConnections: CONNECTIONS });
}

async function openInsidecar(): Promise<Calls> {
  const { Sidecar } = await loadBuilt();
  const sidecar = new Sidecar({ appId: 'bench', components: [await definitionOf()] });
  await sidecar.start();
  const { state } = sidecar;
  return {
    get: async ([key = '']) => (await state.get(STORE, key))?.value,
    set: ([key = ''], value) => state.set(STORE, key, value),
    transact: (keys, value) =>
      state.transact(
        STORE,
        keys.map((key) => ({ operation: 'upsert', key, value })),
      ),
    getMany: (keys) => state.getMany(STORE, keys),
  };
}

const SAVE = `for i, key in ipairs(KEYS) do
  redis.call('HSET', key, 'data', ARGV[i])
  redis.call('HINCRBY', key, 'version', 1)
end`;

/** The form of Dapr, and one command for each call, or for each key of a bulk read, all in one write. */
async function openRedis(): Promise<Calls> {
  const { createClient } = await loadRedis();
  const client = createClient({ url });
  await client.connect();
  await client.sendCommand(['SCRIPT', 'LOAD', SAVE]);
  const sha1 = createHash('sha1').update(SAVE).digest('hex');
  const get = async (key: string): Promise<unknown> => {
    const [data] = (await client.sendCommand(['HMGET', key, 'data', 'version'])) as readonly string[];
    return data && JSON.parse(data);
  };
  const save = (keys: readonly string[], value: unknown): Promise<unknown> =>
    client.sendCommand(['EVALSHA', sha1, String(keys.length), ...keys, ...keys.map(() => JSON.stringify(value))]);
  return { get: ([key = '']) => get(key), set: save, transact: save, getMany: (keys) => Promise.all(keys.map(get)) };
}

/** The table of Dapr, and one prepared statement for each call, over several connections. */
async function openPostgresql(): Promise<Calls> {
  const { Client } = await loadPg();
  const clients = Array.from({ length: CONNECTIONS }, () => new Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  let turn = 0;
  const query = async (
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly (readonly unknown[])[]> => {
    const { rows = [] } = (await clients[turn++ % CONNECTIONS]?.query({ name, text, values, rowMode: 'array' })) ?? {};
    return rows;
  };
  const read = async (keys: readonly string[]): Promise<readonly unknown[]> => {
    const rows = await query('read', 'SELECT key, value, etag FROM state WHERE key = ANY ($1)', [keys]);
    return rows.map(([, value]) => JSON.parse(String(value)));
  };
  const get = 'SELECT value, etag FROM state WHERE key = $1';
  const replace = `ON CONFLICT (key) DO UPDATE SET value = excluded.value, etag = excluded.etag, updated_at = now()
    RETURNING etag`;
  const set = `INSERT INTO state (key, value, etag) VALUES ($1, $2, gen_random_uuid()) ${replace}`;
  const transact = `INSERT INTO state (key, value, etag)
    SELECT key, value, gen_random_uuid() FROM unnest($1::text[], $2::bytea[]) o (key, value) ${replace}`;
  const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  return {
    get: async ([key = '']) => JSON.parse(String((await query('get', get, [key]))[0]?.[0])),
    set: ([key = ''], value) => query('set', set, [key, bytesOf(value)]),
    transact: (keys, value) => query('transact', transact, [keys, keys.map(() => bytesOf(value))]),
    getMany: read,
  };
}

const calls = await (who === 'insidecar' ? openInsidecar() : store === 'redis' ? openRedis() : openPostgresql());
let filled = '';

/** Saves all values of a size, and checks that they are read as they were saved. */
async function fill(callers: number, valueBytes: number): Promise<void> {
  const value: unknown = JSON.parse(orderOf(valueBytes));
  for (let caller = 0; caller < callers; caller++)
    for (const keys of callsOf('transact', caller)) await calls.transact(keys, value);
  const [keys = []] = callsOf('get', 0);
  const read = JSON.stringify(await calls.get(keys, value));
  if (read !== orderOf(valueBytes)) throw new Error(`not what was saved: ${read}`);
}

/** How many calls were made in so many seconds. */
async function run(seconds: number, { operation, callers, valueBytes }: StateTask): Promise<number> {
  if (filled !== `${callers} ${valueBytes}`) await fill(callers, valueBytes);
  filled = `${callers} ${valueBytes}`;
  const value: unknown = JSON.parse(orderOf(valueBytes));
  const until = performance.now() + seconds * 1_000;
  let count = 0;
  const caller = async (_: unknown, index: number): Promise<void> => {
    const lists = callsOf(operation, index);
    for (let at = 0; performance.now() < until; at++, count++)
      await calls[operation](lists[at % lists.length] ?? [], value);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return count;
}

serve({ run: (seconds, task) => run(seconds, JSON.parse(task) as StateTask) });
