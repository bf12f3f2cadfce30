import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentSecrets, fileSecrets, type SecretsOptions, Sidecar } from '../../src/index.ts';
import type { SecretStoreDefinition } from '../../src/kit/index.ts';
import { type StoresWorld, storesWorld, WIRES } from '../support/stores-world.ts';

const HIDDEN = 'hunter2';

async function file(content: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'insidecar-secrets-')), 'secrets.json');
  await writeFile(path, content);
  return path;
}

const ENVIRONMENT = {
  DB: 'db',
  EMPTY: '',
  MY_ONE: '1',
  APP_API_TOKEN: HIDDEN,
  app_api_token: HIDDEN,
  DAPR_API_TOKEN: HIDDEN,
  dapr_anything: HIDDEN,
  Sidecar_Identity_Secret: HIDDEN,
  toString: undefined,
};

/** A store whose calls fail. */
const broken: SecretStoreDefinition = {
  block: 'secrets',
  name: 'broken',
  type: 'secretstores.broken',
  version: 'v1',
  open: async () => ({
    get: () => Promise.reject(new Error('the vault is sealed')),
    all: () => Promise.reject(new Error('the vault is sealed')),
    close: async () => undefined,
  }),
};

async function worldWith(
  options: { readonly secrets?: SecretsOptions; readonly wire?: 'sidecar' | 'dapr' } = {},
): Promise<StoresWorld> {
  const path = await file(
    '{"plain":"a","nested":{"db":{"user":"u"},"list":["x",{"y":1.10}]},"n":12345678901234567890,"t":true,"nil":null,"__proto__":"p","a/b":"slash","bulk":"b"}',
  );
  return storesWorld({
    components: [
      fileSecrets('file', { path }),
      fileSecrets('dots', { path, nestedSeparator: '.' }),
      fileSecrets('multi', { path, multiValued: true }),
      environmentSecrets('env', { environment: ENVIRONMENT }),
      environmentSecrets('mine', { environment: ENVIRONMENT, prefix: 'MY_' }),
      environmentSecrets('half', { environment: ENVIRONMENT, prefix: 'DAPR' }),
      { ...environmentSecrets('theirs', { environment: ENVIRONMENT }), scopes: ['other'] },
      broken,
    ],
    ...options,
  });
}

