import { StateError } from '../../../state/errors.ts';
import type { PgClient, PgRow } from '../driver.ts';
import type { TableFormat } from './formats.ts';
import type { Tables } from './statements.ts';

/** An attempt that was given up goes on waiting for its lock for so long at most: others wait behind it. */
const LOCK_TIMEOUT_MS = 3_000;

/** The dependencies of {@link ensureTables}. */
export interface TablesDeps {
  readonly client: PgClient;
  /** For messages. */
  readonly server: string;
  readonly format: TableFormat;
  readonly tables: Tables;
  /** The key in the metadata table under which the level of the state table is. */
  readonly levelKey: string;
}

/**
 * Creates what is missing of the tables, as Dapr does: at the level that it keeps in the metadata table, under its lock
 * row. Tables that have the columns which are used stay as they are, whatever their level.
 *
 * @throws StateError if the table of that name is another one
 */
export async function ensureTables(deps: TablesDeps): Promise<void> {
  if (await areComplete(deps)) return;
  const { client, format, tables, levelKey } = deps;
  const { sql: metadata } = tables.metadata;
  const run = (text: string, values: readonly unknown[] = []): Promise<{ readonly rows: readonly PgRow[] }> =>
    client.query({ text, values, rowMode: 'array' });
  await run(`CREATE TABLE IF NOT EXISTS ${metadata} (key text NOT NULL PRIMARY KEY, value text NOT NULL)`);
  await run(`INSERT INTO ${metadata} (key, value) VALUES ('lock', 'lock') ON CONFLICT (key) DO NOTHING`);
  await run('BEGIN ISOLATION LEVEL READ COMMITTED');
  await run(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await run(`SELECT value FROM ${metadata} WHERE key = 'lock' FOR UPDATE`);
  if (!(await areComplete(deps))) {
    const { rows } = await run(`SELECT value FROM ${metadata} WHERE key = $1`, [levelKey]);
    const level = Number(rows[0]?.[0] ?? 0);
    const migrations = format.migrations(tables.state);
    for (const texts of migrations.slice(level)) for (const text of texts) await run(text);
    await run(
      `INSERT INTO ${metadata} AS m (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [levelKey, String(Math.max(level, migrations.length))],
    );
  }
  await run('COMMIT');
  if (!(await areComplete(deps))) throw wrongTable(deps, 'lacks columns');
}

/** Whether both tables are there, the state table with all columns. */
async function areComplete(deps: TablesDeps): Promise<boolean> {
  const { client, format, tables } = deps;
  const text = `SELECT to_regclass($2) IS NOT NULL, attname::text, format_type(atttypid, NULL)
    FROM (SELECT to_regclass($1) AS oid) t
    LEFT JOIN pg_attribute a ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped`;
  const values = [tables.state.sql, tables.metadata.sql];
  const { rows } = await client.query({ text, values, rowMode: 'array' });
  const types = new Map(rows.map(([, name, type]) => [name, type]));
  const valueType = types.get('value');
  if (valueType && valueType !== format.valueType)
    throw wrongTable(deps, `has a column "value" of type ${String(valueType)}, not ${format.valueType}`);
  // A table of another program must not get columns of ours.
  if (rows[0]?.[1] && !(types.has('key') && valueType)) throw wrongTable(deps, 'has no columns "key" and "value"');
  return rows[0]?.[0] === true && format.columns.every((name) => types.has(name));
}

function wrongTable({ server, tables }: TablesDeps, problem: string): StateError {
  const message = `The table ${tables.state.sql} of ${server} ${problem}: it is not one of this version of state.postgresql.`;
  return new StateError('failed', message);
}
