import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { postgresqlDdl, postgresqlState } from '../../src/components/postgresql/index.ts';
import { redisState } from '../../src/components/redis/index.ts';
import { defineJob, defineWorkflow, durablePubSub, Sidecar } from '../../src/index.ts';
import type { StateDefinition } from '../../src/state/store.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from '../support/logger.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';
import { PATIENCE, runCli, runHere, temporaryDirectory } from './cli.ts';

interface Engine {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly startServer: () => Promise<OwnServer>;
  readonly url: (port: number) => string;
  /** The type and metadata of a component. */
  readonly component: (
    port: number,
    place: string,
  ) => readonly [type: string, metadata: Readonly<Record<string, string>>];
  readonly state: (port: number, place: string) => StateDefinition;
}

const postgresqlUrl = (port: number): string => `postgresql://postgres:opensesame@127.0.0.1:${port}/postgres`;
const redisUrl = (port: number): string => `redis://127.0.0.1:${port}`;
const ENGINES: readonly Engine[] = [
  {
    name: 'PostgreSQL',
    isThere: hasPostgresql,
    startServer: startPostgresql,
    url: postgresqlUrl,
    component: (port, schema) => ['state.postgresql', { connectionString: postgresqlUrl(port), schema }],
    state: (port, schema) => postgresqlState({ url: postgresqlUrl(port), schema }),
  },
  {
    name: 'Redis',
    isThere: hasRedis,
    startServer: startRedis,
    url: redisUrl,
    component: (port, prefix) => ['state.redis', { redisHost: `127.0.0.1:${port}`, prefix }],
    state: (port, prefix) => redisState({ url: redisUrl(port), prefix }),
  },
];

/** What the application has seen, over all its lives. */
interface Seen {
  readonly messages: (readonly [data: unknown, attempt: number])[];
  readonly jobs: (readonly [data: unknown, attempt: number])[];
}

/** One life of an application; in its first one, nothing succeeds. */
async function live(state: StateDefinition, seen: Seen, isFirst: boolean): Promise<Sidecar> {
  const sidecar = new Sidecar({
    appId: 'orders',
    state,
    components: [durablePubSub('events')],
    logger: new RecordingLogger(),
  });
  const fail = (): void => {
    if (isFirst) throw new Error('not yet');
  };
  sidecar.register(
    defineJob('report', (data, { attempt }) => {
      seen.jobs.push([data, attempt]);
      fail();
    }),
  );
  const approve = defineWorkflow('approve', async (ctx, who: string) => {
    await ctx.sleep(1_000);
    const decision = await ctx.waitForEvent<string>('decision');
    await ctx.sleep(500);
    return `${decision} by ${who}`;
  });
  sidecar.workflows.register(approve);
  await sidecar.start();
  const retry = { delay: 1_500 } as const;
  const onMessage = (event: { data?: unknown }, { attempt }: { attempt: number }): void => {
    seen.messages.push([event.data, attempt]);
    fail();
  };
  await sidecar.pubsub.subscribe('events', 'placed', onMessage, { retry });
  return sidecar;
}

/** Leaves behind messages that have failed, a job that has failed, a job of the future, and workflows that wait. */
async function firstLife(state: StateDefinition, seen: Seen): Promise<void> {
  const sidecar = await live(state, seen, true);
  await sidecar.pubsub.publish('events', 'placed', { id: 1 });
  await sidecar.pubsub.publish('events', 'placed', { id: 2 });
  const retry = { maxRetries: 5, delay: '1500ms', factor: 1 } as const;
  await sidecar.jobs.schedule('report', { dueTime: '0s', data: 'x', retry });
  await sidecar.jobs.schedule('later', { dueTime: '24h', data: 'y'.repeat(100_000) });
  await sidecar.workflows.start('approve', 'Ada', { instanceId: 'at-timer' });
  await sidecar.workflows.start('approve', 'Bob', { instanceId: 'decided-early' });
  await sidecar.workflows.raiseEvent('decided-early', 'decision', 'refused');
  await expect.poll(() => [seen.messages.length, seen.jobs.length], PATIENCE).toEqual([2, 1]);
  await sidecar.stop();
}

/** Everything goes on where it was. */
async function secondLife(state: StateDefinition, seen: Seen): Promise<void> {
  await using sidecar = await live(state, seen, false);
  await expect.poll(() => [seen.messages.length, seen.jobs.length], PATIENCE).toEqual([4, 2]);
  const again = seen.messages.slice(2).map((message) => JSON.stringify(message));
  expect(again.toSorted()).toEqual(['[{"id":1},2]', '[{"id":2},2]']);
  expect(seen.jobs).toEqual([
    ['x', 1],
    ['x', 2],
  ]);
  expect((await sidecar.jobs.get('later'))?.data).toBe('y'.repeat(100_000));
  await sidecar.workflows.raiseEvent('at-timer', 'decision', 'approved');
  const outputs = ['at-timer', 'decided-early'].map(async (id) => (await sidecar.workflows.run(id).ended()).output);
  expect(await Promise.all(outputs)).toEqual(['approved by Ada', 'refused by Bob']);
}

const amountIn = (text: string): string | undefined => /moved \d+ entries \(\d+ bytes\)/.exec(text)?.[0];

