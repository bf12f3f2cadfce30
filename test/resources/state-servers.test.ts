import { describe, expect, test } from 'vitest';
import { withParts } from '../../src/components/postgresql/connection-string.ts';
import { component, findingsOf, load, metadata, problemsOf } from './files.ts';

/** The message of the one problem of a component. */
async function problemOf(type: string, values: Readonly<Record<string, string>>): Promise<string> {
  const problems = await problemsOf(component('store', type, metadata(values)));
  expect(problems).toHaveLength(1);
  return problems[0]?.replace(/^.*?\): /, '') ?? '';
}

/** Where the state of a component is. */
async function placeOf(type: string, values: Readonly<Record<string, string>>): Promise<string | undefined> {
  const { options } = await load(component('store', type, metadata(values)));
  return options.state?.place;
}

const connectionString = 'host=db.internal user=app password=opensesame dbname=shop';

describe('state.postgresql', () => {
  test.each([
    ['state.postgresql', 'v1'],
    ['state.postgresql', 'v2'],
    ['state.postgres', 'v1'],
    ['state.postgres', 'v2'],
  ])('%s %s is state in PostgreSQL', async (type, version) => {
    const yaml = component('store', type, metadata({ connectionString, actorStateStore: 'true' }));
    const { options, statePath, notes } = await load(yaml.replace('version: v1', `version: ${version}`));
    expect(options.state?.type).toBe('postgresql');
    expect(options.state?.place).toBe('PostgreSQL at db.internal:5432/shop, schema insidecar');
    expect([statePath, notes]).toEqual([undefined, []]);
  });

  test('there is no third version', async () => {
    const yaml = component('store', 'state.postgresql', metadata({ connectionString }));
    expect(await problemsOf(yaml.replace('version: v1', 'version: v3'))).toEqual([
      'a.yaml:7:12 (document 1): state.postgresql has no version "v3": expected "v1" or "v2"',
    ]);
  });

  test.each([
    ['a URL', { connectionString: 'postgres://app:x@db:6000/shop?sslmode=require' }, 'db:6000/shop'],
    ['parts alone', { host: 'db', port: '6000', user: 'app', password: 'p@ss/:', database: 'shop' }, 'db:6000/shop'],
    [
      'parts in place of those of the text',
      { connectionString, host: 'other', database: '__proto__' },
      'other:5432/__proto__',
    ],
    ['an address', { hostaddr: '10.0.0.1', user: 'app' }, '10.0.0.1:5432/app'],
    ['a socket', { connectionString: 'host=/run/postgresql user=app' }, '/run/postgresql:5432/app'],
  ])('the connection is %s', async (_what, values, place) => {
    expect(await placeOf('state.postgresql', values)).toBe(`PostgreSQL at ${place}, schema insidecar`);
  });

  test.each([
    [{ schema: 'tenant', tableName: 'other.state' }, 'tenant'],
    [{ tableName: 'app.state' }, 'app'],
    [{ tablePrefix: 'app.dev_' }, 'app'],
    [{ metadataTableName: 'app.meta' }, 'app'],
    [{ tableName: 'public.state' }, 'insidecar'],
    [{ tableName: 'state' }, 'insidecar'],
  ])('%j: the schema is %s', async (values, schema) => {
    expect(await placeOf('state.postgresql', { connectionString, ...values })).toMatch(`, schema ${schema}`);
  });

  test.each([
    ['host=db user=a sslmode=require', 'postgresql://a@db/?sslmode=require&uselibpqcompat=true'],
    ['postgres://a@db/x?sslmode=require', 'postgres://a@db/x?sslmode=require&uselibpqcompat=true'],
    ['postgres://a@db/x', 'postgres://a@db/x'],
  ])('%s: sslmode means what it does to the clients of PostgreSQL', (text, expected) => {
    expect(withParts(text, {})).toBe(expected);
  });

  test('names of Dapr without a use here are noted', async () => {
    const ignored = { connectionMaxIdleTime: '5m' };
    const used = { cleanupInterval: '1h', maxConns: '5' };
    const yaml = component('store', 'state.postgresql', metadata({ connectionString, ...used, ...ignored }));
    const { problems, notes } = await findingsOf({ 'a.yaml': yaml });
    expect({ problems, notes }).toEqual({
      problems: [],
      notes: [`a.yaml:9:3 (document 1): state.postgresql has no use for metadata ${Object.keys(ignored).join(', ')}`],
    });
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ tableName: 'x' }, 'state.postgresql needs metadata connectionString'],
    [{ connectionString: 'opensesame' }, 'metadata connectionString must be a URL '],
    [{ connectionString: 'postgres://u:opensesame@h:port/x' }, 'metadata connectionString must be a URL '],
    [{ connectionString, useAzureAD: 'true' }, 'metadata useAzureAD: insidecar gets no access tokens of Azure AD'],
    [{ connectionString, useAWSIAM: 'yes' }, 'metadata useAWSIAM: insidecar gets no access tokens of AWS IAM'],
    [{ connectionString, timeout: 'opensesame' }, 'metadata timeout must be a duration of at most 24h, such as "5s"'],
    [{ connectionString, timeout: '-1' }, 'metadata timeout must be a duration of at most 24h'],
    [{ connectionString, durability: 'opensesame' }, 'metadata durability must be "synced" or "server"'],
    [{ connectionString, port: 'opensesame' }, 'metadata port must be a whole number from 1 to 65535'],
    [{ connectionString, port: '65536' }, 'metadata port must be a whole number from 1 to 65535'],
    [{ connectionString, schema: 'opensesame'.repeat(6) }, 'metadata schema must be a name of 1 to 53 bytes'],
    [{ connectionString, schema: 'opensesame$$;' }, 'bytes, without $$, backslashes and control characters'],
    [{ connectionString, tableName: 'opensesame$$;.state' }, 'bytes, without $$, backslashes and control characters'],
  ])('refuses %j without its value', async (values, message) => {
    const problem = await problemOf('state.postgresql', values);
    expect(problem).toContain(message);
    expect(problem).not.toContain('opensesame');
  });

  test('useAzureAD that is false is no problem', async () => {
    expect(await placeOf('state.postgresql', { connectionString, useAzureAD: 'false' })).toBeDefined();
  });
});

