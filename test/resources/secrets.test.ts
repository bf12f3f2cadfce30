import { describe, expect, test } from 'vitest';
import { pubsubsOf } from '../../src/components/any-component.ts';
import { component, directoryWith, documents, findingsOf, load, metadata, problemsOf } from './files.ts';

const HIDDEN = 'hunter2';

/** A component that shows a value: its topics. */
function showing(source: string, store = 'secrets'): string {
  const auth = store === '' ? '' : `auth: {secretStore: ${store}}`;
  return component('events', 'pubsub.in-memory', `  metadata:\n  - {name: allowedTopics, ${source}}\n${auth}`);
}

async function shown(yaml: string, options: Parameters<typeof load>[1] = {}): Promise<unknown> {
  const { options: made } = await load(yaml, options);
  return pubsubsOf(made.components)[0]?.topics.allowedTopics;
}

describe('envRef', () => {
  test('is a variable of the environment', async () => {
    expect(await shown(showing('envRef: TOPICS'), { environment: { TOPICS: 'a,b' } })).toEqual(['a', 'b']);
  });

  test.each([
    '""',
    '"A B"',
    'APP_API_TOKEN',
    'DAPR_API_TOKEN',
    'DAPR_ANY',
    'SIDECAR_API_TOKEN',
    'dapr_api_token',
    'App_Api_Token',
  ])('%s may not be read', async (name) => {
    const environment = { [name.replaceAll('"', '')]: HIDDEN };
    const problems = await problemsOf(showing(`envRef: ${name}`), { environment });
    expect(problems).toEqual([
      expect.stringMatching(/^a\.yaml:9:\d+ \(document 1\): spec\.metadata\[0\]\.envRef .* may not be read/),
    ]);
    expect(problems[0]).not.toContain(HIDDEN);
  });

  test('a variable that is not set is a problem', async () => {
    expect(await problemsOf(showing('envRef: NOPE'))).toEqual([
      'a.yaml:9:35 (document 1): spec.metadata[0].envRef: environment variable NOPE is not set',
    ]);
  });

  test('nothing is filled in inside it', async () => {
    expect(await shown(showing('envRef: TOPICS'), { environment: { TOPICS: '{appID}' } })).toEqual(['{appID}']);
  });
});

describe('secretKeyRef', () => {
  const fromEnvironment = component('secrets', 'secretstores.local.env');

  test('is looked up in the environment, whatever the order of the files', async () => {
    const yaml = documents(showing('secretKeyRef: {name: TOPICS}'), fromEnvironment);
    expect(await shown(yaml, { environment: { TOPICS: 'a' } })).toEqual(['a']);
  });

  test('may have a prefix in the environment', async () => {
    const store = component('secrets', 'secretstores.local.env', metadata({ prefix: 'MY_' }));
    expect(
      await shown(documents(store, showing('secretKeyRef: {name: TOPICS, key: TOPICS}')), {
        environment: { MY_TOPICS: 'a' },
      }),
    ).toEqual(['a']);
  });

  test.each(['APP_API_TOKEN', 'DAPR_API_TOKEN', 'toString', '__proto__'])(
    '%s is not in the environment',
    async (name) => {
      const yaml = documents(fromEnvironment, showing(`secretKeyRef: {name: ${name}}`));
      const problems = await problemsOf(yaml, { environment: { APP_API_TOKEN: HIDDEN, DAPR_API_TOKEN: HIDDEN } });
      expect(problems).toEqual([
        `a.yaml:18:41 (document 2): spec.metadata[0].secretKeyRef: ${JSON.stringify(name)} is not in "secrets"`,
      ]);
    },
  );

  test.each([
    ['', 'auth.secretStore is missing, which says where to look'],
    ['other', 'there is no secret store "other" for this application'],
  ])('with the store %j is a problem', async (store, expected) => {
    const yaml = documents(showing('secretKeyRef: {name: TOPICS}', store), fromEnvironment);
    expect(await problemsOf(yaml)).toEqual([`a.yaml:9:41 (document 1): spec.metadata[0].secretKeyRef: ${expected}`]);
  });

  test('a store for other applications is none', async () => {
    const yaml = documents(`${fromEnvironment}scopes: [mail]`, showing('secretKeyRef: {name: TOPICS}'));
    expect(await problemsOf(yaml, { environment: { TOPICS: 'a' } })).toHaveLength(1);
  });

  test('a secret that is missing is excused by ignoreErrors', async () => {
    const yaml = showing('secretKeyRef: {name: TOPICS}').replace(
      '  metadata:\n  -',
      '  ignoreErrors: true\n  metadata:\n  -',
    );
    const { problems, notes } = await findingsOf({ 'a.yaml': yaml });
    expect(problems).toEqual([]);
    expect(notes).toEqual([
      expect.stringContaining('left out, because ignoreErrors is set: spec.metadata[0].secretKeyRef'),
    ]);
  });

  test('is not given beside a value', async () => {
    expect(await problemsOf(documents(fromEnvironment, showing('value: a, secretKeyRef: {name: TOPICS}')))).toEqual([
      'a.yaml:18:5 (document 2): spec.metadata[0] has value and secretKeyRef: expected one of them',
    ]);
  });
});

