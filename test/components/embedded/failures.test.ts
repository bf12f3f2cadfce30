import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { databaseFileOf } from '../../../src/components/embedded/directory.ts';
import { loadSqlite, SqliteConnection } from '../../../src/components/embedded/driver.ts';
import { EmbeddedStore, openEmbeddedStore } from '../../../src/components/embedded/embedded-store.ts';
import { openDatabase } from '../../../src/components/embedded/schema.ts';
import { SqliteEngine } from '../../../src/components/embedded/sqlite-engine.ts';
import { Thread } from '../../../src/components/embedded/thread.ts';
import { context, openStore, put, temporaryDirectory } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { mountTmpfs, remountTmpfs } from '../../support/tmpfs.ts';

const PAGE_BYTES = 4096;
/** The type of a page of SQLite (sqlite.org/fileformat2.html). */
const INDEX_LEAF = 0x0a;

async function changeDatabase(path: string, sql: string): Promise<void> {
  const connection = new SqliteConnection(await loadSqlite(), databaseFileOf(path));
  connection.execute(sql);
  connection.close();
}

/** Swaps two pages of the tree's leaves. */
function swapLeaves(file: string): void {
  const bytes = readFileSync(file);
  const pages = Array.from({ length: bytes.length / PAGE_BYTES }, (_, page) =>
    bytes.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES),
  );
  const [, first, second] = pages.filter((page) => page[0] === INDEX_LEAF && page.includes('k1'));
  if (first === undefined || second === undefined) throw new Error('the file is too small');
  const kept = Buffer.from(first);
  second.copy(first);
  kept.copy(second);
  writeFileSync(file, bytes);
}

/** A directory in which a store has been. */
async function usedDirectory(): Promise<string> {
  const path = temporaryDirectory();
  const store = await openStore(path);
  for (let number = 0; number < 200; number++) void store.commit({ put: [put(`k${number}`, 500)] });
  await store.close();
  return path;
}

describe('a directory that cannot be used', () => {
  test('is named when a file is in its place', async () => {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, 'something else');
    await expect(openStore(path)).rejects.toMatchObject({ kind: 'read-only', message: expect.stringContaining(path) });
    await expect(openStore(join(path, 'below'))).rejects.toMatchObject({ kind: 'read-only' });
  });

  test('is named when the disk is read-only', async ({ skip }) => {
    const path = join(temporaryDirectory(), 'mounted');
    if (!mountTmpfs(path, 'size=4m')) skip('mounting is not allowed here');
    await (await openStore(join(path, 'state'))).close();
    remountTmpfs(path, 'ro');
    for (const directory of ['state', 'new']) {
      await expect(openStore(join(path, directory))).rejects.toMatchObject({
        kind: 'read-only',
        message: expect.stringMatching(/cannot be created or written to/),
      });
    }
  });

  test('is named when its file is no database, and the file stays as it is', async () => {
    const path = temporaryDirectory();
    writeFileSync(databaseFileOf(path), 'this is certainly no database, but a text that somebody has put there');
    await expect(openStore(path)).rejects.toMatchObject({ kind: 'corrupt', message: expect.stringContaining(path) });
    expect(readFileSync(databaseFileOf(path), 'utf8')).toMatch(/^this is certainly/);
  });

  test("is named when its file is another program's database", async () => {
    const path = temporaryDirectory();
    await changeDatabase(path, 'CREATE TABLE customers (id INTEGER PRIMARY KEY)');
    await expect(openStore(path)).rejects.toMatchObject({
      kind: 'corrupt',
      message: expect.stringMatching(/another program/),
    });
  });

  test('is refused, unchanged, when a newer release wrote it', async () => {
    const path = await usedDirectory();
    await changeDatabase(path, 'PRAGMA user_version = 99');
    const before = readFileSync(databaseFileOf(path));
    await expect(openStore(path)).rejects.toMatchObject({
      kind: 'newer-format',
      message: expect.stringMatching(/schema version 99; this release knows up to 2/),
    });
    expect(readFileSync(databaseFileOf(path)).equals(before)).toBe(true);
    await changeDatabase(path, 'PRAGMA user_version = 2');
    expect(await (await openStore(path)).get('k1')).toBeDefined();
  });
});

