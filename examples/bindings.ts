/**
 * A meter: a schedule reads it each second, and each reading is kept outside, in files, or in PostgreSQL if DATABASE_URL
 * is set. The program is ended and started again: it goes on with what was kept. Run with `npx tsx examples/bindings.ts`,
 * or `DATABASE_URL=postgresql://user:password@localhost/shop npx tsx examples/bindings.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cronBinding, type Logger, localStorageBinding, Sidecar } from 'insidecar';
import { postgresqlBinding } from 'insidecar/postgresql';

interface Reading {
  readonly at: string;
  readonly kilowattHours: number;
}

/** Where readings are kept. */
interface Archive {
  keep(reading: Reading): Promise<void>;
  readings(): Promise<readonly Reading[]>;
  clear(): Promise<void>;
}

const { DATABASE_URL } = process.env;
const directory = await mkdtemp(join(tmpdir(), 'insidecar-bindings-'));
/** The output of this program tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const outside =
  DATABASE_URL === undefined
    ? localStorageBinding('archive', { rootPath: directory })
    : postgresqlBinding('archive', DATABASE_URL);

function archiveOf({ bindings }: Sidecar): Archive {
  if (DATABASE_URL === undefined)
    return {
      keep: async (data) => {
        // The name is the instant: a reading that is kept twice is one file.
        const metadata = { fileName: `readings/${data.at.replaceAll(':', '-')}.json` };
        await bindings.invoke('archive', { operation: 'create', data, metadata });
      },
      readings: async () => {
        const files = (await bindings.invoke('archive', { operation: 'list' })).json<string[]>() ?? [];
        const read = (fileName: string) => bindings.invoke('archive', { operation: 'get', metadata: { fileName } });
        return Promise.all(files.sort().map(async (file) => (await read(file)).json<Reading>() as Reading));
      },
      clear: () => rm(directory, { recursive: true }),
    };
  // Values go into `params`, never into the statement.
  const run = (operation: string, sql: string, params: readonly unknown[] = []) =>
    bindings.invoke('archive', { operation, metadata: { sql, params: JSON.stringify(params) } });
  const table = 'create table if not exists readings (at timestamptz primary key, kilowatt_hours numeric not null)';
  return {
    keep: async ({ at, kilowattHours }) => {
      await run('exec', table);
      await run('exec', 'insert into readings values ($1, $2) on conflict do nothing', [at, kilowattHours]);
    },
    readings: async () => {
      await run('exec', table);
      const rows = await run('query', 'select at, kilowatt_hours from readings order by at');
      return (rows.json<[string, number][]>() ?? []).map(([at, kilowattHours]) => ({ at, kilowattHours }));
    },
    clear: async () => {
      await run('exec', 'drop table if exists readings');
    },
  };
}

/** Runs until as many more readings are kept; clears the archive at the end if asked to. */
async function runMeter(count: number, clears: boolean): Promise<void> {
  await using sidecar = new Sidecar({
    appId: 'meter',
    components: [cronBinding('second', { schedule: '@every 1s' }), outside],
    logger: quiet,
  });
  const archive = archiveOf(sidecar);
  let done: () => void = () => undefined;
  const kept = new Promise<void>((resolve) => {
    done = resolve;
  });
  let left = count;
  let last = 0;
  const input = sidecar.bindings.on('second', async (_data, { metadata: { readTimeUTC } }) => {
    last += 5;
    await archive.keep({ at: readTimeUTC ?? '', kilowattHours: last });
    console.log(`kept ${last} kWh`);
    left -= 1;
    if (left === 0) done();
  });
  await sidecar.start();
  const before = await archive.readings();
  last = before.at(-1)?.kilowattHours ?? 0;
  console.log(`started: ${before.length} readings are kept, the meter shows ${last} kWh`);
  await kept;
  await input.close();
  console.log(`ended with ${(await archive.readings()).length} readings`);
  if (clears) await archive.clear();
}

await runMeter(2, false);
await runMeter(2, true);
