import { describe, expect, test } from 'vitest';
import { component, documents, findingsOf } from './files.ts';

const memory = component('events', 'pubsub.in-memory');

/** What people keep beside their resources. */
const OTHERS: Readonly<Record<string, string>> = {
  'compose.yaml': 'name: shop\nservices:\n  redis: {image: "redis:7", ports: ["6379:6379"]}\nvolumes:\n  data:\n',
  'values.yaml': 'replicas: 2\nkind: DaemonSet\nimage:\n  tag: "1"\nresources: {}\n',
  'ci.yml': 'name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu\n    steps:\n    - run: npm test\n',
  'gitlab-ci.yml': 'test:\n  script:\n  - !reference [.setup, script]\n  - npm test\n',
  'openapi.yaml': 'openapi: 3.1.0\ninfo: {title: Orders, version: "1"}\npaths: {}\n',
  'chart.yaml': 'apiVersion: v2\nname: shop\nversion: 0.1.0\n',
  'list.yaml': '- one\n- two: 2\n',
  'scalar.yaml': 'just a text\n',
  'number.yaml': '42\n',
  'knative.yaml': 'apiVersion: messaging.knative.dev/v1\nkind: Subscription\nmetadata: {name: a}\nspec: {}\n',
  'mcp.yaml': 'apiVersion: dapr.io/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec: {endpoint: {}}\n',
  'policy.yaml': 'apiVersion: dapr.io/v1alpha1\nkind: WorkflowAccessPolicy\nmetadata: {name: a}\nspec: {rules: []}\n',
};

describe('a file beside the resources', () => {
  test.each(Object.entries(OTHERS))('%s is one note, and the resources are read', async (name, text) => {
    const { problems, notes, names } = await findingsOf({ 'a.yaml': memory, [name]: text });
    expect([problems, names]).toEqual([[], ['Component events']]);
    expect(notes).toEqual([expect.stringMatching(new RegExp(`^${name}.*(not used|not enforced)`))]);
  });

  test('a policy of Dapr that has no effect is told as such', async () => {
    const { notes } = await findingsOf({ 'a.yaml': OTHERS['policy.yaml'] ?? '' });
    expect(notes).toEqual(['a.yaml:1:1 (document 1): WorkflowAccessPolicy is not used: it is not enforced here']);
  });
});

const TEMPLATE = `{{- if .Values.enabled }}
spec:
  replicas: {{ .Values.replicas }}
  name: {{ include "a" . }}
{{- end }}
`;

describe('a Helm template', () => {
  test('of something else is one note', async () => {
    const { problems, notes } = await findingsOf({ 'a.yaml': `apiVersion: apps/v1\nkind: Deployment\n${TEMPLATE}` });
    expect(problems).toEqual([]);
    expect(notes).toEqual(['a.yaml:3:1: it is a template ({{ … }}), no resource: it is not used']);
  });

  test.each([
    ['that is no YAML', `apiVersion: dapr.io/v1alpha1\nkind: Component\n${TEMPLATE}`],
    [
      'that is YAML',
      'apiVersion: dapr.io/v1alpha1\nkind: Component\nmetadata: {name: {{ .Values.name }}}\nspec: {type: {{ .t }}}',
    ],
    ['in quotes', memory.replace('events', '"{{ .Release.Name }}"')],
  ])('of a resource, %s, is one problem: it would be missing in silence', async (_, text) => {
    const { problems, notes } = await findingsOf({ 'a.yaml': text });
    expect(problems).toEqual([expect.stringMatching(/^a\.yaml:\d+:\d+: it is a template .*render it first/)]);
    expect(notes).toEqual([]);
  });

  test('a value with braces in it is no template', async () => {
    const text = `${memory}  metadata:\n  - {name: allowedTopics, value: "{{a}}"}\n`;
    expect(await findingsOf({ 'a.yaml': text })).toMatchObject({ problems: [], names: ['Component events'] });
  });
});

describe('a slip of the pen in a resource never passes as another file', () => {
  test.each([
    ['apiVersion in another case', memory.replace('apiVersion', 'apiversion'), /apiVersion is missing.*"apiversion"/],
    ['a misspelt apiVersion', memory.replace('apiVersion', 'apiVerson'), /apiVersion is missing.*"apiVerson"/],
    ['kind in another case', memory.replace('kind', 'Kind'), /kind is missing.*it has "Kind"; did you mean "kind"/],
    ['both misspelt', memory.replace('kind', 'knd').replace('apiVersion', 'aipVersion'), /apiVersion is missing/],
    ['neither of them', 'metadata: {name: a}\nspec: {type: pubsub.in-memory}\n', /apiVersion is missing/],
    ['no apiVersion and a misspelt kind', 'kind: Componnet\nspec: {}\n', /apiVersion is missing/],
    ['a version without its group', memory.replace('dapr.io/', ''), /apiVersion "v1alpha1" of Component: expected/],
    ['both without a group and misspelt', 'apiVersion: v1alpha1\nkind: Componnet\n', /unknown kind "Componnet"/],
    ['a list of resources', `- ${memory.trim().replaceAll('\n', '\n  ')}\n`, /it is a list: a resource is a document/],
    ['a text of a resource', '"apiVersion: dapr.io/v1alpha1"', /a resource is a document of its own/],
    ['a resource that is no YAML', memory.replace('type:', '\ttype: ['), /not valid YAML/],
    ['a list of subscriptions that is no YAML', '- apiVersion: dapr.io/v2alpha1\n  kind: [\n', /not valid YAML/],
  ])('%s', async (_, text, expected) => {
    const { problems } = await findingsOf({ 'a.yaml': text });
    expect(problems[0]).toMatch(expected);
  });
});

describe("--map '*=none'", () => {
  const others = documents(
    component('timer', 'bindings.wasm'),
    component('mail', 'bindings.twilio.sendgrid'),
    component('queue', 'pubsub.pulsar'),
    component('books', 'state.mysql'),
    component('chat', 'conversation.echo'),
  );

  test('leaves out every component of a type that there is not, with a note for each', async () => {
    const files = { 'a.yaml': documents(memory, others) };
    const { problems, notes } = await findingsOf(files, { substitute: { '*': 'none' } });
    expect(problems).toEqual([]);
    expect(notes.map((note) => note.replace(/^.*: (?=component)/, ''))).toEqual([
      'component "timer" of type bindings.wasm is left out, as asked',
      'component "mail" of type bindings.twilio.sendgrid is left out, as asked',
      'component "queue" of type pubsub.pulsar is left out, as asked',
      'component "books" of type state.mysql is left out, as asked',
      'component "chat" of type conversation.echo is left out, as asked',
    ]);
  });

  test('goes behind what is said of one kind', async () => {
    const substitute = { '*': 'none', 'pubsub.*': 'pubsub.in-memory' };
    const { notes } = await findingsOf({ 'a.yaml': component('queue', 'pubsub.pulsar') }, { substitute });
    expect(notes).toEqual([expect.stringContaining('"queue" is pubsub.in-memory in place of pubsub.pulsar')]);
  });

  test('does not leave out a type that is misspelt', async () => {
    const { problems } = await findingsOf(
      { 'a.yaml': component('events', 'pubsub.inmemory') },
      { substitute: { '*': 'none' } },
    );
    expect(problems).toEqual([expect.stringContaining('did you mean "pubsub.in-memory"?')]);
  });

  test('names no other type', async () => {
    const finding = findingsOf({}, { substitute: { '*': 'pubsub.in-memory' } });
    await expect(finding).rejects.toThrow('* cannot be replaced by "pubsub.in-memory": expected none');
  });
});