test('damage that shows later fails the calls and the health, for good', async () => {
  const path = await usedDirectory();
  const file = databaseFileOf(path);
  const bytes = readFileSync(file);
  // All but the first page, which has the header and the schema.
  bytes.fill(0xa5, 4096);
  writeFileSync(file, bytes);
  await expect(
    (async () => {
      const store = await openStore(path);
      onTestFinished(() => expect(store.failure).toMatchObject({ kind: 'corrupt' }));
      await store.scan({ from: '' });
    })(),
  ).rejects.toMatchObject({ kind: 'corrupt', message: expect.stringContaining(path) });
});

describe('a directory that is removed while it is in use', () => {
  test('fails the commits and the health from then on, and names itself', async () => {
    const path = temporaryDirectory();
    const logger = new RecordingLogger();
    await using store = await openEmbeddedStore(path, { ...context, logger });
    await store.commit({ put: [put('a')] });
    rmSync(path, { recursive: true });
    const refused = {
      kind: 'failed',
      message: expect.stringContaining(`${JSON.stringify(path)} was removed or replaced`),
    };
    await expect(store.commit({ put: [put('b')] })).rejects.toMatchObject(refused);
    await expect(store.commit({ put: [put('c')] })).rejects.toMatchObject(refused);
    expect(store.failure).toMatchObject(refused);
    expect(await store.get('a')).toBeDefined();
    expect(logger.lines.map(({ message }) => message)).toEqual(['the state store does not work']);
  });

  test('leaves the files of whoever has the directory now as they are', async () => {
    const path = temporaryDirectory();
    const store = await openStore(path);
    await store.commit({ put: [put('a')] });
    rmSync(path, { recursive: true });
    await using next = await openStore(path);
    await next.commit({ put: [put('b')] });
    await expect(store.commit({ put: [put('c')] })).rejects.toMatchObject({ kind: 'failed' });
    const files = (): readonly string[] =>
      readdirSync(path).map((file) => `${file}: ${statSync(join(path, file)).ino}`);
    const before = files();
    await store.close();
    expect(files()).toEqual(before);
    expect(readFileSync(join(path, 'holder.json'), 'utf8')).toContain('"isOpen":true');
    expect(await next.get('b')).toBeDefined();
  });
});

test('a thread that is lost fails the calls in flight, those to come, and the health', async () => {
  const path = temporaryDirectory();
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const thread = await Thread.open({ path, closed });
  const store = new EmbeddedStore(thread, context);
  const inFlight = store.commit({ put: [put('a')] });
  // No batch is packed like this.
  thread.send({ commits: Uint8Array.of(9) });
  await expect(inFlight).rejects.toMatchObject({ kind: 'failed', message: expect.stringContaining(path) });
  expect(store.failure).toMatchObject({ kind: 'failed', cause: expect.any(RangeError) });
  await expect(store.get('a')).rejects.toMatchObject({ kind: 'failed' });
  await store.close();
  expect(await (await openStore(path)).get('a')).toBeUndefined();
});

describe('a full disk', () => {
  test('fails what needs space, whole and by name; the store recovers by itself once there is some', async ({
    skip,
  }) => {
    const mounted = join(temporaryDirectory(), 'mounted');
    if (!mountTmpfs(mounted, 'size=3m')) skip('mounting is not allowed here');
    const path = join(mounted, 'state');
    const store = await openStore(path);
    await store.commit({ put: [put('a', 1000)] });
    await expect(store.commit({ put: [put('b', 10), put('c', 5_000_000)] })).rejects.toMatchObject({
      kind: 'full',
      message: expect.stringMatching(/on a full disk/),
    });
    expect(store.failure).toMatchObject({ kind: 'full' });
    expect(await store.get('b')).toBeUndefined();
    expect(await store.get('a')).toBeDefined();
    remountTmpfs(mounted, 'size=64m');
    await expect.poll(() => store.failure).toBeUndefined();
    await store.commit({ put: [put('c', 5_000_000)] });
    await store.close();
    const again = await openStore(path);
    expect((await again.scan({ from: '' })).map((entry) => entry.key)).toEqual(['a', 'c']);
  });

  test('fails only those of a group for which there is no space', async () => {
    const store = await openStore(temporaryDirectory(), { maxPages: 100 });
    const outcomes = await Promise.allSettled([
      store.commit({ put: [put('a')] }),
      store.commit({ put: [put('b'), put('big', 1_000_000)] }),
      store.commit({ require: [{ key: 'b', version: 'absent' }], put: [put('c')] }),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { kind: 'full' } });
    expect((await store.scan({ from: '' })).map((entry) => entry.key)).toEqual(['a', 'c']);
    await expect(store.commit({ put: [put('big', 1_000_000)] })).rejects.toMatchObject({ kind: 'full' });
    expect(store.failure).toMatchObject({ kind: 'full' });
    await store.commit({ put: [put('small')] });
    expect(store.failure).toBeUndefined();
  });
});

