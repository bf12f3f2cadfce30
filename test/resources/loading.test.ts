import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { checkResources, loadResources } from '../../src/resources/index.ts';
import { RecordingLogger } from '../support/logger.ts';
import { component, directoryWith, documents, findingsOf, load, problemsOf } from './files.ts';

const memory = (name: string, rest = ''): string => component(name, 'pubsub.in-memory', rest);

test('a key that is a collection is a problem of the file, not a warning of Node', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const problems = await problemsOf('kind: Component\n? {b: c}\n: d\n');
  expect(warn).not.toHaveBeenCalled();
  expect(problems.length).toBeGreaterThan(0);
  warn.mockRestore();
});

describe('which files are read', () => {
  test('the YAML files directly in a directory, by name; nothing below it and no other file', async () => {
    const { names, problems } = await findingsOf({
      'b.yml': memory('second'),
      'a.yaml': memory('first'),
      'c.json': '{',
      'd.yaml.bak': '{',
      'deeper/e.yaml': memory('deep'),
    });
    expect(problems).toEqual([]);
    expect(names).toEqual(['Component first', 'Component second']);
  });

  test('a directory whose name ends in .yaml is none', async () => {
    expect((await findingsOf({ 'odd.yaml/a.txt': '' })).problems).toEqual([]);
  });

  test('several directories and single files, in the order in which they are named, each once', async () => {
    const directory = await directoryWith({
      'one/a.yaml': memory('a'),
      'two/b.yaml': memory('b'),
      'c.yaml': memory('c'),
    });
    const paths = ['two', 'c.yaml', 'one', 'two'].map((path) => join(directory, path));
    const { resources } = await loadResources(paths, { appId: 'orders', environment: {} });
    expect(resources.map(({ name }) => name)).toEqual(['b', 'c', 'a']);
  });

  test('a path that is not there is a problem', async () => {
    const { problems } = await checkResources(['/no/such/place'], { environment: {} });
    expect(problems).toEqual([
      { file: '/no/such/place', document: 0, line: 0, column: 0, message: 'there is no such directory or file' },
    ]);
  });

  test('a link that leads nowhere is a problem', async () => {
    const directory = await directoryWith({});
    await symlink(join(directory, 'nowhere'), join(directory, 'a.yaml'));
    const { problems } = await checkResources([directory], { environment: {} });
    expect(problems.map(({ message }) => message)).toEqual(['it cannot be read: there is no such file']);
  });
});

describe('the text of a file', () => {
  test('documents without content, comments, a byte order mark and CR LF do not matter', async () => {
    const text = `\uFEFF# a comment\n---\n---\n# another\n---\n${memory('events')}\n---\n`.replaceAll('\n', '\r\n');
    const { names, problems } = await findingsOf({ 'a.yaml': text });
    expect([names, problems]).toEqual([['Component events'], []]);
  });

  test('places are right in a file with CR LF', async () => {
    const text = documents(memory('events'), memory('more', '  nope: 1')).replaceAll('\n', '\r\n');
    expect(await problemsOf(text)).toEqual(['a.yaml:17:3 (document 2): unknown field spec.nope']);
  });

  test.each(['', '\n\n', '# nothing', '---', '---\n...\n---\n', '~', 'null'])(
    '%j holds nothing, which is fine',
    async (text) => {
      expect(await findingsOf({ 'a.yaml': text })).toEqual({ problems: [], notes: [], names: [] });
    },
  );

  test('a document that is not valid is told with its place, and the others are read', async () => {
    const { problems, names } = await findingsOf({
      'a.yaml': documents(memory('events'), 'a: [1\nb: "', memory('more')),
    });
    expect(problems[0]).toMatch(/^a\.yaml:\d+:\d+ \(document 2\): not valid YAML: /);
    expect(names).toContain('Component events');
  });

  test.each([
    [
      'a key that is defined twice',
      'kind: Component\nkind: Component',
      /^a\.yaml:2:1 \(document 1\): not valid YAML: key "kind" is defined twice$/,
    ],
    ['a tag of its own', 'kind: !js/function "x"', /^a\.yaml:1:7 \(document 1\): not valid YAML: Unresolved tag/],
    ['a tab as indentation', 'kind:\n\t- x', /^a\.yaml:2:1 \(document 1\): not valid YAML: /],
    ['an alias that leads nowhere', 'kind: *nowhere', /^a\.yaml:1:1 \(document 1\): not usable YAML: Unresolved alias/],
    ['no kind', 'apiVersion: dapr.io/v1alpha1', /^a\.yaml:1:1 \(document 1\): kind is missing/],
    [
      'a kind that is a number',
      'apiVersion: dapr.io/v1alpha1\nkind: 1',
      /^a\.yaml:2:7 \(document 1\): kind is missing/,
    ],
  ])('%s is a problem', async (_, text, expected) => {
    const problems = await problemsOf(text);
    expect(problems[0]).toMatch(expected);
  });

  test('bytes that are not UTF-8 are a problem', async () => {
    expect(await problemsOf(new Uint8Array([0x61, 0x3a, 0x20, 0xff]))).toEqual(['a.yaml: it is not UTF-8']);
  });

  test('anchors and merge keys work', async () => {
    const { names, problems } = await findingsOf({
      'a.yaml': `apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: events}
spec:
  <<: &base {type: pubsub.in-memory, version: v1}
  metadata: [&one {name: allowedTopics, value: a}]
`,
    });
    expect([names, problems]).toEqual([['Component events'], []]);
  });

  test('a place behind an alias is that of what it stands for', async () => {
    const problems = await problemsOf(`apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: events, labels: {a: &spec {type: pubsub.in-memory, nope: 1}}}
spec: *spec
`);
    expect(problems).toEqual(['a.yaml:3:69 (document 1): unknown field spec.nope']);
  });
});

