import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, test } from 'vitest';
import { sqliteStateStore } from '../../../src/components/embedded/index.ts';
import { keyValueStore } from '../../../src/components/key-value/index.ts';
import type { KeyValueStore } from '../../../src/components/key-value.ts';
import { postgresqlStateStore } from '../../../src/components/postgresql/index.ts';
import { redisStateStore } from '../../../src/components/redis/index.ts';
import { openStore, temporaryDirectory } from '../../support/embedded-store.ts';
import { compareKeyValues, type ModelledStore } from '../../support/key-value-model.ts';
import { redisCommand } from '../../support/redis-groups.ts';
import { hasRedis, startRedis } from '../../support/servers.ts';
import { storeContext } from '../../support/store-context.ts';
import { hasSharedPostgresql, sharedPostgresql } from '../postgresql/given-postgresql.ts';

const directory = mkdtempSync(join(tmpdir(), 'insidecar-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** By the clock of the machine; all histories share the place, and differ in what their keys begin with. */
async function compare(open: () => Promise<KeyValueStore>, options: Partial<ModelledStore> = {}): Promise<void> {
  const make = (): ModelledStore => {
    const root = `${randomUUID().slice(0, 8)}/`;
    return { open, root, now: Date.now, pass: async (ms) => void (await pause(ms)), exactMs: 1_100, ...options };
  };
  await compareKeyValues(make, { numRuns: 300, interruptAfterTimeLimit: 15_000, endOnFailure: true });
}

const MINUTES = 180_000;

test(
  'the embedded store answers as a map does',
  async () => {
    const state = await openStore(temporaryDirectory());
    await compare(() => keyValueStore('orders').open({ ...storeContext(), state }), { exactMs: 5 });
  },
  MINUTES,
);

test(
  'a file of SQLite answers as a map does',
  () => compare(() => sqliteStateStore('store', { file: join(directory, 'values.db') }).open(storeContext())),
  MINUTES,
);

test.runIf(hasRedis())(
  'Redis answers as a map does',
  async () => {
    await using server = await startRedis();
    await redisCommand(server.port, ['FLUSHALL']);
    await compare(() => redisStateStore('store', { url: `redis://127.0.0.1:${server.port}` }).open(storeContext()));
  },
  MINUTES,
);

describe.runIf(hasSharedPostgresql())('PostgreSQL', () => {
  test.each(['v1', 'v2'] as const)(
    '%s answers as a map does',
    async (version) => {
      await using server = await sharedPostgresql();
      const schema = server.newPlace().replaceAll('-', '_');
      await server.sql(`CREATE SCHEMA ${schema}`);
      const place = version === 'v1' ? { tableName: `${schema}.state` } : { tablePrefix: `${schema}.` };
      const options = { url: server.connection, version, metadataTableName: `${schema}.meta`, ...place };
      try {
        await compare(() => postgresqlStateStore('store', options).open(storeContext()));
      } finally {
        await server.sql(`DROP SCHEMA ${schema} CASCADE`);
      }
    },
    MINUTES,
  );
});