describe.each(WIRES)('secrets on the wire %s', (wire) => {
  test.each<[path: string, expected: Record<string, string>]>([
    ['file/plain', { plain: 'a' }],
    ['file/nested:db:user', { 'nested:db:user': 'u' }],
    ['file/nested%3Alist%3A0', { 'nested:list:0': 'x' }],
    ['file/nested:list:1:y', { 'nested:list:1:y': '1.10' }],
    ['file/n', { n: '12345678901234567890' }],
    ['file/t', { t: 'true' }],
    ['file/nil', { nil: 'null' }],
    ['file/__proto__', JSON.parse('{"__proto__":"p"}') as Record<string, string>],
    ['file/a%2Fb', { 'a/b': 'slash' }],
    ['file/a/b', { 'a/b': 'slash' }],
    ['file/plain?metadata.version_id=3', { plain: 'a' }],
    ['dots/nested.db.user', { 'nested.db.user': 'u' }],
    ['multi/nested', { 'db:user': 'u', 'list:0': 'x', 'list:1:y': '1.10' }],
    ['multi/plain', { plain: 'a' }],
    ['env/DB', { DB: 'db' }],
    ['env/EMPTY', { EMPTY: '' }],
    ['env/NOPE', { NOPE: '' }],
    ['env/constructor', { constructor: '' } as unknown as Record<string, string>],
    ['env/APP_API_TOKEN', { APP_API_TOKEN: '' }],
    ['env/app_api_token', { app_api_token: '' }],
    ['env/DAPR_API_TOKEN', { DAPR_API_TOKEN: '' }],
    ['env/dapr_anything', { dapr_anything: '' }],
    ['env/Sidecar_Identity_Secret', { Sidecar_Identity_Secret: '' }],
    ['mine/ONE', { ONE: '1' }],
    ['half/_API_TOKEN', { _API_TOKEN: '' }],
  ])('GET %s', async (path, expected) => {
    await using world = await worldWith({ wire });
    const answer = await world.get(`/v1.0/secrets/${path}`);
    expect([answer.status, answer.text]).toEqual([200, JSON.stringify(expected)]);
    expect(answer.headers['content-type']).toBe('application/json');
  });

  test('all of a store with one value each', async () => {
    await using world = await worldWith({ wire });
    expect((await world.get('/v1.0/secrets/file/bulk')).json).toMatchObject({
      plain: { plain: 'a' },
      'nested:db:user': { 'nested:db:user': 'u' },
      bulk: { bulk: 'b' },
    });
  });

  test('all of a store with several values each', async () => {
    await using world = await worldWith({ wire });
    const all = (await world.get('/v1.0/secrets/multi/bulk')).json as Record<string, unknown>;
    expect(all['nested']).toEqual({ 'db:user': 'u', 'list:0': 'x', 'list:1:y': '1.10' });
    expect(all['plain']).toEqual({ plain: 'a' });
  });

  test.each([
    ['env', { DB: { DB: 'db' }, EMPTY: { EMPTY: '' }, MY_ONE: { MY_ONE: '1' } }],
    ['mine', { ONE: { ONE: '1' } }],
    ['half', {}],
  ])('all of %s, without the tokens of the sidecar', async (store, expected) => {
    await using world = await worldWith({ wire });
    const answer = await world.get(`/v1.0/secrets/${store}/bulk`);
    expect([answer.status, answer.json]).toEqual([200, expected]);
  });

  test.each([
    ['GET', 'nope/x', 401, 'ERR_SECRET_STORE_NOT_FOUND'],
    ['GET', 'nope/bulk', 401, 'ERR_SECRET_STORE_NOT_FOUND'],
    ['GET', 'theirs/DB', 401, 'ERR_SECRET_STORE_NOT_FOUND'],
    ['GET', 'file/none', 500, 'ERR_SECRET_GET'],
    ['GET', 'file/nested', 500, 'ERR_SECRET_GET'],
    ['GET', 'file/constructor', 500, 'ERR_SECRET_GET'],
    ['GET', 'multi/nested:db:user', 500, 'ERR_SECRET_GET'],
    ['GET', 'broken/x', 500, 'ERR_SECRET_GET'],
    ['GET', 'broken/bulk', 500, 'ERR_SECRET_GET'],
    ['POST', 'file/plain', 405, 'ERR_METHOD_NOT_ALLOWED'],
    ['GET', 'env', 404, 'ERR_NOT_FOUND'],
    ['GET', 'file/', 404, 'ERR_NOT_FOUND'],
    ['POST', 'file/bulk', 405, 'ERR_METHOD_NOT_ALLOWED'],
    ['GET', 'file/%zz', 400, 'ERR_BAD_REQUEST'],
  ])('%s %s is refused with %i %s', async (method, path, status, errorCode) => {
    await using world = await worldWith({ wire });
    const answer = await world.send(method, `/v1.0/secrets/${path}`);
    expect([answer.status, answer.json]).toEqual([status, expect.objectContaining({ errorCode })]);
  });

  test('without a store: 500', async () => {
    await using world = await storesWorld({ components: [], wire });
    for (const path of ['x/y', 'x/bulk']) {
      const answer = await world.get(`/v1.0/secrets/${path}`);
      expect([answer.status, answer.json]).toEqual([
        500,
        expect.objectContaining({ errorCode: 'ERR_SECRET_STORES_NOT_CONFIGURED' }),
      ]);
    }
  });

  test('the API list disables the routes', async () => {
    await using world = await storesWorld({
      components: [environmentSecrets('env', { environment: ENVIRONMENT })],
      wire,
      api: { denied: [{ name: 'secrets', version: 'v1' }] },
    });
    expect((await world.get('/v1.0/secrets/env/DB')).status).toBe(404);
    expect(await world.sidecar.secrets.get('env', 'DB')).toEqual({ DB: 'db' });
  });

  test('metadata lists the store', async () => {
    await using world = await storesWorld({
      components: [environmentSecrets('env', { environment: ENVIRONMENT })],
      wire,
    });
    const { components } = (await world.get('/v1.0/metadata')).json as { components: unknown };
    expect(components).toEqual([{ name: 'env', type: 'secretstores.local.env', version: 'v1', capabilities: [] }]);
  });
});

