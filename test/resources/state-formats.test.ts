import { describe, expect, test } from 'vitest';
import { storesOf } from '../../src/components/any-component.ts';
import { component, load, metadata, problemsOf } from './files.ts';

const connectionString = 'host=db.internal user=app password=opensesame dbname=shop';

/** The state stores of files, without how they open. */
async function storesIn(yaml: string): Promise<readonly object[]> {
  const { options } = await load(yaml);
  return storesOf(options.components ?? [], 'state').map(({ name, type, version, isOwnState, options: given }) => ({
    ...{ name, type, version, isOwnState, given },
  }));
}

describe("state stores in Dapr's formats", () => {
  test.each([
    {
      type: 'state.redis',
      version: 'v1',
      values: { redisHost: 'cache:6379', ttlInSeconds: '60', redisType: 'cluster' },
    },
    {
      type: 'state.postgresql',
      version: 'v1',
      values: { connectionString, tableName: 'app.state', cleanupInterval: '0' },
    },
    { type: 'state.postgresql', version: 'v2', values: { connectionString, tablePrefix: 'app.x_', maxConns: '1' } },
    { type: 'state.sqlite', version: 'v1', values: { connectionString: 'data.db', busyTimeout: '2s', timeout: '5s' } },
  ])(
    '$type $version is a store of applications, and the state of the sidecar is in the same place or beside it',
    async (one) => {
      const yaml = component('store', one.type, metadata({ ...one.values, keyPrefix: 'name' })).replace(
        'version: v1',
        `version: ${one.version}`,
      );
      const ttl = 'ttlInSeconds' in one.values ? { defaultTtl: 60_000 } : {};
      expect(await storesIn(yaml)).toEqual([
        { name: 'store', type: one.type, version: one.version, isOwnState: true, given: { keyPrefix: 'name', ...ttl } },
      ]);
    },
  );

  test.each([
    ['state.sqlite', { connectionString: ':memory:' }, 'connectionString must be a path or a file: URL'],
    ['state.sqlite', { connectionString: 'a.db', tableName: 'a b' }, 'tables a name of letters'],
    ['state.sqlite', { connectionString: 'a.db', busyTimeout: 'opensesame' }, 'busyTimeout must be a duration'],
    ['state.postgresql', { connectionString, tableName: 'opensesame;' }, 'tableName and metadataTableName must be'],
    ['state.postgresql', { connectionString, cleanupInterval: 'opensesame' }, 'cleanupInterval must be a duration'],
    ['state.postgresql', { connectionString, maxConns: '1000' }, 'maxConns must be a whole number from 0 to 100'],
  ])('%s refuses %j', async (type, values, problem) => {
    const problems = await problemsOf(component('store', type, metadata(values)));
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toContain('opensesame');
  });
});
