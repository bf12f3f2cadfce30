import { generateKeyPairSync } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import { directoryWith, documents, findingsOf, load, problemsOf } from './files.ts';

const SECRET = 'a secret that is long enough for HS256';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const PRIVATE = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const PUBLIC = publicKey.export({ type: 'spki', format: 'pem' }).toString();

const configuration = (identity: object, auth = ''): string =>
  `apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: config}\n${auth}spec:\n  identity: ${JSON.stringify(identity)}\n`;
const withSecret = (secret: object): string => configuration({ keys: [{ secret }] });

describe('identity in a Configuration', () => {
  test('a secret is written, or found in the environment, a secret store or a file', async () => {
    const directory = await directoryWith({ secret: `${SECRET}\n`, 'secrets.json': `{"key": "${SECRET}"}` });
    const store = `apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: local}
spec: {type: secretstores.local.file, version: v1, metadata: [{name: secretsFile, value: ${directory}/secrets.json}]}
`;
    const keyed = configuration(
      { keys: [{ secret: { secretKeyRef: { name: 'key' } } }] },
      'auth: {secretStore: local}\n',
    );
    for (const yaml of [
      withSecret({ value: SECRET }),
      withSecret({ envRef: 'MY_SECRET' }),
      withSecret({ file: join(directory, 'secret') }),
      documents(store, keyed),
    ]) {
      const { options } = await load(yaml, { environment: { MY_SECRET: SECRET } });
      expect(options.identity).toEqual({ keys: [{ secret: SECRET }] });
    }
  });

  test('a file is beside the resource file, or in the working directory, which goes first', async () => {
    const yaml = withSecret({ file: 'keys/secret' });
    const directory = await directoryWith({ 'config.yaml': yaml, 'keys/secret': SECRET });
    const elsewhere = await directoryWith({ 'keys/secret': SECRET.toUpperCase() });
    const loaded = async (workingDirectory: string) =>
      (await load('', { configPaths: [join(directory, 'config.yaml')], workingDirectory })).options.identity?.keys;
    expect(await loaded('/')).toEqual([{ secret: SECRET }]);
    expect(await loaded(elsewhere)).toEqual([{ secret: SECRET.toUpperCase() }]);
  });

  test('a variable of a named file is filled in, but none that holds what is the sidecar’s own', async () => {
    const directory = await directoryWith({
      'mine.yaml': withSecret({ value: '$MINE' }),
      'own.yaml': withSecret({ value: '$SIDECAR_IDENTITY_SECRET' }),
    });
    const environment = { MINE: SECRET, SIDECAR_IDENTITY_SECRET: SECRET };
    const mine = await load('', { configPaths: [join(directory, 'mine.yaml')], environment });
    expect(mine.options.identity).toEqual({ keys: [{ secret: SECRET }] });
    await expect(load('', { configPaths: [join(directory, 'own.yaml')], environment })).rejects.toThrow(
      'spec.identity.keys.0.secret must have at least 32 bytes: actual is 0',
    );
  });

  test('key pairs and those of peers, one of them with a name of prototypes', async () => {
    const directory = await directoryWith({ 'key.pem': PRIVATE, 'cart.pem': PUBLIC });
    const keys = [{ privateKey: { file: join(directory, 'key.pem') }, kid: 'new' }];
    const peers = { 'cart.finance': [{ publicKey: { file: join(directory, 'cart.pem') } }] };
    const spec = JSON.stringify({ keys, peers, trustDomain: 'example' }).replace(
      '"cart.finance"',
      '"__proto__":[{"publicKey":{"value":"$PUBLIC"}}],"cart.finance"',
    );
    const file = await directoryWith({ 'c.yaml': configuration({}).replace('{}', spec) });
    const { options } = await load('', { configPaths: [join(file, 'c.yaml')], environment: { PUBLIC } });
    expect(options.identity).toMatchObject({ trustDomain: 'example', keys: [{ kid: 'new' }] });
    expect(Object.keys(options.identity?.peers ?? {})).toEqual(['__proto__', 'cart.finance']);
    new Sidecar({ appId: 'orders', ...options });
  });

  test.each<[what: string, yaml: string, problem: string | RegExp]>([
    ['a short secret', withSecret({ value: 'hush' }), 'spec.identity.keys.0.secret must have at least 32 bytes'],
    ['two places', withSecret({ value: SECRET, file: 'x' }), 'keys[0].secret has file and value: expected one of them'],
    ['a file that is not there', withSecret({ file: 'none' }), /none: it cannot be read: there is no such file$/],
    ['a variable that is not set', withSecret({ envRef: 'NONE' }), 'environment variable NONE is not set'],
    [
      'a variable of the sidecar',
      withSecret({ envRef: 'SIDECAR_IDENTITY_SECRET' }),
      'may not be read by resource files',
    ],
    [
      'a key that is none',
      configuration({ keys: [{ privateKey: { value: 'hush' } }] }),
      'expected an Ed25519 key as PEM',
    ],
    [
      'a public key that signs',
      configuration({ keys: [{ publicKey: { value: PUBLIC } }] }),
      'the first of the keys signs',
    ],
    [
      'a secret in the place of its source',
      configuration({ keys: [{ secret: 'hush' }] }),
      'must be object: actual is a string',
    ],
    ['no keys', configuration({ keys: [] }), 'spec.identity.keys must NOT have fewer than 1 items'],
    [
      'an unknown part',
      configuration({ keys: [{ secrets: {} }] }),
      'unknown field spec.identity.keys[0].secrets; did you mean "secret"?',
    ],
  ])('%s is a problem, and shows no key', async (_what, yaml, problem) => {
    const problems = await problemsOf(yaml);
    expect(problems).toEqual([
      typeof problem === 'string' ? expect.stringContaining(problem) : expect.stringMatching(problem),
    ]);
    expect(problems.join()).not.toMatch(new RegExp(`hush|${SECRET}|BEGIN`));
  });

  test.runIf(process.platform !== 'win32')(
    'a key file that everybody may read is noted, a public one is not',
    async () => {
      const directory = await directoryWith({ secret: SECRET, 'key.pem': PRIVATE, 'peer.pem': PUBLIC });
      const files = {
        secret: join(directory, 'secret'),
        key: join(directory, 'key.pem'),
        peer: join(directory, 'peer.pem'),
      };
      const yaml = configuration({
        keys: [{ privateKey: { file: files.key } }, { secret: { file: files.secret } }],
        peers: { cart: [{ publicKey: { file: files.peer } }] },
      });
      for (const file of Object.values(files)) await chmod(file, 0o644);
      await chmod(files.key, 0o600);
      expect((await findingsOf({ 'a.yaml': yaml })).notes).toEqual([
        expect.stringContaining(`${files.secret} can be read by every user of this host: expected mode 600`),
      ]);
    },
  );
});