describe('secretstores.local.file', () => {
  const secrets = { topics: HIDDEN, nested: { inner: { deep: 'a' }, list: ['b', 'c'] }, number: 7, ['__proto__']: 'd' };

  async function fromFile(reference: string, settings: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const workingDirectory = await directoryWith({
      'secrets.json': JSON.stringify(secrets).replace('{', '{"__proto__":"d",'),
    });
    const store = component(
      'secrets',
      'secretstores.local.file',
      metadata({ secretsFile: 'secrets.json', ...settings }),
    );
    return shown(documents(store, showing(`secretKeyRef: ${reference}`)), { workingDirectory });
  }

  test.each([
    ['{name: topics}', HIDDEN],
    ['{name: topics, key: topics}', HIDDEN],
    ['{name: "nested:inner:deep"}', 'a'],
    ['{name: "nested:list:1"}', 'c'],
    ['{name: number}', '7'],
    ['{name: __proto__}', 'd'],
  ])('%s is in it', async (reference, expected) => {
    expect(await fromFile(reference)).toEqual([expected]);
  });

  test.each(['{name: nested}', '{name: topics, key: other}', '{name: constructor}'])(
    '%s is not in it',
    async (reference) => {
      await expect(fromFile(reference)).rejects.toThrow('is not in "secrets"');
    },
  );

  test.each(['12345678901234567890', '1.10', '1e400', '0.30000000000000004000', '1000000', 'true', 'null'])(
    'the value %s is kept as it is written',
    async (text) => {
      for (const [settings, reference] of [
        [{}, '{name: "a:list:0"}'],
        [{ multiValued: 'true' }, '{name: a, key: "list:0"}'],
        [{}, '{name: plain}'],
        [{ multiValued: 'true' }, '{name: plain}'],
      ] as const) {
        const workingDirectory = await directoryWith({ 's.json': ` {"a": {"list": [ ${text} ]}, "plain":${text} }\n` });
        const store = component('secrets', 'secretstores.local.file', metadata({ secretsFile: 's.json', ...settings }));
        expect(await shown(documents(store, showing(`secretKeyRef: ${reference}`)), { workingDirectory })).toEqual([
          text,
        ]);
      }
    },
  );

  test('another separator can be chosen', async () => {
    expect(await fromFile('{name: nested.inner.deep}', { nestedSeparator: '.' })).toEqual(['a']);
  });

  test.each([
    ['{name: nested, key: "inner:deep"}', 'a'],
    ['{name: topics}', HIDDEN],
  ])('with multiValued %s is in it', async (reference, expected) => {
    expect(await fromFile(reference, { multiValued: 'true' })).toEqual([expected]);
  });

  test('it is found next to the resource file too', async () => {
    const store = component('secrets', 'secretstores.local.file', metadata({ secretsFile: 'hidden/s.json' }));
    const { problems } = await findingsOf(
      { 'a.yaml': documents(store, showing('secretKeyRef: {name: topics}')), 'hidden/s.json': '{"topics":"a"}' },
      { workingDirectory: '/' },
    );
    expect(problems).toEqual([]);
  });

  test.each([
    ['[1]', 'a.yaml:9:3 (document 1): s.json cannot be used: it is not a JSON object'],
    [`{"a": ${HIDDEN}`, 'a.yaml:9:3 (document 1): s.json cannot be used: it is not JSON'],
    [
      '{"a:b": 1, "a": {"b": 2}}',
      'a.yaml:9:3 (document 1): s.json cannot be used: two of its members have the name "a:b"',
    ],
    ['', 'a.yaml:9:3 (document 1): s.json cannot be used: it is not JSON'],
    [undefined, 's.json: it cannot be read: there is no such file'],
  ])('the content %j is a problem that shows nothing of it', async (content, expected) => {
    const store = component('secrets', 'secretstores.local.file', metadata({ secretsFile: 's.json' }));
    const files = { 'a.yaml': store, ...(content === undefined ? {} : { 's.json': content }) };
    expect((await findingsOf(files)).problems).toEqual([expected]);
  });

  test('nesting without an end is a problem', async () => {
    const store = component('secrets', 'secretstores.local.file', metadata({ secretsFile: 's.json' }));
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect((await findingsOf({ 'a.yaml': store, 's.json': deep })).problems).toEqual([
      'a.yaml:9:3 (document 1): s.json cannot be used: it is nested deeper than 100 levels',
    ]);
  });

  test('it needs secretsFile', async () => {
    expect(await problemsOf(component('secrets', 'secretstores.local.file'))).toEqual([
      'a.yaml:6:3 (document 1): secretstores.local.file needs metadata secretsFile',
    ]);
  });
});

