import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { loadPg } from '../../../src/components/postgresql/driver.ts';
import type { StateCall } from '../../../src/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { put } from '../../support/embedded-store.ts';
import { hasPostgresql, servant, startStandby } from '../../support/servers.ts';
import { mountTmpfs, remountTmpfs } from '../../support/tmpfs.ts';
import { outages } from '../remote/outages.ts';
import type { Timeouts } from '../remote/remote-faults.ts';
import { PgTestServer } from './pg-test-server.ts';

const works = (store: StateStore): Promise<void> =>
  vi.waitFor(async () => expect(await store.commit({ put: [put('again')] })).toBeGreaterThan(0), { timeout: 10_000 });

describe.runIf(hasPostgresql())('state in PostgreSQL, when the server does not do its work', () => {
  let server: PgTestServer;
  let schema: string;
  beforeAll(async () => {
    server = await PgTestServer.start();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    schema = server.newPlace();
    server.logger.lines.length = 0;
  });
  const open = (timeouts: Timeouts = {}): Promise<StateStore> =>
    server.openAt(schema, server.server.port, { operationTimeout: 1_000, callTimeout: 300, ...timeouts });

  test('a statement that waits for a lock is given up and cancelled, and the store works again after it', async () => {
    await using store = await open();
    await store.commit({ put: [put('a')] });
    const { Client } = await loadPg();
    const holder = new Client({ connectionString: server.url() });
    await holder.connect();
    const run = (text: string): Promise<unknown> => holder.query({ text, rowMode: 'array' });
    await run(`BEGIN; LOCK TABLE "${schema}".entry IN ACCESS EXCLUSIVE MODE`);
    for (let round = 0; round < 3; round++)
      await expect(store.commit({ put: [put('b')] })).rejects.toMatchObject({
        kind: 'failed',
        message: /did not answer within 300 ms/,
      });
    expect(store.failure).toMatchObject({ kind: 'failed', message: /did not answer within 300 ms/ });
    // Ten and more calls were given up: none of them still waits, but the last one.
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
    await expect.poll(async () => Number((await server.sql(waiting))[0]?.[0])).toBeLessThan(3);
    await run('ROLLBACK');
    await holder.end();
    await works(store);
    expect(store.failure).toBeUndefined();
    expect(outages(server.logger)).toContain('the state store does not work');
    expect(outages(server.logger)).toContain('the state store works again');
  });

  test('statements that the server ends after its statement_timeout are repeated', async () => {
    await server.sql('CREATE ROLE hasty SUPERUSER LOGIN');
    await server.sql(`ALTER ROLE hasty SET statement_timeout = '100ms'`);
    await using first = await open();
    await first.commit({ put: [put('a')] });
    const calls: StateCall[] = [];
    const connection = server.url().replace('postgres@', 'hasty@');
    await using store = await server.open({ url: connection, schema, onCall: (call) => calls.push(call) });
    const { Client } = await loadPg();
    const holder = new Client({ connectionString: server.url() });
    await holder.connect();
    const run = (text: string): Promise<unknown> => holder.query({ text, rowMode: 'array' });
    await run(`BEGIN; LOCK TABLE "${schema}".entry IN ACCESS EXCLUSIVE MODE`);
    const done = Promise.all([store.commit({ put: [put('b')] }), store.get('a')]);
    const ended = (): readonly string[] => calls.flatMap(({ kind, error }) => (error === 'retry' ? [kind] : []));
    await expect.poll(ended).toEqual(expect.arrayContaining(['commit', 'get']));
    await run('ROLLBACK');
    await holder.end();
    const [version, entry] = await done;
    expect([(await first.get('b'))?.version, entry?.value.length]).toEqual([version, 1]);
    expect(store.failure).toBeUndefined();
  });

  test('a release adds its functions while somebody reads for long, and nobody waits for that', async () => {
    await using before = await open();
    await before.commit({ put: [put('a')] });
    await server.sql(`DROP FUNCTION "${schema}".commit_group_3`);
    const { Client } = await loadPg();
    const reader = new Client({ connectionString: server.url() });
    await reader.connect();
    await reader.query({ text: `BEGIN; SELECT FROM "${schema}".entry`, rowMode: 'array' });
    await using store = await open();
    await store.commit({ put: [put('b')] });
    expect(await before.get('b')).toBeDefined();
    expect(store.failure).toBeUndefined();
    await reader.end();
  });

  test.each(['repeatable read', 'serializable'])(
    'works on a server whose transactions are %s by default',
    async (isolation) => {
      await using strict = await PgTestServer.start([`default_transaction_isolation=${isolation}`]);
      const place = strict.newPlace();
      await using one = await strict.open({ schema: place });
      await using other = await strict.open({ schema: place });
      const until = Date.now() + 1_000;
      const write = async (store: StateStore, name: string): Promise<void> => {
        for (let i = 0; Date.now() < until; i++) await store.commit({ put: [put(`${name}/${i % 10}`)] });
      };
      const read = async (): Promise<void> => {
        while (Date.now() < until) await one.scan({ from: '' });
      };
      await Promise.all([write(one, 'a'), write(other, 'a'), write(other, 'b'), read(), read()]);
      expect((await one.scan({ from: '' })).length).toBe(20);
      for (let i = 0; i < 5; i++) await (await strict.open()).close();
    },
    60_000,
  );

  test('a server that is set to read-only is not asked again and again, and used when it takes changes', async () => {
    await using store = await open();
    await store.commit({ put: [put('a')] });
    await server.sql('ALTER SYSTEM SET default_transaction_read_only = on');
    await server.sql('SELECT pg_reload_conf()');
    try {
      await vi.waitFor(
        async () => {
          await store.commit({ put: [put('b')] }).catch(() => undefined);
          expect(store.failure?.message).toContain('default_transaction_read_only is on');
        },
        { timeout: 10_000 },
      );
      await expect(store.commit({ put: [put('b')] })).rejects.toMatchObject({ kind: 'failed' });
    } finally {
      await readWrite(server);
    }
    await works(store);
    expect(await store.get('a')).toBeDefined();
    expect(store.failure).toBeUndefined();
  });

  test('a full disk is named, nothing is lost, and the store works again when there is room', async ({ skip }) => {
    const disk = join(server.server.directory, 'disk');
    if (!mountTmpfs(disk, 'size=2m')) skip('mounting is not allowed here');
    const directory = join(disk, 'space');
    mkdirSync(directory);
    const owner = servant();
    if (owner !== undefined) chownSync(directory, owner.uid, owner.gid);
    await using store = await open({ callTimeout: 5_000, operationTimeout: 10_000 });
    await server.sql(`CREATE TABLESPACE small LOCATION '${directory}'`);
    await server.sql(`ALTER TABLE "${schema}".entry SET TABLESPACE small`);
    let written = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await store.commit({ put: [put(`entry/${written}`, 100_000)] });
        written++;
      }
    };
    await expect(fill()).rejects.toMatchObject({ kind: 'full', message: /has no space left/ });
    expect(store.failure).toMatchObject({ kind: 'full' });
    expect((await store.scan({ from: 'entry/' })).length).toBe(written);
    expect(written).toBeGreaterThan(3);
    remountTmpfs(disk, 'size=32m');
    await works(store);
    expect(store.failure).toBeUndefined();
    expect((await store.scan({ from: 'entry/', to: 'entry0' })).length).toBe(written);
    await server.sql(`DROP SCHEMA "${schema}" CASCADE`);
    await server.sql('DROP TABLESPACE small');
  });

  test('a server that is starting is waited for, and says so', async () => {
    // Without hot standby, a standby answers as a server does that recovers after a crash.
    await using starting = await startStandby(server.server.port, ['hot_standby=off'], 'entering standby mode');
    await using store = await server.openAt(schema, starting.port, { operationTimeout: 300 });
    expect(store.failure?.message).toMatch(/cannot be reached: the database system is (starting up|not accepting)/);
    await expect(store.commit({ put: [put('a')] })).rejects.toMatchObject({ kind: 'failed' });
  }, 60_000);
});

/** Takes the setting back, on a connection that may write in spite of it. */
async function readWrite(server: PgTestServer): Promise<void> {
  const { Client } = await loadPg();
  const client = new Client({ connectionString: server.url(), options: '-c default_transaction_read_only=off' });
  await client.connect();
  for (const text of ['ALTER SYSTEM RESET default_transaction_read_only', 'SELECT pg_reload_conf()'])
    await client.query({ text, rowMode: 'array' });
  await client.end();
}
