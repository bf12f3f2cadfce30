import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pubsubsOf, storesOf } from '../../src/components/any-component.ts';
import { keyValueStore } from '../../src/components/key-value/index.ts';
import { memoryState } from '../../src/components/memory/memory-store.ts';
import { Sidecar } from '../../src/index.ts';
import { COMPONENT_TYPES } from '../../src/resources/component-types.ts';
import { formatFinding } from '../../src/resources/index.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from '../support/logger.ts';
import { component, directoryWith, documents, findingsOf, load, metadata, PATIENCE, problemsOf } from './files.ts';

/** The types that there are, of one kind. */
function typesOf(kind: string): readonly string[] {
  return [...COMPONENT_TYPES.keys()].filter((type) => type.startsWith(kind));
}

describe('Component', () => {
  test.each([
    ['pubsub.in-memory', 'pubsub.in-memory'],
    ['pubsub.sqlite', 'pubsub.durable'],
    ['pubsub.durable', 'pubsub.durable'],
  ])('%s becomes %s', async (type, expected) => {
    const { options } = await load(component('events', type));
    expect(options.components.map((made) => [made.name, made.type])).toEqual([['events', expected]]);
  });

  test('either group of apiVersion is understood', async () => {
    const { options } = await load(component('events', 'pubsub.in-memory').replace('dapr.io', 'sidecar.io'));
    expect(options.components.map(({ name }) => name)).toEqual(['events']);
  });

  test('what is loaded is what a sidecar takes', async () => {
    const { options } = await load(component('events', 'pubsub.in-memory'));
    await using sidecar = new Sidecar({ appId: 'orders', ...options });
    await sidecar.start();
    await expect(sidecar.pubsub.publish('events', 'placed', 1)).resolves.toBeUndefined();
  });

  test('topic scopes are those of its metadata', async () => {
    const scopes = metadata({
      allowedTopics: 'a, b ,a',
      protectedTopics: 'secret',
      publishingScopes: 'ORDERS=a,b;mail=;all',
      subscriptionScopes: 'orders=b',
    });
    const { options } = await load(component('events', 'pubsub.in-memory', scopes));
    expect(pubsubsOf(options.components)[0]?.topics).toEqual({
      allowedTopics: ['a', 'b'],
      protectedTopics: ['secret'],
      publishingScopes: { orders: ['a', 'b'], mail: [] },
      subscriptionScopes: { orders: ['b'] },
    });
  });

  test('names of prototypes are ordinary app IDs', async () => {
    const { options } = await load(
      component('events', 'pubsub.in-memory', metadata({ publishingScopes: '__proto__=x;constructor=y' })),
    );
    const scopes = pubsubsOf(options.components)[0]?.topics.publishingScopes ?? {};
    expect(Object.keys(scopes)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(scopes)).toBe(Object.prototype);
  });

  test('limits of memory are positive integers', async () => {
    expect(await problemsOf(component('events', 'pubsub.in-memory', metadata({ maxMessages: 'many' })))).toEqual([
      'a.yaml:9:3 (document 1): metadata maxMessages must be a positive integer',
    ]);
  });

  test('metadata that a type does not use is noted, a near miss is refused', async () => {
    const yaml = component('events', 'pubsub.in-memory', metadata({ consumerID: 'x', allowedTopcis: 'a' }));
    const { problems, notes } = await findingsOf({ 'a.yaml': yaml });
    expect(notes).toEqual(['a.yaml:9:3 (document 1): pubsub.in-memory has no use for metadata consumerID']);
    expect(problems).toEqual([
      'a.yaml:11:11 (document 1): pubsub.in-memory has no metadata "allowedTopcis"; did you mean "allowedTopics"?',
    ]);
  });

  test('templates in values are filled in', async () => {
    const { options } = await load(
      component('events', 'pubsub.in-memory', metadata({ allowedTopics: '{appID}/{namespace}/{other}' })),
      { namespace: 'shop' },
    );
    expect(pubsubsOf(options.components)[0]?.topics.allowedTopics).toEqual(['orders/shop.orders/{other}']);
  });

  test('{uuid} is a new one each time', async () => {
    const { options } = await load(
      component('events', 'pubsub.in-memory', metadata({ allowedTopics: '{uuid},{uuid}' })),
    );
    const topics = pubsubsOf(options.components)[0]?.topics.allowedTopics ?? [];
    expect(topics).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  test('a number keeps its digits', async () => {
    const yaml = component(
      'events',
      'pubsub.in-memory',
      '  metadata:\n  - {name: allowedTopics, value: 012345678901234567890}',
    );
    const { options } = await load(yaml);
    expect(pubsubsOf(options.components)[0]?.topics.allowedTopics).toEqual(['012345678901234567890']);
  });

  test('an unknown version of a type is refused', async () => {
    expect(await problemsOf(component('events', 'pubsub.in-memory').replace('version: v1', 'version: v2'))).toEqual([
      'a.yaml:7:12 (document 1): pubsub.in-memory has no version "v2": expected "v1"',
    ]);
  });
});

describe('the type of a component', () => {
  test('a type of Dapr that there is not is named as such, with a way out', async () => {
    expect(await problemsOf(component('events', 'pubsub.pulsar'))).toEqual([
      "a.yaml:6:9 (document 1): component type pubsub.pulsar is one of Dapr's that insidecar does not have: " +
        'replace it, as in --map pubsub.pulsar=pubsub.in-memory (option substitute)',
    ]);
  });

  test('a kind of component that there is not is named as such', async () => {
    expect(await problemsOf(component('chat', 'conversation.echo'))).toEqual([
      'a.yaml:6:9 (document 1): component type conversation.echo: insidecar has no conversation components; ' +
        'leave it out with --map conversation.echo=none (option substitute)',
    ]);
  });

  test('an unknown type comes with the nearest', async () => {
    expect(await problemsOf(component('events', 'pubsub.inmemory'))).toEqual([
      'a.yaml:6:9 (document 1): unknown component type "pubsub.inmemory": ' +
        `expected ${typesOf('pubsub.').join(', ')}; did you mean "pubsub.in-memory"?`,
    ]);
  });

  test('another type can stand in, and then no secret of the first is needed', async () => {
    const password =
      '  metadata:\n  - {name: redisPassword, secretKeyRef: {name: redis}}\n  - {name: allowedTopics, value: a}';
    const { options, notes } = await load(component('events', 'pubsub.redis', password), {
      substitute: { 'pubsub.redis': 'pubsub.in-memory' },
    });
    expect(pubsubsOf(options.components).map(({ type, topics }) => [type, topics])).toEqual([
      ['pubsub.in-memory', { allowedTopics: ['a'] }],
    ]);
    expect(notes.map(({ message }) => message)).toEqual([
      'component "events" is pubsub.in-memory in place of pubsub.redis',
      'pubsub.in-memory has no use for metadata redisPassword',
    ]);
  });

  test('a whole kind can be replaced or left out; types that there are stay', async () => {
    const yaml = documents(
      component('one', 'pubsub.pulsar'),
      component('two', 'pubsub.sqlite'),
      component('three', 'conversation.echo'),
    );
    const { options } = await load(yaml, { substitute: { 'pubsub.*': 'pubsub.in-memory', 'conversation.*': 'none' } });
    expect(options.components.map(({ name, type }) => [name, type])).toEqual([
      ['one', 'pubsub.in-memory'],
      ['two', 'pubsub.durable'],
    ]);
  });

  test('a stand-in must be a type that there is', async () => {
    await expect(load('', { substitute: { 'pubsub.redis': 'pubsub.inmemory' } })).rejects.toThrow(
      `options.substitute: pubsub.redis cannot be replaced by "pubsub.inmemory": expected ${typesOf('').join(', ')}, none; ` +
        'did you mean "pubsub.in-memory"?',
    );
  });

  test('ignoreErrors leaves a component out that cannot be used, with a note', async () => {
    const yaml = documents(
      component('events', 'pubsub.pulsar', '  ignoreErrors: true'),
      component('mail', 'pubsub.in-memory'),
    );
    const { options, notes } = await load(yaml);
    expect(options.components.map(({ name }) => name)).toEqual(['mail']);
    expect(notes.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^left out, because ignoreErrors is set: component type pubsub\.pulsar /),
    ]);
  });

  test('ignoreErrors leaves a component out whose settings are wrong', async () => {
    const wrong = component('events', 'pubsub.in-memory', `  ignoreErrors: true\n${metadata({ maxMessages: 'many' })}`);
    const { options, notes } = await load(wrong);
    expect(options.components).toEqual([]);
    expect(notes.map(({ message }) => message)).toEqual([
      'left out, because ignoreErrors is set: metadata maxMessages must be a positive integer',
    ]);
  });

  test('ignoreErrors does not excuse a field that there is not', async () => {
    expect(await problemsOf(component('events', 'pubsub.in-memory', '  ignoreErrors: true\n  metdata: []'))).toEqual([
      'a.yaml:9:3 (document 1): unknown field spec.metdata; did you mean "metadata"?',
    ]);
  });
});