for (const { name, isThere, startServer, component, state, url } of ENGINES) {
  describe.skipIf(!isThere())(`insidecar migrate-state and ${name}`, () => {
    let server: OwnServer;
    beforeAll(async () => {
      server = await startServer();
    }, 60_000);
    afterAll(() => server[Symbol.asyncDispose]());

    /** A resource file with state at a place of the server. */
    async function file(place: string): Promise<string> {
      const [type, metadata] = component(server.port, place);
      const values = Object.entries(metadata).map(([key, value]) => ({ name: key, value }));
      const path = join(await temporaryDirectory(), 'state.yaml');
      const spec = JSON.stringify({ type, version: 'v1', metadata: values });
      await writeFile(
        path,
        `apiVersion: dapr.io/v1alpha1\nkind: Component\nmetadata: { name: store }\nspec: ${spec}\n`,
      );
      return path;
    }

    test('an application goes on there, and back in a directory', async () => {
      const [directory, back] = [await temporaryDirectory(), await temporaryDirectory()];
      const seen: Seen = { messages: [], jobs: [] };
      await firstLife(embeddedState({ path: directory }), seen);
      const { stdout, ...there } = await runHere(['migrate-state', '--from', directory, '--to', await file('moved')]);
      expect(there).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(
        new RegExp(
          `^moved \\d+ entries \\(\\d+ bytes\\) from ${directory} to ${name} at 127.0.0.1:${server.port}.*moved; every one was compared\n$`,
        ),
      );
      const returned = await runHere(['migrate-state', '--from', await file('moved'), '--to', join(back, 'state')]);
      expect(returned.code).toBe(0);
      expect(amountIn(returned.stdout)).toBe(amountIn(stdout));
      const copy: Seen = { messages: [...seen.messages], jobs: [...seen.jobs] };
      await secondLife(state(server.port, 'moved'), seen);
      await secondLife(embeddedState({ path: join(back, 'state') }), copy);
    }, 120_000);

    test('state that a running sidecar uses is not moved', async () => {
      await using sidecar = new Sidecar({
        appId: 'orders',
        state: state(server.port, 'used'),
        logger: new RecordingLogger(),
      });
      await sidecar.start();
      const target = await temporaryDirectory();
      const { code, stderr } = await runHere(['migrate-state', '--from', await file('used'), '--to', target]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('Sidecars of orders use the source: stop them first.'),
      ]);
    }, 60_000);

    test('a URL names the default place, and no password is shown', async () => {
      const directory = await temporaryDirectory();
      await using store = await embeddedState({ path: directory }).open({
        clock: systemClock,
        logger: new RecordingLogger(),
      });
      await store.commit({ put: [{ key: 'a', value: new Uint8Array(3) }] });
      const args = ['migrate-state', '--from', directory, '--to', url(server.port)];
      const held = await runHere(args);
      expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('is already open')]);
      await store.close();
      const { code, stdout, stderr } = await runCli(args);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^moved 1 entries \(4 bytes\) .* insidecar; every one was compared\n$/);
      const again = await runHere(args);
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('The target is not empty')]);
      expect(stdout + again.stderr).not.toContain('opensesame');
    }, 60_000);
  });
}

describe('insidecar migrate-state', () => {
  test.each<[string, readonly string[], RegExp]>([
    ['no source', ['--to', 'x'], /--from is missing/],
    ['no target', ['--from', 'redis://db'], /--to is missing/],
    ['a directory without state', ['--from', 'src', '--to', 'x'], /--from "src" is no directory with state/],
    ['the same place twice', ['--from', 'redis://db', '--to', 'redis://db:6379'], /--from and --to are the same/],
    ['more', ['--from', 'redis://db', '--to', 'x', 'y'], /expected flags only: actual is "y"/],
  ])('%s is a wrong command line', async (_what, flags, message) => {
    const { code, stderr } = await runHere(['migrate-state', ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  test('a file without state is a wrong command line', async () => {
    const path = join(await temporaryDirectory(), 'a.yaml');
    await writeFile(path, '# nothing\n');
    const { code, stderr } = await runHere(['migrate-state', '--from', path, '--to', 'x']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('has no component of state that is kept')]);
  });
});

test('insidecar postgresql-ddl prints the statements for a schema', async () => {
  expect(await runHere(['postgresql-ddl'])).toEqual({ code: 0, stderr: '', stdout: postgresqlDdl() });
  const { stdout } = await runHere(['postgresql-ddl', '--schema', 'shop']);
  expect(stdout).toBe(postgresqlDdl('shop'));
});

test.each([
  'x'.repeat(60),
  'h9$$;CREATE TABLE public.pwned();DO $$BEGIN--\n',
  'x$$',
  '$$$',
  "x\\'; DROP TABLE users; --",
  'two\nlines',
])(
  'insidecar postgresql-ddl refuses the schema %j, and so do postgresqlDdl() and postgresqlState()',
  async (schema) => {
    const refusal = 'expected a name of 1 to 53 bytes, without $$, backslashes and control characters';
    const { code, stdout, stderr } = await runHere(['postgresql-ddl', `--schema=${schema}`]);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(refusal)]);
    for (const use of [() => postgresqlDdl(schema), () => postgresqlState({ url: 'postgresql://a/b', schema })])
      expect(use).toThrow(refusal);
  },
);

test('a schema may have quotes and single dollar signs', () => {
  expect(postgresqlDdl(`o'n$e"`)).toContain(`CREATE SCHEMA "o'n$e"""`);
});
