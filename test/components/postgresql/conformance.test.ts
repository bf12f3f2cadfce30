import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ddlOf } from '../../../src/components/postgresql/schema.ts';
import { stateStoreConformance } from '../../../src/testing/store-conformance.ts';
import { hasPostgresql } from '../../support/servers.ts';
import { compareWithModel } from '../../support/store-model.ts';
import { PgTestServer } from './pg-test-server.ts';

describe.runIf(hasPostgresql())('state in PostgreSQL', () => {
  let server: PgTestServer;
  beforeAll(async () => {
    server = await PgTestServer.start();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { name, run } of stateStoreConformance)
    test(name, () => {
      const schema = server.newPlace();
      return run(() => server.open({ schema }));
    });

  test('behaves like a sorted map in random histories', () => compareWithModel(() => server.open(), 20));

  // What the locks are for: see that the case notices when they are not there.
  test('writes under a moved fence when the locks are left out of commit_group_2', async () => {
    const fenceCase = stateStoreConformance.find(({ name }) => name.startsWith('writes nothing under a fence'));
    const schema = server.newPlace();
    const withoutLocks = ddlOf(schema)
      .replace(' FOR SHARE', '')
      // Those who write under the fence take longer than who moves it.
      .replace(
        '  IF NOT holds THEN',
        '  PERFORM pg_sleep(0.03) WHERE cardinality(share_keys) > 0;\n  IF NOT holds THEN',
      );
    await server.sql(withoutLocks);
    await expect(fenceCase?.run(() => server.open({ schema }))).rejects.toThrow('under the old fence');
  });
});