describe('state', () => {
  test('state.sqlite is state on disk, in the directory that it names', async () => {
    const { options, statePath } = await load(component('store', 'state.sqlite', metadata({ path: 'data' })), {
      workingDirectory: '/somewhere',
    });
    expect([options.state?.type, statePath]).toEqual(['embedded', '/somewhere/data']);
  });

  test.each([
    ['the state of the sidecar', []],
    ['values alone', [component('own', 'state.in-memory', metadata({ actorStateStore: 'true' }))]],
  ])('a state.sqlite with exclusive is for one process (%s)', async (_what, beside) => {
    const workingDirectory = await directoryWith({});
    const open = async (exclusive: string): Promise<{ close(): Promise<void> }> => {
      const store = component('store', 'state.sqlite', metadata({ path: 'data', exclusive }));
      const { options } = await load(documents(store, ...beside), { workingDirectory });
      const context = { clock: systemClock, logger: new RecordingLogger() };
      if (beside.length === 0) return (options.state ?? memoryState()).open(context);
      const values = storesOf(options.components, 'state').find(({ name }) => name === 'store');
      const [state, track] = [await memoryState().open(context), () => () => undefined];
      return (values ?? keyValueStore('none')).open({ ...context, appId: 'orders', state, track });
    };
    const holder = await open('true');
    await expect(open('false')).rejects.toMatchObject({ kind: 'in-use' });
    await expect(open('true')).rejects.toMatchObject({ kind: 'in-use' });
    await holder.close();
    const shared = [await open('false'), await open('false')];
    for (const store of shared) await store.close();
  });

  test('exclusive is true or false', async () => {
    expect(await problemsOf(component('store', 'state.sqlite', metadata({ exclusive: 'yes' })))).toEqual([
      'a.yaml:9:3 (document 1): metadata exclusive must be "true" or "false"',
    ]);
    expect(
      (await findingsOf({ 'a.yaml': component('store', 'state.sqlite', metadata({ exclusive: 'true' })) })).notes,
    ).toEqual([]);
  });

  test('state.in-memory is state in memory', async () => {
    const { options, statePath } = await load(component('store', 'state.in-memory'));
    expect([options.state?.type, statePath]).toEqual(['memory', undefined]);
  });

  test('a durable pub/sub component puts state on disk, below the working directory', async () => {
    const { options, statePath } = await load(component('events', 'pubsub.sqlite'), { workingDirectory: '/somewhere' });
    expect([options.state?.type, statePath]).toEqual(['embedded', '/somewhere/.insidecar/orders']);
  });

  test('a durable pub/sub component beside state in memory keeps its messages on disk all the same', async () => {
    const yaml = documents(component('store', 'state.in-memory'), component('events', 'pubsub.sqlite'));
    const { statePath, notes } = await load(yaml, { workingDirectory: '/somewhere' });
    expect(statePath).toBe('/somewhere/.insidecar/orders');
    expect(notes.map(({ line, message }) => [line, message])).toEqual([
      [6, 'state is kept on disk all the same, because a pub/sub component keeps its messages there'],
    ]);
  });

  test('the option statePath goes before the files', async () => {
    const { options, statePath } = await load(component('store', 'state.in-memory'), { statePath: '/data' });
    expect([options.state?.type, statePath]).toEqual(['embedded', '/data']);
  });

  test('without a component there is none', async () => {
    expect((await load(component('events', 'pubsub.in-memory'))).options).not.toHaveProperty('state');
  });

  test('of two, the one for actors is taken', async () => {
    const actors = component('two', 'state.sqlite', metadata({ path: '/two', actorStateStore: 'true' }));
    const { statePath } = await load(documents(component('one', 'state.sqlite', metadata({ path: '/one' })), actors));
    expect(statePath).toBe('/two');
  });

  test('of several without a mark, none is taken', async () => {
    const { options, notes } = await load(
      documents(component('one', 'state.in-memory'), component('two', 'state.sqlite', metadata({ path: '/two' }))),
    );
    expect(options).not.toHaveProperty('state');
    expect(options.components.map(({ name, type, block }) => [name, type, block])).toEqual([
      ['one', 'state.in-memory', 'state'],
      ['two', 'state.sqlite', 'state'],
    ]);
    expect(notes.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      '13: the sidecar keeps its own state in memory, and not in one of one, two: set actorStateStore to "true" on one of them to keep it there',
    ]);
  });

  test('two with a mark are refused', async () => {
    const marked = metadata({ actorStateStore: 'true' });
    const yaml = documents(component('one', 'state.in-memory', marked), component('two', 'state.in-memory', marked));
    expect(await problemsOf(yaml)).toEqual([
      expect.stringMatching(/a sidecar has one state, and one, two all have actorStateStore: leave it to one of them/),
    ]);
  });
});

