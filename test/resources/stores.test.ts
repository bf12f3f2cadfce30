import { describe, expect, test } from 'vitest';
import { component, directoryWith, documents, findingsOf, load, metadata, problemsOf } from './files.ts';

async function made(type: string, values: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const yaml = component('one', type, Object.keys(values).length === 0 ? '' : metadata(values));
  const { options } = await load(yaml);
  return options.components.map(({ name, type: madeType, block, version }) => [name, madeType, block, version]);
}

describe('stores in resource files', () => {
  test.each<[type: string, block: string, values: Readonly<Record<string, string>>]>([
    ['secretstores.local.env', 'secrets', { prefix: 'MY_' }],
    ['lock.in-memory', 'lock', {}],
    ['lock.sqlite', 'lock', { keyPrefix: 'name' }],
    ['lock.redis', 'lock', { redisHost: 'localhost:6379', redisPassword: '', keyPrefix: 'none' }],
    ['lock.postgresql', 'lock', { connectionString: 'postgresql://a@b/c', tableName: 's.locks' }],
    ['configuration.in-memory', 'configuration', {}],
    ['configuration.redis', 'configuration', { redisHost: 'localhost:6379', redisDB: '3' }],
    ['configuration.postgresql', 'configuration', { connectionString: 'host=a user=b', table: 'cfg', timeout: '5s' }],
    [
      'configuration.postgres',
      'configuration',
      { connectionString: 'host=a user=b', table: 'cfg', pgNotifyChannel: 'c' },
    ],
  ])('%s', async (type, block, values) => {
    expect(await made(type, values)).toEqual([['one', type, block, 'v1']]);
  });

  test('lock.sqlite wants state on disk', async () => {
    const { options } = await load(component('one', 'lock.sqlite'));
    expect(options.state?.type).toBe('embedded');
  });

  test('files of secrets and configuration', async () => {
    const workingDirectory = await directoryWith({ 's.json': '{"a":"1"}', 'c.json': '{"a":"1"}' });
    const yaml = documents(
      component('s', 'secretstores.local.file', metadata({ secretsFile: 's.json' })),
      component('c', 'configuration.local.file', metadata({ configurationFile: 'c.json' })),
    );
    const { options } = await load(yaml, { workingDirectory });
    expect(options.components.map(({ type }) => type)).toEqual(['secretstores.local.file', 'configuration.local.file']);
  });

  test.each<[type: string, values: Readonly<Record<string, string>>, problem: string]>([
    ['lock.redis', {}, 'lock.redis needs metadata redisHost'],
    ['lock.redis', { redisHost: 'a:1', redisType: 'cluster' }, 'lock.redis cannot use a cluster'],
    ['lock.redis', { redisHost: 'a:1', keyPrefix: 'a||b' }, 'metadata keyPrefix must be a word without ||'],
    ['lock.in-memory', { keyPrefix: '||' }, 'metadata keyPrefix must be a word without ||'],
    ['lock.postgresql', {}, 'lock.postgresql needs metadata connectionString'],
    [
      'lock.postgresql',
      { connectionString: 'postgresql://a', tableName: 'a b' },
      'metadata tableName must be a name of',
    ],
    ['configuration.redis', { redisHost: 'a:1', redisType: 'cluster' }, 'configuration.redis cannot use a cluster'],
    [
      'configuration.postgresql',
      { connectionString: 'postgresql://a' },
      'configuration.postgresql needs metadata table',
    ],
    [
      'configuration.postgresql',
      { connectionString: 'postgresql://a', table: 'a;b' },
      'metadata table must be a name of',
    ],
    ['configuration.postgresql', { connectionString: 'x', table: 'a' }, 'metadata connectionString must be a URL'],
    ['configuration.local.file', {}, 'configuration.local.file needs metadata configurationFile'],
    ['configuration.local.file', { configurationFile: 'nope.json' }, 'there is no such file'],
    ['configuration.azure.appconfig', {}, "one of Dapr's that insidecar does not have"],
  ])('%s with %j is a problem', async (type, values, problem) => {
    const yaml = component('one', type, Object.keys(values).length === 0 ? '' : metadata(values));
    const problems = await problemsOf(yaml);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });
});

describe('spec.secrets of a Configuration', () => {
  const configuration = (scopes: string): string =>
    `apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: c}\nspec:\n  secrets:\n    scopes: ${scopes}\n`;
  const environment = component('env', 'secretstores.local.env');

  test('is an option of the sidecar', async () => {
    const { options } = await load(configuration('[{storeName: env, defaultAccess: Deny, allowedSecrets: [A]}]'));
    expect(options.secrets).toEqual({
      scopes: [{ storeName: 'env', defaultAccess: 'Deny', allowedSecrets: ['A'] }],
    });
  });

  test.each([
    ['[{storeName: a}, {storeName: a}]', 'spec.secrets.scopes.1.storeName "a" has a rule already'],
    ['[{storeName: a, defaultAccess: perhaps}]', 'allow or deny'],
    ['[{defaultAccess: deny}]', 'storeName'],
  ])('%s is a problem', async (scopes, problem) => {
    expect(await problemsOf(configuration(scopes))).toEqual([expect.stringContaining(problem)]);
  });

  test.each<[what: string, yaml: string, notes: number]>([
    ['an open environment', environment, 1],
    ['one with a prefix', component('env', 'secretstores.local.env', metadata({ prefix: 'A_' })), 0],
    ['one with a rule', documents(environment, configuration('[{storeName: env, deniedSecrets: [A]}]')), 0],
  ])('%s', async (_what, yaml, notes) => {
    const found = (await findingsOf({ 'a.yaml': yaml })).notes.filter((note) =>
      note.includes('all environment variables'),
    );
    expect(found).toHaveLength(notes);
  });
});
