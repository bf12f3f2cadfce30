import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { loadSqlite, SqliteConnection, type SqlValue } from '../../../src/components/embedded/driver.ts';
import { type SqliteStateStoreOptions, sqliteStateStore } from '../../../src/components/embedded/index.ts';
import type { KeyValueStore } from '../../../src/components/key-value.ts';
import { keyValueConformance } from '../../../src/kit/key-value-conformance.ts';
import {
  bytesOf,
  etagOf,
  keyValueCases,
  put,
  putOne,
  remove,
  textOf,
  writeOne,
} from '../../support/key-value-cases.ts';
import { relayCases } from '../../support/relay-cases.ts';
import { storeContext } from '../../support/store-context.ts';

const directory = mkdtempSync(join(tmpdir(), 'insidecar-sqlite-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const sqlite = await loadSqlite();
const newFile = (): string => join(directory, `${randomUUID()}.db`);
const key = (name: string): string => `orders||${name}-${randomUUID().slice(0, 8)}`;
const open = (
  file: string,
  more: Partial<SqliteStateStoreOptions> = {},
  context = storeContext(),
): Promise<KeyValueStore> => sqliteStateStore('store', { file, ...more }).open(context);

/** Another program that has the file open. */
class OtherProgram {
  readonly #connection: SqliteConnection;

  constructor(file: string) {
    this.#connection = new SqliteConnection(sqlite, file);
    this.#connection.execute('PRAGMA busy_timeout=5000');
  }

  run(sql: string): void {
    this.#connection.execute(sql);
  }

  rows(sql: string, ...values: readonly SqlValue[]): readonly (readonly unknown[])[] {
    return this.#connection
      .statement(sql)
      .all(...values)
      .map((row) => Object.values(row as object));
  }
}

describe("values in SQLite in Dapr's format", () => {
  const shared = newFile();
  keyValueCases({ open: () => open(shared), key });
  relayCases(async () => {
    const file = newFile();
    const context = storeContext('shop');
    return [await open(file, {}, context), await open(file, {}, context)];
  });

  for (const { name, run } of keyValueConformance)
    test(name, () => {
      const file = newFile();
      return run({ open: () => open(file), pass: pause });
    });

  test("creates the tables at Dapr's level, once", async () => {
    const file = newFile();
    const stores = await Promise.all(Array.from({ length: 4 }, () => open(file)));
    const other = new OtherProgram(file);
    expect(other.rows('SELECT name, type, "notnull", pk FROM pragma_table_info(\'state\')')).toEqual([
      ...[
        ['key', 'TEXT', 1, 1],
        ['value', 'TEXT', 1, 0],
        ['is_binary', 'BOOLEAN', 1, 0],
      ],
      ...[
        ['etag', 'TEXT', 1, 0],
        ['expiration_time', 'TIMESTAMP', 0, 0],
        ['update_time', 'TIMESTAMP', 1, 0],
      ],
    ]);
    expect(other.rows('SELECT key, value FROM metadata')).toEqual([['migrations', '1']]);
    expect(other.rows('PRAGMA journal_mode')).toEqual([['wal']]);
    expect(other.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).toEqual([
      ['metadata'],
      ['state'],
    ]);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('starts with a level that it does not know, and refuses a table of another program', async () => {
    const file = newFile();
    const other = new OtherProgram(file);
    other.run(`CREATE TABLE metadata (key text NOT NULL PRIMARY KEY, value text NOT NULL);
      INSERT INTO metadata VALUES ('migrations', '7'); CREATE TABLE accounts (id INTEGER)`);
    const store = await open(file, { tableName: 'values_1' });
    await putOne(store, 'a', '1');
    expect(other.rows('SELECT value FROM metadata')).toEqual([['7']]);
    await store.close();
    await expect(open(file, { tableName: 'accounts' })).rejects.toThrow('lacks the columns key, value');
    expect(other.rows("SELECT name FROM pragma_table_info('accounts')")).toEqual([['id']]);
  });

  test("reads and writes Dapr's rows, which reads ours", async () => {
    const file = newFile();
    const store = await open(file);
    const other = new OtherProgram(file);
    const dapr = (name: string, value: string, isBinary: number, ttl: string): void =>
      other.run(`INSERT OR REPLACE INTO state (key, value, is_binary, etag, update_time, expiration_time)
        VALUES ('${name}', '${value}', ${isBinary}, '${randomUUID()}', CURRENT_TIMESTAMP, ${ttl})`);
    dapr('a', '{"n":1.50}', 0, `DATETIME(CURRENT_TIMESTAMP, '+60 seconds')`);
    dapr('b', 'AP8=', 1, 'NULL');
    dapr('c', '1', 0, `DATETIME(CURRENT_TIMESTAMP, '-1 seconds')`);
    const [json, binary, expired] = await store.read(['a', 'b', 'c']);
    expect(Buffer.from(json?.bytes ?? []).toString()).toBe('{"n":1.50}');
    expect(json?.expiresAt).toBeGreaterThan(Date.now() + 50_000);
    expect(Buffer.from(binary?.bytes ?? [])).toEqual(Buffer.from([0, 255]));
    expect(expired).toBeUndefined();
    expect((await writeOne(store, put('a', '2', { etag: json?.etag ?? '' }))).status).toBe('done');
    await store.write([{ kind: 'put', key: 'b', value: bytesOf('a\0b'), isBinary: true, ttlMs: 1_000 }], {
      atomic: true,
    });
    const alive = '(expiration_time IS NULL OR expiration_time > CURRENT_TIMESTAMP)';
    expect(other.rows(`SELECT key, value, is_binary, expiration_time FROM state WHERE ${alive} ORDER BY key`)).toEqual([
      ['a', '2', 0, null],
      ['b', 'YQBi', 1, expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/)],
    ]);
    const etag = await etagOf(store, 'a');
    other.run(`UPDATE state SET value = '3', etag = '${randomUUID()}' WHERE key = 'a' AND etag = '${etag}'`);
    expect(await textOf(store, 'a')).toBe('3');
    expect((await writeOne(store, remove('a', { etag: etag ?? '' }))).status).toBe('refused');
    await pause(2_000);
    expect(other.rows(`SELECT key FROM state WHERE ${alive}`)).toEqual([['a']]);
    await store.close();
  });

  test('takes keys with U+0000', async () => {
    const store = await open(newFile());
    await putOne(store, 'a\0b', '1');
    await putOne(store, 'a', '2');
    expect(await Promise.all(['a\0b', 'a', 'a\0'].map((name) => textOf(store, name)))).toEqual(['1', '2', undefined]);
    await store.close();
  });

  test('lists keys that begin with a text, page by page, without expired ones', async () => {
    const store = await open(newFile());
    for (const name of ['b', 'B', 'a%', 'ä', '_', 'a']) await putOne(store, `app||${name}`, '1');
    await putOne(store, 'app||gone', '1', 1);
    await putOne(store, 'app|', '1');
    await putOne(store, 'app|}', '1');
    await pause(5);
    const list = async (after?: string): Promise<readonly string[]> =>
      ((await store.list?.('app||', { limit: 3, ...(after === undefined ? {} : { after }) })) ?? []).map(
        (one) => one.key,
      );
    expect(await list()).toEqual(['app||B', 'app||_', 'app||a']);
    expect(await list('app||a')).toEqual(['app||a%', 'app||b', 'app||ä']);
    expect(await list('app||ä')).toEqual([]);
    expect(await store.list?.('', { limit: 100 })).toHaveLength(8);
    await store.close();
  });

  test('deletes expired rows once in an interval, whoever does it', async () => {
    const file = newFile();
    const stores = [await open(file, { cleanupInterval: 300 }), await open(file, { cleanupInterval: 300 })];
    const other = new OtherProgram(file);
    await putOne(stores[0]!, 'gone', '1', 1);
    await putOne(stores[0]!, 'kept', '1');
    await vi.waitFor(() => expect(other.rows('SELECT key FROM state')).toEqual([['kept']]), { timeout: 10_000 });
    expect(other.rows("SELECT key FROM metadata WHERE key LIKE 'last%'")).toEqual([['last-cleanup']]);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('many callers share a sync: their writes are one transaction', async () => {
    const file = newFile();
    const store = await open(file);
    const pages = (): number => statSync(`${file}-wal`).size;
    await putOne(store, 'k', '1');
    const before = pages();
    await Promise.all(Array.from({ length: 200 }, (_value, index) => putOne(store, `k${index}`, '1')));
    // A transaction of its own for each would write at least a page of 4 KiB for each.
    expect(pages() - before).toBeLessThan(200 * 4_096);
    await store.close();
  });

  test('while another process holds the file, writes fail after the busy time-out, and work afterwards', async () => {
    const file = newFile();
    const context = storeContext();
    const store = await open(file, { busyTimeout: 200 }, context);
    const other = new OtherProgram(file);
    await putOne(store, 'a', '1');
    other.run('BEGIN IMMEDIATE');
    await expect(putOne(store, 'a', '2')).rejects.toThrow('is held by another process');
    expect(store.failure?.message).toContain('is held by another process');
    expect(await textOf(store, 'a')).toBe('1');
    other.run('COMMIT');
    await putOne(store, 'a', '3');
    expect(store.failure).toBeUndefined();
    expect(await textOf(store, 'a')).toBe('3');
    await store.close();
  });

  test('a path that cannot be opened, and a file that is no database, are errors of the start', async () => {
    await expect(open(join(directory, 'none', 'a.db'))).rejects.toThrow('cannot be created or written to');
    await expect(open(new URL(import.meta.url).pathname)).rejects.toThrow('is no database');
  });

  test.each([
    { file: ':memory:', expected: 'state.in-memory' },
    { file: 'file::memory:?cache=shared', expected: 'state.in-memory' },
    { file: 'file:data.db?mode=memory', expected: 'state.in-memory' },
    { file: 'file:data.db?mode=ro', expected: 'may be written to' },
    { file: 'file:///%zz', expected: 'a path or a URL' },
    { file: '', expected: 'a path or a file: URL' },
  ])('refuses $file', ({ file, expected }) => {
    expect(() => sqliteStateStore('store', { file })).toThrow(expected);
  });

  test.each(['a b', 'state"; DROP', '', 'a.b'])('refuses the table %j', (tableName) => {
    expect(() => sqliteStateStore('store', { file: 'a.db', tableName })).toThrow('letters, digits and underscores');
  });

  test('opens the file of a URL, whatever its parameters', async () => {
    const file = join(directory, 'with space.db');
    const store = await open(`${pathToFileURL(file).href}?cache=shared&_pragma=foreign_keys(1)`);
    await putOne(store, 'a', '1');
    await store.close();
    expect(new OtherProgram(file).rows('SELECT key FROM state')).toEqual([['a']]);
  });

  test('says once that two writers need a later SQLite, if they do', async () => {
    const context = storeContext();
    const store = await open(newFile(), {}, context);
    const [version] = new OtherProgram(newFile()).rows('SELECT sqlite_version()').flat();
    const isOld = String(version).localeCompare('3.51.3', 'en', { numeric: true }) < 0;
    const notes = context.logger.at('info').filter(({ message }) => message.includes('3.51.3 cannot'));
    expect(notes).toHaveLength(isOld ? 1 : 0);
    await store.close();
  });

  test('a process that is killed while it writes loses nothing that it was told is written', async () => {
    const file = newFile();
    const program = new URL('./writer-child.ts', import.meta.url).pathname;
    const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', program, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let told = '';
    child.stdout?.on('data', (part: Buffer) => {
      told += part.toString();
    });
    const store = await open(file);
    await vi.waitFor(() => expect(told.split('\n').length).toBeGreaterThan(50), { timeout: 30_000 });
    // This process writes to the same file meanwhile.
    for (let round = 0; round < 20; round++) await putOne(store, `own-${round}`, '1');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const lines = told.split('\n').slice(0, -1);
    const found = await store.read(lines);
    expect(lines.filter((_line, index) => found[index] === undefined)).toEqual([]);
    expect((await store.list?.('own-', { limit: 100 }))?.length).toBe(20);
    await putOne(store, 'after', '1');
    await store.close();
  }, 60_000);
});