describe('Subscription', () => {
  const v2 = `apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata: {name: second}
spec:
  pubsubname: events
  topic: placed
  routes:
    rules: [{match: event.type == "a", path: /a}]
    default: /other
  deadLetterTopic: dead
  bulkSubscribe: {enabled: true, maxMessagesCount: 10, maxAwaitDurationMs: 50}
  metadata: {rawPayload: "true"}
`;
  const v1 = `apiVersion: dapr.io/v1alpha1
kind: Subscription
metadata: {name: first}
spec: {pubsubname: events, topic: placed, route: /first}
`;

  test('both versions are read, in the order of the files', async () => {
    const { options } = await load(documents(v1, v2));
    expect(options.subscriptions).toEqual([
      { pubsubName: 'events', topic: 'placed', route: '/first' },
      {
        pubsubName: 'events',
        topic: 'placed',
        routes: { rules: [{ match: 'event.type == "a"', path: '/a' }], default: '/other' },
        deadLetterTopic: 'dead',
        bulkSubscribe: { enabled: true, maxMessagesCount: 10, maxAwaitDuration: 50 },
        metadata: { rawPayload: 'true' },
      },
    ]);
  });

  test.each([v1, v2])('timeoutMs is the time limit of a delivery', async (text) => {
    const [yaml, bad] = [300_000, '5m'].map((ms) =>
      text.replace('pubsubname: events', `pubsubname: events${text === v1 ? ',' : '\n '} timeoutMs: ${ms}`),
    );
    const { options } = await load(yaml ?? '');
    expect(options.subscriptions).toMatchObject([{ topic: 'placed', timeout: 300_000 }]);
    expect(await problemsOf(bad ?? '')).toMatchObject([expect.stringContaining('spec.timeoutMs must be integer')]);
  });

  test('a version has only its own fields', async () => {
    expect(await problemsOf(v1.replace('route: /first', 'routes: {default: /first}'))).toEqual([
      'a.yaml:4:7 (document 1): spec.route is missing',
      'a.yaml:4:43 (document 1): unknown field spec.routes; did you mean "route"?',
    ]);
  });

  test('it is for every namespace', async () => {
    const { options } = await load(v1.replace('name: first', 'name: first, namespace: far'), { namespace: 'near' });
    expect(options.subscriptions).toHaveLength(1);
  });

  test('a later one replaces an earlier one of the same name', async () => {
    const { options, notes } = await load(documents(v1, v1.replace('/first', '/again')));
    expect(options.subscriptions.map(({ route }) => route)).toEqual(['/again']);
    expect(notes.map(({ message }) => message)).toEqual(['it replaces an earlier Subscription named "first"']);
  });

  test('it is delivered as if it were given in options', async () => {
    const { options } = await load(documents(v1, component('events', 'pubsub.in-memory')));
    const paths: string[] = [];
    const app = (request: Request): Response => {
      paths.push(new URL(request.url).pathname);
      return new Response(null, { status: paths.at(-1) === '/sidecar/subscribe' ? 404 : 200 });
    };
    await using sidecar = new Sidecar({ appId: 'orders', app: { fetch: app }, ...options });
    await sidecar.start();
    await sidecar.pubsub.publish('events', 'placed', 1);
    await expect.poll(() => paths, PATIENCE).toContain('/first');
  });

  test('a rule that cannot be used is a problem, with its line', async () => {
    const yaml = `apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata: {name: first}
spec:
  pubsubname: events
  topic: placed
  routes:
    rules:
      - {match: event.type == "a", path: /a}
      - {match: event.type ==, path: /b}
`;
    expect(await problemsOf(yaml)).toEqual([
      expect.stringMatching(/^a\.yaml:10:17 \(document 1\): spec\.routes\.rules\[1\]\.match: /),
    ]);
  });
});

