import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSqlite, SqliteConnection } from '../../src/components/embedded/driver.ts';
import { FORMAT as POSTGRESQL_FORMAT } from '../../src/components/postgresql/schema.ts';
import { FORMAT as REDIS_FORMAT } from '../../src/components/redis/scripts.ts';
import type { KeyedEntry } from '../../src/state/store.ts';
import { runSql } from '../components/postgresql/pg-test-server.ts';
import { dumpSchema } from '../fixtures/state/postgresql-dump.ts';
import { dumpKeys, withRedis } from '../fixtures/state/redis-dump.ts';
import { context } from '../support/embedded-store.ts';
import { FIXTURES, OldDirectory, type OldState, type OldStateOnServer, OldStates } from './old-fixtures.ts';
import { OldWorld } from './old-world.ts';

const LONG = { timeout: 60_000 };
const FIXTURE = '58379df/embedded/killed';
/** The first one on each engine that is there. */
const FIRST_OF_EACH = [FIXTURE, ...FIXTURES.filter((name) => /^0\.1\.0\/(postgresql|redis)\/killed$/.test(name))];
const NEWER = 9;
const IS_NEWER = `has format ${NEWER}; this release reads 1. A newer release may have written it.`;

const states = new OldStates();
beforeAll(() => states.start(), 120_000);
afterAll(() => states[Symbol.asyncDispose]());

/** The entries of a state. */
async function entriesOf({ definition }: Pick<OldState, 'definition'>): Promise<readonly KeyedEntry[]> {
  await using store = await definition.open(context);
  return await store.scan({ from: '' });
}

/** Gives an entry a format of a later release; answers it. */
async function makeNewer(state: OldState, key: RegExp): Promise<{ readonly key: string; readonly value: Uint8Array }> {
  const entry = (await entriesOf(state)).find((one) => key.test(one.key));
  if (entry === undefined) throw new Error(`the fixture has no ${String(key)}`);
  const newer = { key: entry.key, value: Uint8Array.from(entry.value) };
  newer.value[0] = NEWER;
  await using store = await state.definition.open(context);
  await store.commit({ put: [newer] });
  return newer;
}

async function storedValue(state: OldState, key: string): Promise<Uint8Array | undefined> {
  return (await entriesOf(state)).find((entry) => entry.key === key)?.value;
}

/** The fixtures on an engine. */
function on(engine: string): readonly string[] {
  return FIXTURES.filter((name) => name.includes(`/${engine}/`));
}

/** How a test sees to it that only releases of some format or a later one read a state, and what is in it. */
interface OnServer {
  require(state: OldStateOnServer, format: number): Promise<unknown>;
  dump(state: OldStateOnServer): Promise<string>;
}

const ON_POSTGRESQL: OnServer = {
  require: ({ server, database }, format) =>
    runSql(server.port, `UPDATE insidecar.meta SET min_reader = ${format}`, database),
  dump: ({ server, database }) => dumpSchema(server, 'insidecar', database),
};

const ON_REDIS: OnServer = {
  require: ({ server, database }, format) =>
    withRedis(server.port, Number(database), (send) => send('HSET', '{insidecar}:meta', 'min_reader', String(format))),
  // Sessions expire meanwhile.
  dump: async ({ server, database }) =>
    (await dumpKeys(server, '{insidecar}:', Number(database))).replaceAll(/"expiresInS": \d+/g, ''),
};

/** The errors in the log of a world, with the times that each was told. */
function errorsOf(world: OldWorld): readonly string[] {
  return world.logger.at('error').map(({ details }) => (details['error'] as Error).message);
}

/** The schema version of a directory. A copy of its own is asked: a query keeps the file locked on some versions of Node. */
async function schemaOf(fixture: string): Promise<string> {
  await using state = new OldDirectory(fixture);
  const connection = new SqliteConnection(await loadSqlite(), join(state.path, 'state.db'));
  const version = connection.valueOf('PRAGMA user_version');
  connection.close();
  return String(version);
}