describe('state.redis', () => {
  test.each<[Readonly<Record<string, string>>, string]>([
    [{ redisHost: 'cache:6380' }, 'Redis at cache:6380, prefix insidecar'],
    [{ redisHost: 'cache' }, 'Redis at cache:6379, prefix insidecar'],
    [{ redisHost: 'cache', redisDB: '3', prefix: 'dev' }, 'Redis at cache:6379/3, prefix dev'],
    [{ redisHost: 'a:1, b:2', redisType: 'cluster', redisDB: '3' }, 'Redis at a:1,b:2, prefix insidecar'],
    [
      { redisHost: 'a,b', failover: 'true', sentinelMasterName: 'mine' },
      'Redis mine of the sentinels at a:26379,b:26379, prefix insidecar',
    ],
    [
      { redisHost: 'cache', redisPassword: 'opensesame', enableTLS: 'true' },
      'Redis at cache:6379 with TLS, prefix insidecar',
    ],
  ])('%j is %s', async (values, place) => {
    const { options, notes } = await load(component('store', 'state.redis', metadata(values)));
    expect([options.state?.type, options.state?.place, notes]).toEqual(['redis', place, []]);
  });

  test('names of Dapr without a use here are noted, also those that resemble others', async () => {
    const ignored = {
      idleTimeout: '5m',
      redisMaxRetries: '3',
      poolTimeout: '5s',
    };
    const yaml = component('store', 'state.redis', metadata({ redisHost: 'cache', ...ignored }));
    const { problems, notes } = await findingsOf({ 'a.yaml': yaml });
    expect({ problems, notes }).toEqual({
      problems: [],
      notes: [`a.yaml:9:3 (document 1): state.redis has no use for metadata ${Object.keys(ignored).join(', ')}`],
    });
  });

  test('a name that is misspelt is a problem', async () => {
    expect(await problemOf('state.redis', { redisHost: 'cache', redisPasword: 'opensesame' })).toBe(
      'state.redis has no metadata "redisPasword"; did you mean "redisPassword"?',
    );
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ enableTLS: 'false' }, 'state.redis needs metadata redisHost'],
    [{ redisHost: 'redis://:opensesame@cache' }, 'state.redis needs metadata redisHost'],
    [{ redisHost: 'cache', redisType: 'opensesame' }, 'metadata redisType must be "node" or "cluster"'],
    [{ redisHost: 'cache', redisDB: 'opensesame' }, 'metadata redisDB must be a whole number from 0 to 2147483647'],
    [{ redisHost: 'cache', failover: 'true' }, 'metadata failover needs sentinelMasterName'],
    [{ redisHost: 'cache', clientKey: 'opensesame' }, 'metadata clientCert and clientKey belong together'],
    [{ redisHost: 'cache', clientCert: '-----BEGIN A', clientKey: 'opensesame' }, 'metadata clientKey must be in PEM'],
    [{ redisHost: 'cache', useEntraID: 'true' }, 'metadata useEntraID: insidecar gets no access tokens of Entra ID'],
    [{ redisHost: 'cache', readTimeout: 'opensesame' }, 'metadata readTimeout must be a duration'],
    [{ redisHost: 'cache', prefix: '{opensesame}' }, 'metadata prefix must be a name without braces'],
  ])('refuses %j without its value', async (values, message) => {
    const problem = await problemOf('state.redis', values);
    expect(problem).toContain(message);
    expect(problem).not.toContain('opensesame');
  });

  test('a limit of no time is none', async () => {
    expect(await placeOf('state.redis', { redisHost: 'cache', readTimeout: '-1', writeTimeout: '0' })).toBeDefined();
  });
});

test('a password comes from a secret store, and {appID} is filled in', async () => {
  const rest = `auth: { secretStore: env }
`;
  const yaml = `${component('env', 'secretstores.local.env')}
---
${component(
  'store',
  'state.postgresql',
  `  metadata:
  - { name: host, value: db }
  - { name: password, secretKeyRef: { name: DB_PASSWORD } }
  - { name: schema, value: "of-{appID}" }
`,
)}${rest}`;
  const { options, notes } = await load(yaml, { environment: { DB_PASSWORD: 'opensesame' } });
  expect(options.state?.place).toBe('PostgreSQL at db:5432/, schema of-orders');
  expect(JSON.stringify([options, notes])).not.toContain('opensesame');
  await expect(load(yaml)).rejects.toThrow('"DB_PASSWORD" is not in "env"');
});

test('a durable pub/sub component keeps its messages on the server', async () => {
  const yaml = `${component('store', 'state.redis', metadata({ redisHost: 'cache' }))}
---
${component('events', 'pubsub.durable')}`;
  const { options, statePath, notes } = await load(yaml);
  expect([options.state?.type, statePath, notes]).toEqual(['redis', undefined, []]);
});