describe('HTTPEndpoint', () => {
  const endpoint = `apiVersion: dapr.io/v1alpha1
kind: HTTPEndpoint
metadata: {name: github}
spec:
  baseUrl: https://api.github.com
  headers:
  - {name: accept, value: application/json}
  - {name: authorization, envRef: GITHUB_TOKEN}
  clientTLS:
    rootCA: {value: PEM}
    certificate: {envRef: CERTIFICATE}
    renegotiation: RenegotiateNever
`;
  const environment = { GITHUB_TOKEN: 'Bearer x', CERTIFICATE: 'PEM 2' };

  test('it is read with what is in the environment', async () => {
    const { options } = await load(endpoint, { environment });
    expect(options.httpEndpoints).toEqual([
      {
        name: 'github',
        baseUrl: 'https://api.github.com',
        headers: { accept: 'application/json', authorization: 'Bearer x' },
        clientTLS: { rootCA: 'PEM', certificate: 'PEM 2' },
      },
    ]);
  });

  test('what is missing in the environment is told with its place', async () => {
    expect(await problemsOf(endpoint, { environment: {} })).toEqual([
      'a.yaml:8:35 (document 1): spec.headers[1].envRef: environment variable GITHUB_TOKEN is not set',
      'a.yaml:11:27 (document 1): spec.clientTLS.certificate.envRef: environment variable CERTIFICATE is not set',
    ]);
  });

  test.each(['ftp://host', 'host:80', 'http://user:pass@host', 'http://host/?a=b'])(
    'its baseUrl is not %s',
    async (url) => {
      const [problem = ''] = await problemsOf(endpoint.replace('https://api.github.com', url), { environment });
      expect(problem).toMatch(/^a\.yaml:5:12 \(document 1\): spec\.baseUrl /);
    },
  );
});