describe('bounds', () => {
  test('a file of more than 1 MiB is not read', async () => {
    expect(await problemsOf('#'.repeat(1024 * 1024 + 1))).toEqual([
      'a.yaml: it has 1048577 bytes: expected at most 1048576',
    ]);
  });

  test.each([
    ['sequences', '- '.repeat(20_000)],
    ['flow sequences', '['.repeat(20_000)],
    ['keys', '? '.repeat(20_000)],
    ['flow mappings', '{a: '.repeat(20_000)],
  ])('nesting of %s that would exhaust the stack is a problem', async (_, text) => {
    expect(await problemsOf(text)).toEqual([
      expect.stringMatching(/^a\.yaml:1:\d+: it is nested deeper than 64 levels$/),
    ]);
  });

  test('aliases that multiply are a problem', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `l${level + 1}: &l${level + 1} [${'*l'.concat(String(level), ', ').repeat(9)}]`,
    );
    const bomb = `l0: &l0 [x]\n${levels.join('\n')}\n`;
    const startedAt = performance.now();
    expect(await problemsOf(bomb)).toEqual([
      expect.stringMatching(/^a\.yaml:1:1 \(document 1\): not usable YAML: Excessive alias count/),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('many keys, up to the bound, take no time worth speaking of', async () => {
    const keys = Array.from({ length: 4_999 }, (_, index) => `k${index}: 1`).join('\n');
    const startedAt = performance.now();
    expect(await problemsOf(`${keys.replace('k0', 'kind')}\nkind: 2\n`)).toEqual([
      'a.yaml:5000:1 (document 1): not valid YAML: key "kind" is defined twice',
    ]);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  test('a mapping with very many keys is a problem', async () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join('\n');
    expect(await problemsOf(keys)).toEqual(['a.yaml:1:1: a collection has more than 5000 entries']);
  });

  test('very many documents are a problem', async () => {
    expect(await problemsOf('--- 1\n'.repeat(2_000))).toEqual([
      expect.stringMatching(/^a\.yaml:1001:1: it has more than 1000 documents$/),
    ]);
  });

  test('an error lists the first fifty problems', async () => {
    const fields = Array.from({ length: 60 }, (_, index) => `  f${index}: 1`).join('\n');
    const error = await load(memory('events', fields)).catch((thrown: Error) => thrown);
    const lines = String(Object(error).message).split('\n');
    expect(lines[0]).toBe('60 problems in resources of "orders":');
    expect(lines).toHaveLength(52);
    expect(lines.at(-1)).toBe('  … and 10 more');
  });
});

describe('what is a resource', () => {
  test('something of another system is noted', async () => {
    const { problems, notes } = await findingsOf({ 'a.yaml': 'apiVersion: apps/v1\nkind: Deployment\nspec: {}' });
    expect(problems).toEqual([]);
    expect(notes).toEqual([
      'a.yaml:1:1 (document 1): apps/v1 Deployment is not a resource of a sidecar: it is not used',
    ]);
  });

  test.each([
    [
      'dapr.io/v1alpha1',
      'Componnet',
      'unknown kind "Componnet": expected Component, Subscription, HTTPEndpoint, Configuration, Resiliency; did you mean "Component"?',
    ],
    ['dapr.io/v1', 'Component', 'apiVersion "dapr.io/v1" of Component: expected dapr.io/v1alpha1, sidecar.io/v1alpha1'],
    [
      'dapr.io/v2alpha1',
      'Component',
      'apiVersion "dapr.io/v2alpha1" of Component: expected dapr.io/v1alpha1, sidecar.io/v1alpha1; did you mean "dapr.io/v1alpha1"?',
    ],
    [
      'dapr.oi/v1alpha1',
      'Component',
      'apiVersion "dapr.oi/v1alpha1" of Component: expected dapr.io/v1alpha1, sidecar.io/v1alpha1; did you mean "dapr.io/v1alpha1"?',
    ],
    ['dapr.oi/v1alpha1', 'Other', 'unknown kind "Other"'],
    ['dapr.io/v1alpha1', '__proto__', 'unknown kind "__proto__"'],
  ])('%s %s is a problem', async (apiVersion, kind, expected) => {
    const [problem = ''] = await problemsOf(`apiVersion: ${apiVersion}\nkind: ${kind}\n`);
    expect(problem.replace(/^a\.yaml:[12]:\d+ \(document 1\): /, '')).toContain(expected);
  });

  test.each(['""', '..', 'a/b', '"a\\tb"', '7', '[a]'])('metadata.name is not %s', async (name) => {
    const [problem = ''] = await problemsOf(memory(name));
    expect(problem).toMatch(/^a\.yaml:4:9 \(document 1\): metadata\.name (must|is) /);
  });

  test('what Kubernetes adds to metadata is let be', async () => {
    const yaml = memory('events\n  labels: {a: b}\n  annotations: {c: d}\n  uid: 1\n  generation: 2');
    expect(await problemsOf(yaml)).toEqual([]);
  });

  test('fields named after prototypes are unknown fields', async () => {
    const [first, second] = await problemsOf(memory('events', '  __proto__: {type: x}\n  constructor: 1'));
    expect(first).toBe('a.yaml:8:3 (document 1): unknown field spec.__proto__');
    expect(second).toBe('a.yaml:9:3 (document 1): unknown field spec.constructor');
  });

  test('all problems of all files are told together, in the order of the files', async () => {
    const directory = await directoryWith({
      'b.yaml': memory('events', '  nope: 1'),
      'a.yaml': documents(component('x', 'pubsub.pulsar'), 'kind: ['),
    });
    const loading = loadResources([directory], { appId: 'orders', environment: {} });
    await expect(loading).rejects.toMatchObject({ code: 'ERR_CONFIGURATION' });
    const message = await loading.catch((error: Error) => error.message.replaceAll(`${directory}/`, ''));
    expect(message).toMatch(
      /^3 problems in resources of "orders":\n {2}a\.yaml:6:9 .*\n {2}a\.yaml:\d+:\d+ .*\n {2}b\.yaml:8:3 .*$/,
    );
  });

  test('notes are logged with their places', async () => {
    const logger = new RecordingLogger();
    await load('apiVersion: v1\nkind: Secret', { logger });
    expect(logger.lines).toMatchObject([
      { level: 'info', details: { document: 1, line: 1, column: 1 }, message: expect.stringContaining('not used') },
    ]);
  });
});

describe('whom a resource is for', () => {
  test('scopes name the applications', async () => {
    const yaml = documents(
      memory('one', 'scopes: [mail, orders]'),
      memory('two', 'scopes: [mail]'),
      memory('three', 'scopes: []'),
    );
    expect((await findingsOf({ 'a.yaml': yaml })).names).toEqual(['Component one', 'Component three']);
  });

  test('a type that cannot be used does not matter when it is for others', async () => {
    expect(await problemsOf(component('one', 'pubsub.pulsar', 'scopes: [mail]'))).toEqual([]);
  });

  test.each([
    ['', 'near', ['Component one', 'Component two']],
    ['near', 'near', ['Component one', 'Component two']],
    ['far', 'near', ['Component two']],
  ])('with NAMESPACE %j a resource of namespace %j is taken or not', async (own, theirs, expected) => {
    const yaml = documents(memory(`one\n  namespace: ${theirs}`), memory('two'));
    const { names } = await findingsOf({ 'a.yaml': yaml }, { environment: { NAMESPACE: own } });
    expect(names).toEqual(expected);
  });

  test('the option namespace goes before the environment', async () => {
    const yaml = memory('one\n  namespace: near');
    const { names } = await findingsOf({ 'a.yaml': yaml }, { environment: { NAMESPACE: 'far' }, namespace: 'near' });
    expect(names).toEqual(['Component one']);
  });

  test('a name that is defined twice is a problem that names both places', async () => {
    const { problems } = await findingsOf({ 'a.yaml': memory('events'), 'b.yaml': memory('events') });
    expect(problems).toEqual(['b.yaml:4:9 (document 1): Component "events" is defined twice, first at a.yaml:4:9']);
  });

  test('one name for several applications, one each, is none', async () => {
    const yaml = documents(memory('events', 'scopes: [mail]'), memory('events', 'scopes: [orders]'));
    expect(await problemsOf(yaml)).toEqual([]);
    expect(await problemsOf(yaml, { appId: undefined } as object)).toEqual([]);
  });

  test('one name in several namespaces is none', async () => {
    const yaml = documents(memory('events\n  namespace: far'), memory('events\n  namespace: near'));
    expect(await problemsOf(yaml, { namespace: 'near' })).toEqual([]);
    expect(await problemsOf(yaml)).toHaveLength(1);
  });

  test('one name for several kinds is none', async () => {
    const endpoint =
      'apiVersion: dapr.io/v1alpha1\nkind: HTTPEndpoint\nmetadata: {name: events}\nspec: {baseUrl: "http://a"}';
    expect(await problemsOf(documents(memory('events'), endpoint))).toEqual([]);
  });
});