test('no message shows a value', async () => {
  const yaml = component(
    'events',
    'pubsub.in-memory',
    `  metadata:\n  - {name: allowedTopics, value: [${HIDDEN}]}\n  - {name: b, value: {c: ${HIDDEN}}}`,
  );
  const problems = await problemsOf(yaml);
  expect(problems).toHaveLength(2);
  expect(problems.join('\n')).not.toContain(HIDDEN);
});

test.each([
  ['a key that is no mapping', 'HTTPEndpoint', `baseUrl: https://bank.example\n  clientTLS: {privateKey: ${HIDDEN}}`],
  [
    'a header that is no mapping',
    'HTTPEndpoint',
    `baseUrl: https://bank.example\n  headers: ["authorization: ${HIDDEN}"]`,
  ],
  ['headers that are no list', 'HTTPEndpoint', `baseUrl: https://bank.example\n  headers: ${HIDDEN}`],
  [
    'metadata that are no mapping',
    'Component',
    `type: pubsub.redis\n  version: v1\n  metadata: [redisPassword=${HIDDEN}]`,
  ],
])('no message shows %s', async (_what, kind, spec) => {
  const yaml = `apiVersion: dapr.io/v1alpha1\nkind: ${kind}\nmetadata: {name: one}\nspec:\n  ${spec}\n`;
  const problems = await problemsOf(yaml);
  expect(problems).toEqual([expect.stringMatching(/must be (object|array): actual is a string$/)]);
  expect(problems[0]).not.toContain(HIDDEN);
});

test('a secret that is no good where it is used is not shown', async () => {
  const limits = `  metadata:\n  - {name: maxMessages, secretKeyRef: {name: LIMIT}}\nauth: {secretStore: secrets}`;
  const yaml = documents(
    component('secrets', 'secretstores.local.env'),
    component('events', 'pubsub.in-memory', limits),
  );
  expect(await problemsOf(yaml, { environment: { LIMIT: HIDDEN } })).toEqual([
    expect.stringMatching(/metadata maxMessages must be a positive integer$/),
  ]);
});