describe('Configuration', () => {
  const configuration = (spec: string): string =>
    `apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: config}\nspec:\n${spec}`;
  const accessControl = `  accessControl:
    defaultAction: deny
    policies:
    - {appId: mail, namespace: default, trustDomain: public, operations: [{name: /orders/*, httpVerb: [GET], action: allow}]}
`;

  test.each([
    ['allowed: []', {}],
    ['allowed: [], denied: [{name: jobs}]', { denied: [{ name: 'jobs' }] }],
    ['denied: []', { denied: [] }],
  ])('an empty list of allowed parts allows all of them, as with Dapr: %s', async (lists, api) => {
    const { options } = await load(configuration(`  api: {${lists}}\n`));
    expect(options.api).toEqual(api);
    expect(() => new Sidecar({ appId: 'orders', ...options })).not.toThrow();
  });

  test('what it says is passed on as it is', async () => {
    const spec = `${accessControl}  api: {denied: [{name: jobs, version: v1.0-alpha1, protocol: http}]}
  nameResolution: {component: static, configuration: {mail: 'http://10.0.0.1:3500'}}
  features: [{name: One, enabled: true}, {name: Two, enabled: false}]
`;
    const loaded = await load(configuration(spec));
    expect(loaded.options.accessControl?.policies).toEqual([
      {
        appId: 'mail',
        namespace: 'default',
        trustDomain: 'public',
        operations: [{ name: '/orders/*', httpVerb: ['GET'], action: 'allow' }],
      },
    ]);
    expect(loaded.options.api).toEqual({ denied: [{ name: 'jobs', version: 'v1.0-alpha1', protocol: 'http' }] });
    expect(loaded.options.nameResolution).toEqual({ static: { mail: 'http://10.0.0.1:3500' } });
    expect([loaded.features, loaded.options.dapr?.features]).toEqual([['One'], ['One']]);
    await using sidecar = new Sidecar({ appId: 'orders', ...loaded.options });
    await sidecar.start();
    expect(sidecar.metadata.get().enabledFeatures).toEqual(['One']);
  });

  test.each([
    [
      '{component: dns, configuration: {template: "{appId}.local", port: 3500}}',
      { template: '{appId}.local', port: 3500 },
    ],
    [
      '{component: nameformat, configuration: {format: "x-{appid}.local:80"}}',
      { template: 'x-{appId}.local', port: 80 },
    ],
  ])('nameResolution %s finds by DNS', async (spec, dns) => {
    const { options } = await load(configuration(`  nameResolution: ${spec}`));
    expect(options.nameResolution).toEqual({ dns });
  });

  test('how Dapr finds applications is noted: here it is another way', async () => {
    const { options, notes } = await load(configuration('  nameResolution: {component: mdns}'));
    expect(options).not.toHaveProperty('nameResolution');
    expect(notes.map(({ message }) => message)).toEqual([
      'name resolution mdns has no use here: sidecars that share their state find each other',
    ]);
  });

  test.each([
    ['{component: statc}', /^a\.yaml:5:31 .*did you mean "static"\?$/],
    ['{component: static, configuration: {mail: ftp://x}}', /^a\.yaml:5:54 .*spec\.nameResolution\.static\.mail/],
    ['{component: dns, configuration: {template: local, port: 1}}', /^a\.yaml:5:51 .*"local": expected a host name/],
    ['{component: nameformat, configuration: {format: "{appid}"}}', /^a\.yaml:5:58 .*dns\.port/],
  ])('nameResolution %s is refused', async (spec, expected) => {
    expect(await problemsOf(configuration(`  nameResolution: ${spec}`))).toEqual([expect.stringMatching(expected)]);
  });

  test('sections without a use are noted, once each', async () => {
    const { problems, notes } = await findingsOf({
      'a.yaml': configuration('  mtls: {enabled: true}\n  logging: {}\n'),
    });
    expect(problems).toEqual([]);
    expect(notes).toEqual([
      'a.yaml:5:3 (document 1): spec.mtls has no use here',
      'a.yaml:6:3 (document 1): spec.logging has no use here',
    ]);
  });

  test('a section that nobody knows is refused', async () => {
    expect(await problemsOf(configuration('  acessControl: {}'))).toEqual([
      'a.yaml:5:3 (document 1): unknown field spec.acessControl; did you mean "accessControl"?',
    ]);
  });

  test('a policy that can never be meant is refused at its place', async () => {
    expect(await problemsOf(configuration(accessControl.replace('GET', 'GTE')))).toEqual([
      expect.stringMatching(
        /^a\.yaml:6:5 \(document 1\): spec\.accessControl\.policies\.0\.operations\.0\.httpVerb has "GTE"/,
      ),
    ]);
  });

  test('an operation that allows nothing is noted at its place', async () => {
    const hidden = accessControl.replace('operations: [', 'operations: [{name: /**, httpVerb: ["*"], action: deny}, ');
    const { notes } = await load(configuration(hidden));
    expect(notes.map(formatFinding)).toEqual([
      expect.stringMatching(
        /a\.yaml:6:5 \(document 1\): spec\.accessControl\.policies\.0\.operations\.1 \("\/orders\/\*"\) allows nothing/,
      ),
    ]);
  });

  test('which of two is meant is not guessed', async () => {
    const second = configuration(accessControl).replace('name: config', 'name: other');
    expect(await problemsOf(documents(configuration(accessControl), second))).toEqual([
      'a.yaml:13:18 (document 2): Configuration "other" comes beside "config": ' +
        'name the file of the one to use (--config, option configPaths)',
    ]);
  });

  test('files that are named for it replace those in directories, section by section, variables filled in', async () => {
    const directory = await directoryWith({
      'one.yml': configuration(`${accessControl}  features: [{name: $FEATURE, enabled: true}]`),
      'two.yml': configuration(`  features: [{name: "$\{FEATURE}-2$NONE$DAPR_API_TOKEN", enabled: true}]`),
    });
    const { options, features, notes } = await load(configuration('  features: [{name: not, enabled: true}]'), {
      configPaths: [`${directory}/one.yml`, `${directory}/two.yml`],
      environment: { FEATURE: 'x: [', DAPR_API_TOKEN: 'secret' },
    });
    expect(features).toEqual(['x: [-2']);
    expect(options.accessControl?.defaultAction).toBe('deny');
    expect(notes.map(({ message }) => message)).toEqual([
      'this Configuration is not used: another file is named for it',
    ]);
  });

  test('a file that is named for it and has none is a problem: everything would be allowed', async () => {
    const directory = await directoryWith({ 'one.yml': '# later', 'two.yml': component('events', 'pubsub.in-memory') });
    for (const name of ['one.yml', 'two.yml'])
      await expect(load('', { configPaths: [join(directory, name)] })).rejects.toThrow(
        'there is no Configuration in it',
      );
  });

  test('a message shows a variable as it is written', async () => {
    const directory = await directoryWith({ 'one.yml': configuration('  accessControl: {defaultAction: $SECRET}') });
    const loading = load('', { configPaths: [`${directory}/one.yml`], environment: { SECRET: 'hush' } });
    await expect(loading).rejects.toThrow('accessControl.defaultAction is "$SECRET": expected');
  });
});

