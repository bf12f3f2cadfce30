import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { moveState } from '../../../src/cluster/move-state.ts';
import { durablePubSub } from '../../../src/components/durable/durable-pubsub.ts';
import { databaseFileOf, logFileOf } from '../../../src/components/embedded/directory.ts';
import { loadSqlite, SqliteConnection } from '../../../src/components/embedded/driver.ts';
import { openEmbeddedStore } from '../../../src/components/embedded/embedded-store.ts';
import { openDatabase } from '../../../src/components/embedded/schema.ts';
import { SqliteEngine } from '../../../src/components/embedded/sqlite-engine.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, textMessage } from '../../../src/kit/collector.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { readValue, withFormat } from '../../../src/state/values.ts';
import { context, openStore, temporaryDirectory } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';

const PAGE_BYTES = 4096;
const FRAME_BYTES = PAGE_BYTES + 24;
const LOG_HEADER_BYTES = 32;

/** Changes rows beside the store, which leaves their checksums. */
async function execute(path: string, sql: string): Promise<void> {
  const connection = new SqliteConnection(await loadSqlite(), databaseFileOf(path));
  connection.execute(sql);
  connection.close();
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

const text = (value: string): Uint8Array => withFormat(1, Buffer.from(value));

/** A stopped store with five rows. */
async function fiveRows(): Promise<string> {
  const path = temporaryDirectory();
  const store = await openStore(path);
  for (let number = 1; number <= 5; number++)
    await store.commit({ put: [{ key: `k${number}`, value: text(`value ${number}`) }] });
  await store.close();
  return path;
}

describe('a damaged row', () => {
  test.each([
    ['a changed byte of its value', `SET value = x'0176616c75652034'`],
    ['a changed version', 'SET version = version + 1'],
    ['a changed key', `SET key = CAST('k3a' AS BLOB)`],
    ['a changed checksum', 'SET checksum = checksum + 1'],
    ['another type', `SET value = 'value 3'`],
    ['a value of another type, without a checksum', 'SET value = 17, checksum = NULL'],
    ['a value that is empty', `SET value = x''`],
  ])('is answered as damaged, by name, and holds up no other: %s', async (_what, change) => {
    const path = await fiveRows();
    await execute(path, `UPDATE entry ${change} WHERE key = CAST('k3' AS BLOB)`);
    const store = await openStore(path);
    const entries = await store.scan({ from: '' });
    const key = change.includes('k3a') ? 'k3a' : 'k3';
    expect(entries.map((entry) => entry.key)).toEqual(['k1', 'k2', key, 'k4', 'k5']);
    const read = (value: Uint8Array): string => readValue(key, value, { 1: (bytes) => Buffer.from(bytes).toString() });
    expect(entries.filter((entry) => entry.key !== key).map(({ value }) => read(value))).toEqual(
      [1, 2, 4, 5].map((number) => `value ${number}`),
    );
    const error = expect.objectContaining({
      kind: 'corrupt',
      message: expect.stringMatching(new RegExp(`The entry "${key}" in ".*state\\.db" is damaged: it `)),
    });
    for (const damaged of [entries[2], await store.get(key)])
      expect(() => read(damaged?.value ?? new Uint8Array())).toThrow(error);
    expect(store.failure).toBeUndefined();
    // It is not written on, but can be replaced and removed.
    await expect(store.commit({ put: [{ key: 'copy', value: entries[2]?.value ?? text('') }] })).rejects.toEqual(error);
    await store.commit({ require: [{ key, version: entries[2]?.version ?? 0 }], put: [{ key, value: text('new') }] });
    expect(read((await store.get(key))?.value ?? new Uint8Array())).toBe('new');
    await store.commit({ delete: [key] });
    expect(await store.count({ from: '' }, 10)).toBe(4);
  });

  test('ends a move of the state', async () => {
    const path = await fiveRows();
    await execute(path, `UPDATE entry SET value = x'01' WHERE key = CAST('k3' AS BLOB)`);
    const [source, target] = [await openStore(path), new MemoryStore(context)];
    const move = moveState({ source, target, clock: context.clock, onProgress: () => undefined });
    await expect(move).rejects.toThrow(/The entry "k3" in .* is damaged/);
  });
});

describe('a damaged message', () => {
  const queue = { topic: 'orders', group: 'shop' };
  const texts = Array.from({ length: 12 }, (_, number) => String(number % 10).repeat(500_000));
  const openOn = (state: StateStore): Promise<PubSubComponent> =>
    durablePubSub('pubsub').open({ ...context, appId: 'shop', state, track: () => () => undefined });

  /** A directory with the messages of a queue, of which the first one is damaged: more than are read at once. */
  async function damagedQueue(): Promise<string> {
    const path = temporaryDirectory();
    const state = await openStore(path);
    const component = await openOn(state);
    await component.queues?.addGroup(queue);
    await component.publish(texts.map((text, number) => textMessage('orders', text, { id: String(number) })));
    await component.close();
    await state.close();
    const ready = `SELECT min(key) FROM entry WHERE instr(key, CAST('!ready!' AS BLOB))`;
    await execute(path, `UPDATE entry SET checksum = checksum + 1 WHERE key = (${ready})`);
    return path;
  }

  test('does not hide those behind it from consumers', async () => {
    const component = await openOn(await openStore(await damagedQueue()));
    const consumer = await Collector.join(component, queue, acknowledge);
    await consumer.expect(11);
    expect(consumer.texts).toEqual(texts.slice(1));
    await component.close();
  });

  test('does not hide those behind it from operators', async () => {
    const component = await openOn(await openStore(await damagedQueue()));
    expect(await component.queues?.discard(queue, {})).toBe(12);
    await component.close();
  });
});

test('rows of a release without checksums are read, and have one when they are written again', async () => {
  const path = await fiveRows();
  await execute(path, 'ALTER TABLE entry DROP COLUMN checksum; PRAGMA user_version = 1');
  const store = await openStore(path);
  expect((await store.scan({ from: '' })).map(({ value }) => Buffer.from(value).toString())).toEqual(
    [1, 2, 3, 4, 5].map((number) => `\u0001value ${number}`),
  );
  await store.commit({ put: [{ key: 'k3', value: text('value 3') }] });
  await store.close();
  await execute(path, `UPDATE entry SET value = x'01'`);
  const again = await openStore(path);
  const damaged = (await again.scan({ from: '' })).flatMap(({ key, value }) => (value.length === 0 ? [key] : []));
  expect(damaged).toEqual(['k3']);
});

describe('a damaged database', () => {
  async function manyRows(): Promise<string> {
    const path = temporaryDirectory();
    const store = await openStore(path);
    const put = Array.from({ length: 500 }, (_, number) => ({ key: `k${number}`, value: Buffer.alloc(300, 'x') }));
    await store.commit({ put });
    await store.close();
    return path;
  }

  test('is refused at the start when a page hides a row', async () => {
    const path = await manyRows();
    const bytes = readFileSync(databaseFileOf(path));
    // The type of a leaf and, four bytes further, the number of its rows (sqlite.org/fileformat2.html).
    const page = Array.from({ length: bytes.length / PAGE_BYTES }, (_, at) => at * PAGE_BYTES).find(
      (at) => bytes[at] === 0x0a && bytes.readUInt16BE(at + 3) > 5,
    );
    if (page === undefined) throw new Error('there is no such page');
    bytes.writeUInt16BE(bytes.readUInt16BE(page + 3) - 1, page + 3);
    writeFileSync(databaseFileOf(path), bytes);
    await expect(openStore(path)).rejects.toMatchObject({ kind: 'corrupt', message: expect.stringContaining(path) });
  });

  test('is refused when its counter of versions is gone, as when the roots of the tables are swapped', async () => {
    const path = await fiveRows();
    await execute(path, 'DELETE FROM counter');
    await expect(openStore(path)).rejects.toMatchObject({
      kind: 'corrupt',
      message: expect.stringMatching(/the counter of versions is missing/),
    });
  });

  test.each(['missing', 'empty'])('is refused when it is %s, and nothing is made in its place', async (how) => {
    const path = await manyRows();
    const file = databaseFileOf(path);
    if (how === 'missing') rmSync(file);
    else truncateSync(file, 1);
    await expect(openStore(path)).rejects.toMatchObject({
      kind: 'corrupt',
      message: expect.stringMatching(/its database .*state\.db" is missing or empty/),
    });
    expect(existsSync(file)).toBe(how === 'empty');
    rmSync(join(path, 'holder.json'));
    await (await openStore(path)).close();
  });
});

describe('a damaged log', () => {
  /** A directory as a kill leaves it: three commits are in the log. */
  async function killed(): Promise<string> {
    const path = temporaryDirectory();
    const engine = new SqliteEngine(openDatabase(await loadSqlite(), path), { path });
    for (const name of ['a', 'b', 'c'])
      engine.commit([{ require: [], put: [{ key: Buffer.from(name), value: Buffer.alloc(5_000, 'x') }], delete: [] }]);
    const files = ['state.db', 'state.db-wal', 'holder.json'].map(
      (file) => [file, readFileSync(join(path, file))] as const,
    );
    engine.close();
    const copy = temporaryDirectory();
    for (const [file, bytes] of files) writeFileSync(join(copy, file), bytes);
    return copy;
  }

  async function keysOf(path: string): Promise<readonly string[]> {
    return (await (await openStore(path)).scan({ from: '' })).map(({ key }) => key);
  }

  const corrupt = (message: RegExp) => ({ kind: 'corrupt', message: expect.stringMatching(message) });

  test('that is whole is taken over', async () => {
    expect(await keysOf(await killed())).toEqual(['a', 'b', 'c']);
  });

  test.each([
    ['its header', 12],
    ['the data of the first frame', LOG_HEADER_BYTES + 100],
    ['the header of the second frame', LOG_HEADER_BYTES + FRAME_BYTES + 9],
  ])('is refused when later commits would be lost: %s', async (_what, at) => {
    const path = await killed();
    flip(logFileOf(path), at);
    const before = readFileSync(logFileOf(path));
    await expect(openStore(path)).rejects.toMatchObject(corrupt(/The log of .* damaged .*Restore/));
    expect(readFileSync(logFileOf(path)).equals(before)).toBe(true);
  });

  test('is taken over when its last commit is incomplete, as after a power failure', async () => {
    const path = await killed();
    const bytes = readFileSync(logFileOf(path));
    flip(logFileOf(path), bytes.length - 10);
    expect(await keysOf(path)).toEqual(['a', 'b']);
  });

  test('is warned of, once, when it is gone', async () => {
    const path = await killed();
    rmSync(logFileOf(path));
    for (const warnings of [1, 0]) {
      const logger = new RecordingLogger();
      await (await openEmbeddedStore(path, { ...context, logger })).close();
      const lines = logger.at('warn').map(({ message }) => message);
      expect(lines).toHaveLength(warnings);
      for (const line of lines) expect(line).toMatch(/state\.db-wal, is missing or empty, .* commits may be lost/);
    }
  });

  test('is refused when only it is there', async () => {
    const path = await killed();
    rmSync(databaseFileOf(path));
    rmSync(join(path, 'holder.json'));
    await expect(openStore(path)).rejects.toMatchObject(corrupt(/its database .* is missing or empty/));
    expect(existsSync(logFileOf(path))).toBe(true);
  });
});

test('a store that could not be opened is opened later without a log', async () => {
  const path = await fiveRows();
  await execute(path, 'ALTER TABLE counter RENAME TO other');
  await expect(openStore(path)).rejects.toMatchObject({ kind: 'failed' });
  await execute(path, 'ALTER TABLE other RENAME TO counter');
  await (await openStore(path)).close();
});