describe('which secrets an application may read', () => {
  const scoped = (scope: object): SecretsOptions => ({ scopes: [{ storeName: 'file', ...scope }] });

  test.each<[scope: object, name: string, status: number]>([
    [{}, 'plain', 200],
    [{ defaultAccess: 'allow' }, 'plain', 200],
    [{ defaultAccess: 'ALLOW', deniedSecrets: ['plain'] }, 'plain', 403],
    [{ deniedSecrets: ['plain'] }, 'n', 200],
    [{ defaultAccess: 'Deny' }, 'plain', 403],
    [{ defaultAccess: 'deny', deniedSecrets: ['n'] }, 'plain', 403],
    [{ defaultAccess: 'deny', allowedSecrets: ['plain'] }, 'plain', 200],
    [{ defaultAccess: 'allow', allowedSecrets: ['plain'] }, 'n', 403],
    [{ allowedSecrets: ['plain'], deniedSecrets: ['plain'] }, 'plain', 200],
    [{ allowedSecrets: [] }, 'plain', 200],
    [{ defaultAccess: 'deny' }, 'missing', 403],
    [{ allowedSecrets: ['missing'] }, 'missing', 500],
    [{ allowedSecrets: ['constructor'] }, 'constructor', 500],
  ])('%j: %s gets %i', async (scope, name, status) => {
    await using world = await worldWith({ secrets: scoped(scope) });
    const answer = await world.get(`/v1.0/secrets/file/${name}`);
    expect(answer.status).toBe(status);
    if (status === 403) expect(answer.json).toMatchObject({ errorCode: 'ERR_PERMISSION_DENIED' });
  });

  test('the store is not asked for a secret that is not allowed', async () => {
    await using world = await storesWorld({
      components: [broken],
      secrets: { scopes: [{ storeName: 'broken', defaultAccess: 'deny' }] },
    });
    expect((await world.get('/v1.0/secrets/broken/x')).status).toBe(403);
  });

  test.each<[scope: object, names: readonly string[]]>([
    [{ defaultAccess: 'deny' }, []],
    [{ allowedSecrets: ['plain', 'missing'] }, ['plain']],
    [
      { deniedSecrets: ['plain'] },
      ['nested:db:user', 'nested:list:0', 'nested:list:1:y', 'n', 't', 'nil', '__proto__', 'a/b', 'bulk'],
    ],
  ])('%j: all are %j', async (scope, names) => {
    await using world = await worldWith({ secrets: scoped(scope) });
    const answer = await world.get('/v1.0/secrets/file/bulk');
    expect([answer.status, Object.keys(answer.json as object)]).toEqual([200, names]);
  });

  test('a store without a rule is open', async () => {
    await using world = await worldWith({ secrets: scoped({ defaultAccess: 'deny' }) });
    expect((await world.get('/v1.0/secrets/env/DB')).status).toBe(200);
  });

  test('the typed class follows the rules too', async () => {
    await using world = await worldWith({ secrets: scoped({ deniedSecrets: ['plain'] }) });
    await expect(world.sidecar.secrets.get('file', 'plain')).rejects.toMatchObject({
      code: 'ERR_PERMISSION_DENIED',
      status: 403,
    });
    expect(await world.sidecar.secrets.all('file')).not.toHaveProperty('plain');
  });

  test('a rule for a store that is not loaded is noted', async () => {
    await using world = await worldWith({ secrets: { scopes: [{ storeName: 'theirs' }] } });
    expect(world.logger.lines.filter(({ message }) => message.includes('a rule about secrets'))).toEqual([
      expect.objectContaining({ details: { store: 'theirs' } }),
    ]);
  });

  test.each<[secrets: unknown, message: string]>([
    [
      { scopes: [{ storeName: 'a' }, { storeName: 'a', defaultAccess: 'deny' }] },
      'options.secrets.scopes.1.storeName "a" has a rule already: expected one for each store',
    ],
    [{ scopes: [{ storeName: 'a', defaultAccess: 'maybe' }] }, 'allow or deny'],
    [{ scopes: [{ defaultAccess: 'deny' }] }, 'storeName is missing'],
    [{ scopes: [{ storeName: 'a', allowed: [] }] }, 'unknown field "allowed"'],
  ])('%j stops the start', (secrets, message) => {
    expect(() => new Sidecar({ appId: 'shop', secrets: secrets as SecretsOptions })).toThrow(message);
  });
});