describe('Resiliency', () => {
  const resiliency = (name: string, retries: string, targets = '{}'): string => `apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: ${name}}
spec:
  policies:
    retries:
      ${retries}
  targets:
    apps: ${targets}
`;

  test('all of them are one', async () => {
    const yaml = documents(
      resiliency('one', 'fast: {policy: constant, duration: 1s, maxRetries: 3}', '{mail: {retry: slow}}'),
      resiliency('two', 'slow: {duration: 1m}', '{stock: {retry: fast}}'),
    );
    const { options } = await load(yaml);
    expect(options.resiliency).toEqual({
      policies: { retries: { fast: { policy: 'constant', duration: '1s', maxRetries: 3 }, slow: { duration: '1m' } } },
      targets: { apps: { mail: { retry: 'slow' }, stock: { retry: 'fast' } } },
    });
  });

  test('a name that two of them define is refused', async () => {
    const yaml = documents(resiliency('one', 'fast: {duration: 1s}'), resiliency('two', 'fast: {duration: 2s}'));
    expect(await problemsOf(yaml)).toEqual(['a.yaml:18:7 (document 2): spec.policies.retries.fast is defined twice']);
  });

  test('a policy that is nowhere is refused', async () => {
    const [problem = ''] = await problemsOf(resiliency('one', 'fast: {duration: 1s}', '{mail: {retry: fats}}'));
    expect(problem).toMatch(/^a\.yaml:5:3 \(document 1\): spec\.targets\.apps.*"fats"/);
  });

  test('what is wrong in the second file is reported there', async () => {
    const { problems } = await findingsOf({
      'a.yaml': resiliency('one', 'fast: {duration: 1s}'),
      'b.yaml': resiliency('two', 'slow: {duration: 1m}', '{mail: {retry: fats}}'),
    });
    expect(problems).toEqual([expect.stringMatching(/^b\.yaml:5:3 \(document 1\): spec\.targets\.apps.*"fats"/)]);
  });

  test('policies may have the names of prototypes', async () => {
    const { options } = await load(resiliency('one', '__proto__: {duration: 1s}', '{constructor: {retry: __proto__}}'));
    expect(Object.keys(options.resiliency?.policies?.retries ?? {})).toEqual(['__proto__']);
    expect(Object.keys(options.resiliency?.targets?.apps ?? {})).toEqual(['constructor']);
  });

  test('one for another app is not looked at further', async () => {
    const yaml = `${resiliency('one', 'fast: {duration: 1s}', '{mail: {retry: fats}}')}scopes: [other]\n`;
    expect(await problemsOf(yaml)).toEqual([]);
  });
});