test.each(on('embedded'))('%s is refused, and keeps all, when its schema is newer', LONG, async (fixture) => {
  await using state = new OldDirectory(fixture);
  await using original = new OldDirectory(fixture);
  const change = async (sql: string): Promise<(Buffer | undefined)[]> => {
    const connection = new SqliteConnection(await loadSqlite(), join(state.path, 'state.db'));
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
  await change(`PRAGMA user_version=${await schemaOf(fixture)}`);
  const bytesOf = async (one: OldState): Promise<string> => JSON.stringify(await entriesOf(one));
  expect((await bytesOf(state)) === (await bytesOf(original))).toBe(true);
});

test.each([
  ...on('postgresql').map((fixture) => ({ fixture, format: POSTGRESQL_FORMAT, ...ON_POSTGRESQL })),
  ...on('redis').map((fixture) => ({ fixture, format: REDIS_FORMAT, ...ON_REDIS })),
])('$fixture is refused, and keeps all, when its format is newer', LONG, async (one) => {
  await using state = await states.copyOnServer(one.fixture);
  await one.require(state, one.format + 1);
  const before = await one.dump(state);
  await expect(new OldWorld(state).start()).rejects.toMatchObject({
    kind: 'newer-format',
    message: expect.stringMatching(
      new RegExp(
        `127.0.0.1:${state.server.port}.* is of format ${one.format + 1}; this release reads ${one.format}\\. A newer`,
      ),
    ),
  });
  expect((await one.dump(state)) === before).toBe(true);
  await one.require(state, one.format);
  await using world = await new OldWorld(state).start();
  expect(world.logger.at('error')).toEqual([]);
});

const NEEDED_AT_START: readonly (readonly [what: string, key: RegExp])[] = [
  ['a host', /^hosts!host!/],
  ['the table of hosts', /^hosts!table!/],
  ['the owner of a shard', /^shards!=shop!/],
  ['a group', /^pubsub!=pubsub!group!=orders!=shop!$/],
  ['the number of groups', /^pubsub!=pubsub!groups!/],
];

test.each(FIRST_OF_EACH.flatMap((fixture) => NEEDED_AT_START.map(([what, key]) => ({ fixture, what, key }))))(
  'a sidecar does not start on $fixture when $what has a newer format, and changes nothing',
  LONG,
  async (one) => {
    const { fixture, key } = one;
    await using state = await states.copyOf(fixture);
    const newer = await makeNewer(state, key);
    await using world = new OldWorld(state);
    await expect(world.start()).rejects.toMatchObject({
      kind: 'newer-format',
      message: expect.stringContaining(IS_NEWER),
    });
    await world.shop.stop();
    expect(await storedValue(state, newer.key)).toEqual(newer.value);
  },
);

test.each([
  ['message', /^pubsub!=pubsub!ready!=backlog!/, 'message', 46],
  ['delayed message', /^pubsub!=pubsub!delayed!=orders!=shop!/, 'message', 46],
  ['job', /^jobs!=shop!due!.*!running!$/, 'job', 3],
  ['workflow', /^workflows!=shop!instance!timer-pending!/, 'activity', 9],
  ['history', /^workflows!=shop!history!long!/, 'activity', 9],
] as const)('a %s in a newer format stays as it is, and the others go on', LONG, async (_what, key, kind, others) => {
  await using state = new OldDirectory(FIXTURE);
  const newer = await makeNewer(state, key);
  const world = await new OldWorld(state).start();
  await world.subscribe();
  await world.pass('90m');
  expect(new Set(errorsOf(world))).toEqual(new Set([`The value of ${JSON.stringify(newer.key)} ${IS_NEWER}`]));
  expect(world.all(kind)).toHaveLength(others);
  await world[Symbol.asyncDispose]();
  expect(await storedValue(state, newer.key)).toEqual(newer.value);
});

test('what is asked for in a newer format is an error that names the formats', LONG, async () => {
  await using state = new OldDirectory(FIXTURE);
  for (const key of [/^jobs!=shop!job!every!/, /^jobs!=shop!data!/, /!instance!seeded!/, /!history!long!/])
    await makeNewer(state, key);
  const sequence = await makeNewer(state, /^pubsub!=pubsub!sequence!/);
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
  expect(await storedValue(state, sequence.key)).toEqual(sequence.value);
});

// Earlier releases cannot know a new format. A migration, which may be empty, makes them refuse the directory as a
// whole; on the servers FORMAT does.
test('schema version 2, and format 1 of the servers, have values of format 1 only', LONG, async () => {
  await using state = new OldDirectory(FIXTURE);
  await using world = await new OldWorld(state).start();
  await world.subscribe();
  await world.pass('20m');
  await world.shop.jobs.schedule('new', { schedule: '@every 1h', data: 'new' });
  await world.shop.workflows.start('events', undefined, { instanceId: 'new' });
  await world.shop.pubsub.queues.pause({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
  await world.shop.pubsub.publish('pubsub', 'orders', 'new');
  await world.shop.stop();
  const formats = (await entriesOf(state)).map(({ key, value }) => ({ key, format: value[0] }));
  expect(formats.filter(({ format }) => format !== 1)).toEqual([]);
  expect([POSTGRESQL_FORMAT, REDIS_FORMAT]).toEqual([1, 1]);
});
