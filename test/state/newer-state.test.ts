import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Connection, loadSqlite } from '../../src/components/embedded/driver.ts';
import { openEmbeddedStore } from '../../src/components/embedded/embedded-store.ts';
import type { KeyedEntry } from '../../src/state/store.ts';
import { context } from '../support/embedded-store.ts';
import { FIXTURES, OldState, OldWorld } from './old-fixtures.ts';

const LONG = { timeout: 60_000 };
const FIXTURE = '58379df/killed';
const NEWER = 9;
const IS_NEWER = `has format ${NEWER}; this release reads 1. A newer release may have written it.`;

/** The entries of a state directory. */
async function entriesOf(path: string): Promise<readonly KeyedEntry[]> {
  const store = await openEmbeddedStore(path, context);
  try {
    return await store.scan({ from: '' });
  } finally {
    await store.close();
  }
}

/** Gives an entry a format of a later release; answers it. */
async function makeNewer(path: string, key: RegExp): Promise<{ readonly key: string; readonly value: Uint8Array }> {
  const entry = (await entriesOf(path)).find((one) => key.test(one.key));
  if (entry === undefined) throw new Error(`the fixture has no ${String(key)}`);
  const newer = { key: entry.key, value: Uint8Array.from(entry.value) };
  newer.value[0] = NEWER;
  const store = await openEmbeddedStore(path, context);
  await store.commit({ put: [newer] });
  await store.close();
  return newer;
}

async function storedValue(path: string, key: string): Promise<Uint8Array | undefined> {
  return (await entriesOf(path)).find((entry) => entry.key === key)?.value;
}

/** The errors in the log of a world, with the times that each was told. */
function errorsOf(world: OldWorld): readonly string[] {
  return world.logger.at('error').map(({ details }) => (details['error'] as Error).message);
}

test.each(FIXTURES)('the directory of %s is refused, and keeps all, when its schema is newer', async (fixture) => {
  using state = new OldState(fixture);
  using original = new OldState(fixture);
  const change = async (sql: string): Promise<(Buffer | undefined)[]> => {
    const connection = new Connection(await loadSqlite(), join(state.path, 'state.db'));
    connection.execute(sql);
    const files = [...state.files()];
    connection.close();
    return files;
  };
  // As a crash leaves it: with the log.
  state.putBack(await change('PRAGMA journal_mode=WAL; PRAGMA user_version=3'));
  await expect(new OldWorld(state).start()).rejects.toMatchObject({
    kind: 'newer-format',
    message: expect.stringMatching(/has schema version 3; this release knows up to 2\. .*use that one/),
  });
  expect(existsSync(join(state.path, 'holder.json'))).toBe(false);
  await change('PRAGMA user_version=1');
  const bytesOf = async (path: string): Promise<string> => JSON.stringify(await entriesOf(path));
  expect((await bytesOf(state.path)) === (await bytesOf(original.path))).toBe(true);
});

test.each([
  ['a host', /^hosts!host!/],
  ['the table of hosts', /^hosts!table!/],
  ['the owner of a shard', /^shards!=shop!/],
  ['a group', /^pubsub!=pubsub!group!=orders!=shop!$/],
  ['the number of groups', /^pubsub!=pubsub!groups!/],
])('a sidecar does not start when %s has a newer format, and changes nothing', LONG, async (_what, key) => {
  using state = new OldState(FIXTURE);
  const newer = await makeNewer(state.path, key);
  await using world = new OldWorld(state);
  await expect(world.start()).rejects.toMatchObject({
    kind: 'newer-format',
    message: expect.stringContaining(IS_NEWER),
  });
  await world.shop.stop();
  expect(await storedValue(state.path, newer.key)).toEqual(newer.value);
});

test.each([
  ['message', /^pubsub!=pubsub!ready!=backlog!/, 'message', 46],
  ['delayed message', /^pubsub!=pubsub!delayed!=orders!=shop!/, 'message', 46],
  ['job', /^jobs!=shop!due!.*!running!$/, 'job', 3],
  ['workflow', /^workflows!=shop!instance!timer-pending!/, 'activity', 9],
  ['history', /^workflows!=shop!history!long!/, 'activity', 9],
] as const)('a %s in a newer format stays as it is, and the others go on', LONG, async (_what, key, kind, others) => {
  using state = new OldState(FIXTURE);
  const newer = await makeNewer(state.path, key);
  const world = await new OldWorld(state).start();
  await world.subscribe();
  await world.pass('90m');
  expect(new Set(errorsOf(world))).toEqual(new Set([`The value of ${JSON.stringify(newer.key)} ${IS_NEWER}`]));
  expect(world.all(kind)).toHaveLength(others);
  await world[Symbol.asyncDispose]();
  expect(await storedValue(state.path, newer.key)).toEqual(newer.value);
});

test('what is asked for in a newer format is an error that names the formats', LONG, async () => {
  using state = new OldState(FIXTURE);
  for (const key of [/^jobs!=shop!job!every!/, /^jobs!=shop!data!/, /!instance!seeded!/, /!history!long!/])
    await makeNewer(state.path, key);
  const sequence = await makeNewer(state.path, /^pubsub!=pubsub!sequence!/);
  await using world = await new OldWorld(state).start();
  const { jobs, workflows, pubsub } = world.shop;
  await expect(jobs.get('every')).rejects.toThrow(IS_NEWER);
  await expect(jobs.get('large')).rejects.toThrow(IS_NEWER);
  await expect(workflows.get('seeded')).rejects.toThrow(IS_NEWER);
  await expect(workflows.history('long')).rejects.toThrow(IS_NEWER);
  const error: unknown = await pubsub.publish('pubsub', 'orders', {}).catch((reason: unknown) => reason);
  // Publishers may be remote: they are not told keys.
  expect(String(error)).toContain('an entry of the state store has the format of a newer release');
  expect(inspect(error, { depth: 9 })).toContain(IS_NEWER);
  await world.shop.stop();
  expect(await storedValue(state.path, sequence.key)).toEqual(sequence.value);
});

// Earlier releases cannot know a new format. A migration, which may be empty, makes them refuse the directory as a whole.
test('schema version 2 has values of format 1 only', LONG, async () => {
  using state = new OldState(FIXTURE);
  await using world = await new OldWorld(state).start();
  await world.subscribe();
  await world.pass('20m');
  await world.shop.jobs.schedule('new', { schedule: '@every 1h', data: 'new' });
  await world.shop.workflows.start('events', undefined, { instanceId: 'new' });
  await world.shop.pubsub.pause({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
  await world.shop.pubsub.publish('pubsub', 'orders', 'new');
  await world.shop.stop();
  const formats = (await entriesOf(state.path)).map(({ key, value }) => ({ key, format: value[0] }));
  expect(formats.filter(({ format }) => format !== 1)).toEqual([]);
});