test('without a driver, the error says what to install', async ({ skip }) => {
  const builtIn: string = 'node:sqlite';
  if (
    await import(builtIn).then(
      () => true,
      () => false,
    )
  )
    skip('this Node brings SQLite along');
  const root = temporaryDirectory();
  cpSync('dist', join(root, 'dist'), { recursive: true });
  mkdirSync(join(root, 'node_modules'));
  for (const needed of ['croner', 'eventemitter3']) {
    symlinkSync(join(process.cwd(), 'node_modules', needed), join(root, 'node_modules', needed));
  }
  const script = `
    import { embeddedState } from ${JSON.stringify(join(root, 'dist/embedded.mjs'))};
    await embeddedState({ path: ${JSON.stringify(join(root, 'state'))} }).open({}).catch((error) => console.log(error.kind, error.message));`;
  // Not in this directory, which has the driver.
  const options = { encoding: 'utf8', cwd: root, timeout: 30_000 } as const;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], options);
  expect(output).toMatch(/driver-missing .*npm install @photostructure\/sqlite@1\.2\.1/);
  rmSync(root, { recursive: true });
});

/** The engine without its thread: what the thread does with it is in the other tests. */
describe('the engine', () => {
  const key = (text: string): Uint8Array => Buffer.from(text);
  const batch = (name: string): Parameters<SqliteEngine['commit']>[0][number] => ({
    require: [],
    put: [{ key: key(name), value: key('value') }],
    delete: [],
  });

  test('may have written, or not, when a commit fails for an unknown reason, and takes no more', async () => {
    const path = temporaryDirectory();
    const connection = openDatabase(await loadSqlite(), path);
    let isBroken = false;
    const beforeCommit = (): void => {
      if (isBroken) throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    };
    const engine = new SqliteEngine(connection, { path, beforeCommit });
    expect(engine.commit([batch('a')])).toEqual([{ version: expect.any(Number) }]);
    isBroken = true;
    const failed = { failure: { kind: 'failed', message: expect.stringMatching(/has failed \(disk I\/O error\)/) } };
    expect(engine.commit([batch('b'), batch('c')])).toEqual([failed, failed]);
    isBroken = false;
    expect(engine.commit([batch('d')])).toEqual([failed]);
    expect(engine.read({ get: key('a') })).toEqual(failed.failure);
    engine.probe();
    expect(engine.failure).toMatchObject({ kind: 'failed' });
    engine.close();
  });

  test.each([false, true])('fails a scan whose rows are out of order, reverse: %s', async (reverse) => {
    const path = await usedDirectory();
    swapLeaves(databaseFileOf(path));
    const engine = new SqliteEngine(new SqliteConnection(await loadSqlite(), databaseFileOf(path)), { path });
    const scan = { from: key('k'), to: undefined, limit: -1, maxBytes: -1, reverse };
    const damaged = {
      kind: 'corrupt',
      message: expect.stringMatching(/damaged one; .*the entry "k\d+" is out of order/),
    };
    expect(engine.read({ scan })).toEqual(damaged);
    expect(engine.failure).toMatchObject({ kind: 'corrupt' });
    engine.close();
  });

  test('learns from checkpoints how fast the log grows', async () => {
    const path = temporaryDirectory();
    const engine = new SqliteEngine(openDatabase(await loadSqlite(), path), { path });
    engine.commit([batch('a')]);
    expect(engine.hasLog).toBe(true);
    expect(engine.logIsLong).toBe(false);
    engine.checkpoint();
    expect(engine.hasLog).toBe(false);
    for (let number = 0; number < 90; number++) engine.commit(Array.from({ length: 1000 }, () => batch('a')));
    expect(engine.logIsLong).toBe(true);
    engine.close();
  });
});
