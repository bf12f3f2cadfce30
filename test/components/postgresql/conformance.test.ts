import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ddlOf } from '../../../src/components/postgresql/schema.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import { compareWithModel } from '../../support/store-model.ts';
import { hasSharedPostgresql, sharedPostgresql } from './given-postgresql.ts';

describe.runIf(hasSharedPostgresql())('state in PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof sharedPostgresql>>;
  beforeAll(async () => {
    server = await sharedPostgresql();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { name, run } of stateStoreConformance)
    test(name, () => {
      const schema = server.newPlace();
      return run(() => server.open({ schema }));
    });

  test('behaves like a sorted map in random histories', () => compareWithModel(() => server.open(), 20));

  // What the locks are for: see that the cases notice when they are not there. Who writes under the fence takes longer
  // than who moves it.
  test.each([
    {
      name: 'commit_group_3',
      found: 'writes nothing under a fence',
      before: '  IF NOT holds THEN',
      wait: '  PERFORM pg_sleep(0.03) WHERE cardinality(share_keys) > 0;',
    },
    {
      name: 'commit_one_1',
      found: 'writes nothing under a moved fence if the commit is alone',
      before: '  IF found_version IS DISTINCT FROM required_version THEN',
      wait: '  PERFORM pg_sleep(0.03);',
    },
  ])('writes under a moved fence when the locks are left out of $name', async ({ name, found, before, wait }) => {
    const fenceCase = stateStoreConformance.find((one) => one.name.startsWith(found));
    const schema = server.newPlace();
    const [head = '', body = ''] = ddlOf(schema).split(`.${name}(`);
    const withoutLocks = body.replace(' FOR SHARE', '').replace(before, `${wait}\n${before}`);
    await server.sql(`${head}.${name}(${withoutLocks}`);
    await expect(fenceCase?.run(() => server.open({ schema }))).rejects.toThrow('under the old fence');
  });
});