describe('a file of secrets', () => {
  test.each([
    ['[1]', 'it is not a JSON object'],
    ['"text"', 'it is not a JSON object'],
    [`{"a": ${HIDDEN}`, 'it is not JSON'],
    ['', 'it is not JSON'],
    ['{"a:b":"1","a":{"b":"2"}}', 'two of its members have the name "a:b"'],
    [`${'{"a":'.repeat(102)}1${'}'.repeat(102)}`, 'it is nested deeper than 100 levels'],
    [`{"a":"${'x'.repeat(1024 * 1024)}"}`, 'bytes: expected at most 1048576'],
  ])('that is %.30s stops the start', async (content, problem) => {
    const path = await file(content);
    const sidecar = new Sidecar({ appId: 'shop', components: [fileSecrets('file', { path })] });
    const failure = await sidecar.start().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ERR_CONFIGURATION', message: expect.stringContaining(problem) });
    expect(JSON.stringify([String(failure), Object(failure).cause?.message])).not.toContain(HIDDEN);
  });

  test('that is missing stops the start', async () => {
    const sidecar = new Sidecar({ appId: 'shop', components: [fileSecrets('file', { path: '/nope/secrets.json' })] });
    await expect(sidecar.start()).rejects.toThrow('it cannot be read: there is no such file');
  });

  test('is read once, at the start', async () => {
    const path = await file('{"a":"1"}');
    await using world = await storesWorld({ components: [fileSecrets('file', { path })] });
    await writeFile(path, '{"a":"2"}');
    expect(await world.sidecar.secrets.get('file', 'a')).toEqual({ a: '1' });
  });
});

describe('in code', () => {
  test('a missing secret is undefined', async () => {
    await using world = await worldWith();
    expect(await world.sidecar.secrets.get('file', 'nope')).toBeUndefined();
  });

  test('a store of your own gets the metadata of the request', async () => {
    const seen: unknown[] = [];
    const own: SecretStoreDefinition = {
      ...broken,
      name: 'own',
      open: async () => ({
        get: async (name, metadata) => {
          seen.push(metadata);
          return { [name]: 'x', other: 'y' };
        },
        all: async () => ({}),
        close: async () => undefined,
      }),
    };
    await using world = await storesWorld({ components: [own] });
    expect((await world.get('/v1.0/secrets/own/a?metadata.version=1&metadata.version=2&x=3')).json).toEqual({
      a: 'x',
      other: 'y',
    });
    expect(await world.sidecar.secrets.get('own', 'a', { metadata: { version: '7' } })).toEqual({ a: 'x', other: 'y' });
    expect(seen).toEqual([{ version: '1' }, { version: '7' }]);
  });

  test('a store that fails is named, and its retries are those of the policy', async () => {
    let calls = 0;
    const flaky: SecretStoreDefinition = {
      ...broken,
      name: 'flaky',
      open: async () => ({
        get: async () => (++calls < 3 ? Promise.reject(new Error('not now')) : { a: 'b' }),
        all: async () => ({}),
        close: async () => undefined,
      }),
    };
    await using world = await storesWorld({
      components: [flaky],
      resiliency: {
        policies: { retries: { often: { policy: 'constant', duration: '1ms', maxRetries: 5 } } },
        targets: { components: { flaky: { outbound: { retry: 'often' } } } },
      },
    });
    const answer = world.sidecar.secrets.get('flaky', 'x');
    await world.pass('10s');
    expect([await answer, calls]).toEqual([{ a: 'b' }, 3]);
  });

  test('no value shows in the log, in metadata or in the settings', async () => {
    const path = await file(`{"a":"${HIDDEN}"}`);
    await using world = await storesWorld({
      components: [fileSecrets('file', { path }), environmentSecrets('env', { environment: { A: HIDDEN } })],
    });
    await world.get('/v1.0/secrets/file/a');
    await world.get('/v1.0/secrets/env/bulk');
    const shown = [
      world.logger.lines,
      (await world.get('/v1.0/metadata')).text,
      world.sidecar.settings(),
      world.events,
    ];
    expect(JSON.stringify(shown)).not.toContain(HIDDEN);
  });
});
