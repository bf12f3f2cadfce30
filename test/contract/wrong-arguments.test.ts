/** Every call in code refuses a wrong argument in one form: `ERR_INVALID_ARGUMENT`, with its path, at the caller's line. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { postgresqlDdl, postgresqlState } from '../../src/components/postgresql/index.ts';
import { redisState } from '../../src/components/redis/index.ts';
import * as insidecar from '../../src/index.ts';
import * as kit from '../../src/kit/index.ts';
import * as testing from '../../src/testing/index.ts';

const HERE = fileURLToPath(import.meta.url);
const { defineEvent, defineJob, defineTopic, defineWorkflow, memoryPubSub, runUntilSignal, Sidecar } = insidecar;
const { replaceActivities, virtualClock } = testing;

class Counter extends insidecar.Actor {
  add(amount: number): number {
    return amount;
  }
}

const fn = (): undefined => undefined;
const map = new Map();
const topic = defineTopic('orders', { pubsub: 'p' });
const jobs = defineJob('reminder-*', fn);
const daily = defineJob('daily', { schedule: '@daily' }, fn);
const waiting = defineWorkflow('waiting', (ctx) => ctx.waitForEvent('end'));
const queue = { pubsubName: 'p', topic: 't', group: 'shop' };
const LONG = 'x'.repeat(300);

/** What a program in JavaScript may hand over, and the path of what is wrong in it. */
type Wrong = readonly [argument: string, ...given: readonly unknown[]];

const DEFINITIONS: Readonly<Record<string, readonly Wrong[]>> = {
  defineTopic: [
    ['name', ''],
    ['options', 't', 5],
    ['options.x', 't', { x: 1 }],
    ['options.schema', 't', { schema: 1 }],
    ['options.pubsub', 't', { pubsub: 1 }],
  ],
  defineSubscription: [
    ['topic', 'orders', fn],
    ['handler', topic],
    ['handler', topic, fn, {}],
    ['options.x', topic, { x: 1 }, fn],
    ['options.retry.delay', topic, { retry: { delay: 'soon' } }, fn],
    ['options.retry.x', topic, { retry: { x: 1 } }, fn],
  ],
  defineJob: [
    ['name', undefined, fn],
    ['handler', 'x'],
    ['handler', 'x', {}],
    ['handler', 'x', fn, {}],
    ['options.x', 'x', { x: 1 }, fn],
    ['options.timeout', 'x', { timeout: 'soon' }, fn],
    ['options.retry.maxRetries', 'x', { retry: { maxRetries: -1 } }, fn],
    ['options.schema', 'x', { schema: 1 }, fn],
    ['options.schedule', 'x', { data: 1 }, fn],
    ['options.failurePolicy', 'x', { failurePolicy: {} }, fn],
    ['name', 'x-*', { schedule: '@daily' }, fn],
  ],
  defineEvent: [
    ['name', ''],
    ['options', 'e', null],
    ['options.x', 'e', { x: 1 }],
    ['options.schema', 'e', { schema: 1 }],
  ],
  defineWorkflow: [
    ['name', 5, fn],
    ['run', 'w'],
  ],
  defineActivity: [
    ['name', LONG, fn],
    ['run', 'a'],
    ['run', 'a', fn, {}],
    ['options.x', 'a', { x: 1 }, fn],
    ['options.timeout', 'a', { timeout: 'soon' }, fn],
    ['options.retry.factor', 'a', { retry: { factor: 0 } }, fn],
    ['options.input', 'a', { input: 1 }, fn],
    ['options.output', 'a', { output: 1 }, fn],
  ],
  parseDuration: [['text', 'soon']],
  runUntilSignal: [
    ['sidecar', undefined],
    ['sidecar', 'shop'],
    ['sidecar', { close: fn }],
  ],
};
/** Of `insidecar/kit`. */
const KIT: Readonly<Record<string, readonly Wrong[]>> = {
  defineBinding: [
    ['name', undefined, { read: fn }],
    ['name', '', { read: fn }],
    ['parts', 'sms'],
    ['parts', 'sms', {}],
    ['parts.x', 'sms', { read: fn, x: 1 }],
    ['parts.operations', 'sms', { operations: {} }],
    ['parts.operations', 'sms', { operations: { create: 5 } }],
    ['parts.read', 'sms', { read: 'x' }],
    ['parts.route', 'sms', { read: fn, route: 'sms' }],
  ],
};

/** Of `insidecar/testing`. */
const TESTING: Readonly<Record<string, readonly Wrong[]>> = {
  testRequest: [
    ['method'],
    ['method', '/v1.0/metadata', 'GET'],
    ['method', 'get', '/v1.0/metadata'],
    ['url', 'GET'],
    ['url', 'GET', 'v1.0/metadata'],
    ['url', 'GET', 'http://127.0.0.1:3500/v1.0/metadata'],
    ['options', 'POST', '/v1.0/metadata', 'body'],
    ['options.x', 'POST', '/v1.0/metadata', { x: 1 }],
    ['options.headers', 'POST', '/v1.0/metadata', { headers: 'a: b' }],
    ['options.headers', 'POST', '/v1.0/metadata', { headers: new Headers({ a: 'b' }) }],
    ['options.headers', 'POST', '/v1.0/metadata', { headers: { a: 5 } }],
    ['options.body', 'POST', '/v1.0/metadata', { body: map }],
    ['options.signal', 'POST', '/v1.0/metadata', { signal: 1 }],
  ],
};

const publishing = (data: unknown): readonly Wrong[] => [
  ['topic', 'p', undefined, data],
  ['topic', 'p', '', data],
  ['topic', { id: 1 }, data],
  ['options', 'p', 't', data, 5],
  ['options.x', 'p', 't', data, { x: 1 }],
  ['options.ttl', 'p', 't', data, { ttl: 'soon' }],
  ['options.key', 'p', 't', data, { key: '' }],
  ['options.metadata', 'p', 't', data, { metadata: { a: 1 } }],
];
const subscribing: readonly Wrong[] = [
  ['topic', 'p', undefined, fn],
  ['topic', 'p', '', fn],
  ['topic', { id: 1 }, fn],
  ['pubsubName', 5, 't', fn],
  ['handler', 'p', 't'],
  ['handler', topic],
  ['options', 'p', 't', fn, 5],
  ['options.x', 'p', 't', fn, { x: 1 }],
  ['options.concurrency', 'p', 't', fn, { concurrency: 0 }],
  ['options.timeout', 'p', 't', fn, { timeout: 'soon' }],
  ['options.group', 'p', 't', fn, { group: 'a b' }],
  ['options.deadLetterTopic', 'p', 't', fn, { deadLetterTopic: 't' }],
  ['options.order', 'p', 't', fn, { order: 'x' }],
  ['options.perKey', 'p', 't', fn, { perKey: 2, order: 'key' }],
  ['options.rate.per', 'p', 't', fn, { rate: { max: 1 } }],
  ['options.retry.maxRetries', 'p', 't', fn, { retry: { maxRetries: -1 } }],
];
const filtering: readonly Wrong[] = [
  ['filter', 5],
  ['filter', null],
  ['filter.x', { x: 1 }],
  ['filter.topic', { topic: 5 }],
  ['filter.since', { since: 'soon' }],
];
const ofQueue = (...rest: readonly unknown[]): readonly Wrong[] => [
  ['queue', undefined, ...rest],
  ['queue.group', { ...queue, group: undefined }, ...rest],
  ['queue.topic', { ...queue, topic: 5 }, ...rest],
];
const ofJob: readonly Wrong[] = [
  ['name', undefined],
  ['name', ''],
  ['name', waiting],
  ['name', ' x'],
  ['id', jobs],
  ['id', daily, 'x'],
  ['id', 'daily', 'x'],
];
const ofInstance: readonly Wrong[] = [
  ['instanceId', undefined],
  ['instanceId', 5],
];
const inBulk: readonly Wrong[] = [
  ['filter', undefined],
  ['filter', {}],
  ['filter.x', { x: 1 }],
  ['filter.status', { status: 'over' }],
  ['filter.name', { name: 5 }],
  ['filter.limit', { name: 'a', limit: 0 }],
];
const listing = (name: string): readonly Wrong[] => [
  ['options', null],
  ['options.x', { x: 1 }],
  [`options.${name}`, { [name]: 5 }],
];
const ofActor = (...rest: readonly unknown[]): readonly Wrong[] => [
  ['type', undefined, 'a', ...rest],
  ['id', 'Counter', '', ...rest],
];
const ofKey = (...rest: readonly unknown[]): readonly Wrong[] => [
  ['key', 'store', undefined, ...rest],
  ['key', 'store', 'a||b', ...rest],
];
const writing = (...rest: readonly unknown[]): readonly Wrong[] => [
  ...ofKey(...rest),
  ['options', 'store', 'k', ...rest, 5],
  ['options.x', 'store', 'k', ...rest, { x: 1 }],
];

/** By block and method. */
const CALLS: Readonly<Record<string, Readonly<Record<string, readonly Wrong[]>>>> = {
  pubsub: {
    publish: [
      ...publishing(1),
      ['data', 'p', 't', map],
      ['data', 'p', 't', fn],
      ['options.contentType', 'p', 't', 1, { contentType: 5 }],
    ],
    publishBulk: [
      ...publishing([]),
      ['entries', 'p', 't', 5],
      ['entries.0', 'p', 't', [5]],
      ['entries.0.x', 'p', 't', [{ entryId: '1', event: 1, x: 1 }]],
      [
        'entries.1.key',
        'p',
        't',
        [
          { entryId: '1', event: 1 },
          { entryId: '2', event: 1, key: 5 },
        ],
      ],
      [
        'entries',
        'p',
        't',
        [
          { entryId: '1', event: 1 },
          { entryId: '1', event: 1 },
        ],
      ],
    ],
    subscribe: subscribing,
    subscribeBulk: [
      ...subscribing,
      ['options.maxMessagesCount', 'p', 't', fn, { maxMessagesCount: 0 }],
      ['options.maxAwaitDuration', 'p', 't', fn, { maxAwaitDuration: 'soon' }],
    ],
    explain: [
      ['topic', 'p', '', 1],
      ['options.x', 'p', 't', 1, { x: 1 }],
    ],
    deadLetters: filtering,
    discardAll: filtering,
    redeliverAll: [
      ...filtering,
      ['options', {}, 5],
      ['options.x', {}, { x: 1 }],
      ['options.to.group', {}, { to: { topic: 'x' } }],
    ],
  },
  'pubsub.queues': {
    list: listing('topic'),
    messages: [...ofQueue(), ['options.x', queue, { x: 1 }], ['options.state', queue, { state: 'x' }]],
    messagesPage: [...ofQueue(), ['options.limit', queue, { limit: 0 }], ['options.cursor', queue, { cursor: 5 }]],
    message: [...ofQueue('k'), ['key', queue]],
    redeliver: [
      ...ofQueue('all'),
      ['selection', queue],
      ['selection', queue, [5]],
      ['selection.x', queue, { x: 1 }],
      ['options.to.topic', queue, 'all', { to: {} }],
      ['options.data', queue, 'all', { data: 1 }],
    ],
    discard: [...ofQueue('all'), ['selection', queue, 5]],
    ...Object.fromEntries(['purge', 'pause', 'resume', 'addGroup', 'removeGroup'].map((name) => [name, ofQueue()])),
  },
  jobs: {
    ...Object.fromEntries(['get', 'run', 'pause', 'resume', 'delete'].map((name) => [name, ofJob])),
    register: [
      ['job', fn],
      ['job', waiting],
      ['options.schedule', defineJob('x', { schedule: '30 2 * * *' }, fn)],
      ['options.dueTime', defineJob('x', { schedule: '@daily', dueTime: 'soon' }, fn)],
      ['options.data', defineJob('x', { schedule: '@daily', data: map } as never, fn)],
    ],
    schedule: [
      ...ofJob
        .map(([argument, job, id]) => [argument, job, { dueTime: '1h', ...(id !== undefined && { id }) }] as Wrong)
        .slice(0, 4),
      ['id', jobs, { dueTime: '1h' }],
      ['job', daily, { dueTime: '1h' }],
      ['options', 'x'],
      ['options', 'x', null],
      ['options.schedule', 'x', {}],
      ['options.schedule', 'x', { schedule: '30 2 * * *' }],
      ['options.schedule', 'x', { schedule: 5 }],
      ['options.dueTime', 'x', { dueTime: 'tomorrow' }],
      ['options.ttl', 'x', { dueTime: '1h', ttl: '5m' }],
      ['options.repeats', 'x', { dueTime: '1h', repeats: -1 }],
      ['options.repeats', 'x', { dueTime: '1h', repeats: 2 }],
      ['options.data', 'x', { dueTime: '1h', data: map }],
      ['options.ifExists', 'x', { dueTime: '1h', ifExists: 'x' }],
      ['options.overwrite', 'x', { dueTime: '1h', overwrite: true }],
      ['options.failurePolicy', 'x', { dueTime: '1h', failurePolicy: {} }],
      ['options.retry', 'x', { dueTime: '1h', retry: 5 }],
      ['options.retry.delay', 'x', { dueTime: '1h', retry: { delay: 'soon' } }],
      ['options.retry.retryIf', 'x', { dueTime: '1h', retry: { retryIf: fn } }],
    ],
    list: listing('prefix'),
    listPage: [...listing('prefix'), ['options.limit', { limit: 0 }]],
  },
  workflows: {
    ...Object.fromEntries(
      ['get', 'cancel', 'terminate', 'pause', 'resume', 'purge', 'history'].map((name) => [name, ofInstance]),
    ),
    run: [...ofInstance, ['workflow', 5, 'a']],
    rerun: [
      ...ofInstance,
      ['options.x', 'a', { x: 1 }],
      ['options.from', 'a', { from: 'x' }],
      ['options.instanceId', 'a', { instanceId: 'a b' }],
      ['input', 'a', { input: map }],
    ],
    raiseEvent: [
      ['instanceId', undefined, 'end'],
      ['event', 'a'],
      ['event', 'a', ''],
      ['event', 'a', jobs],
      ['data', 'a', 'end', map],
    ],
    start: [
      ['workflow', undefined],
      ['workflow', ''],
      ['workflow', LONG],
      ['input', waiting, map],
      ['options', waiting, 1, 5],
      ['options.x', waiting, 1, { x: 1 }],
      ['options.instanceId', waiting, 1, { instanceId: 'a b' }],
      ['options.instanceId', waiting, 1, { instanceId: 5 }],
      ['options.instanceId', waiting, 1, { instanceId: LONG }],
      ['options.ifExists', waiting, 1, { ifExists: 'x' }],
      ['options.startAt', waiting, 1, { startAt: 'soon' }],
    ],
    cancelAll: inBulk,
    purgeAll: inBulk,
    terminateAll: [...inBulk, ['output', { name: 'a' }, map]],
    rerunAll: [...inBulk, ['options.from', { name: 'a' }, { from: 'x' }]],
    list: listing('name'),
    listPage: [...listing('name'), ['options.limit', { limit: 0 }], ['options.cursor', { cursor: 'a b' }]],
    register: [
      ['definitions', fn],
      ['definitions', jobs],
      ['name', '', fn],
      ['run', 'x'],
    ],
    registerActivity: [
      ['name', undefined],
      ['run', 'x'],
    ],
    registeredActivity: [
      ['activity', undefined],
      ['activity', 'other'],
    ],
    replaceActivity: [
      ['activity', undefined, fn],
      ['run', 'x'],
    ],
    replaceWorkflow: [
      ['workflow', undefined, fn],
      ['run', 'x'],
    ],
  },
  actors: {
    register: [
      ['actorClass', undefined],
      ['actorClass', class {}],
      ['options.x', Counter, { x: 1 }],
      ['options.type', Counter, { type: '' }],
      ['options.idleTimeout', Counter, { idleTimeout: 'soon' }],
    ],
    get: [['actor', undefined, 'a']],
    call: [
      ...ofActor({ method: 'add' }),
      ['options', 'Counter', 'a'],
      ['options.x', 'Counter', 'a', { method: 'add', x: 1 }],
      ['options.signal', 'Counter', 'a', { method: 'add', signal: 1 }],
      ['method', 'Counter', 'a', {}],
      ['body', 'Counter', 'a', { method: 'add', body: map }],
    ],
    state: ofActor(),
  },
  'actors.reminders': {
    ...Object.fromEntries(
      ['get', 'run', 'delete'].map((name) => [name, [...ofActor('r'), ['name', 'Counter', 'a'] as Wrong]]),
    ),
    list: listing('type'),
    listPage: [...listing('type'), ['options.limit', { limit: 0 }], ['options.id', { id: 'a' }]],
  },
  bindings: {
    invoke: [
      ['name', undefined, { operation: 'get' }],
      ['call', 'hook'],
      ['call.operation', 'hook', {}],
      ['call.x', 'hook', { operation: 'get', x: 1 }],
      ['call.metadata', 'hook', { operation: 'get', metadata: { a: 1 } }],
      ['call.data', 'hook', { operation: 'get', data: map }],
      ['call.signal', 'hook', { operation: 'get', signal: 1 }],
    ],
    on: [
      ['handler', 'tick'],
      ['name', 'hook', fn],
      ['name', undefined, fn],
      ['options.x', 'tick', fn, { x: 1 }],
      ['options.timeout', 'tick', fn, { timeout: 'soon' }],
    ],
  },
  configuration: Object.fromEntries(
    ['get', 'watch'].map((name) => [
      name,
      [
        ['keys', 'settings', 'level'],
        ['options', 'settings', [], 5],
        ['options.x', 'settings', [], { x: 1 }],
        ['options.metadata', 'settings', [], { metadata: 5 }],
      ] as Wrong[],
    ]),
  ),
  locks: {
    tryLock: [
      ['options', 'locks', 'r'],
      ['options.ttl', 'locks', 'r', {}],
      ['options.x', 'locks', 'r', { ttl: '1s', x: 1 }],
      ['options.owner', 'locks', 'r', { ttl: '1s', owner: '' }],
      ['resource', 'locks', 'a||b', { ttl: '1s' }],
    ],
    unlock: [
      ['resource', 'locks', undefined, 'me'],
      ['owner', 'locks', 'r'],
    ],
  },
  secrets: {
    get: [
      ['name', 'env', ''],
      ['options.x', 'env', 'A', { x: 1 }],
      ['options.metadata', 'env', 'A', { metadata: 5 }],
    ],
    all: [
      ['options', 'env', 5],
      ['options.x', 'env', { x: 1 }],
    ],
  },
  state: {
    get: ofKey(),
    getMany: [
      ['keys', 'store', 5],
      ['keys', 'store', [5]],
    ],
    set: [...writing(1), ['value', 'store', 'k', map], ['options.ttl', 'store', 'k', 1, { ttl: 'soon' }]],
    delete: [...writing(), ['options.etag', 'store', 'k', { etag: 5 }]],
    update: [...writing(fn), ['change', 'store', 'k'], ['options.maxAttempts', 'store', 'k', fn, { maxAttempts: 0 }]],
    transact: [['operations', 'store', 5]],
    query: [['query', 'store', { filter: { EQ: 5 } }]],
  },
  invocation: {
    invoke: [
      ['target', undefined, 'x'],
      ['target', 'http://', 'x'],
      ['path', 'b'],
      ['path', 'b', '../x'],
      ['init', 'b', 'POST', 'charge'],
      ['options.x', 'b', 'x', { x: 1 }],
      ['options.method', 'b', 'x', { method: 5 }],
      ['options.headers', 'b', 'x', { headers: 5 }],
      ['options.headers', 'shop', 'x', { headers: { 'a b': '1' } }],
      ['options.signal', 'b', 'x', { signal: 1 }],
    ],
  },
  metadata: {
    set: [
      ['name', undefined, 'x'],
      ['value', 'a', 5],
    ],
  },
  events: {
    ...Object.fromEntries(
      ['on', 'once', 'off'].map((name) => [
        name,
        [
          ['listener', 'messagePublished'],
          ['name', 'messagePublishd', fn],
          ['name', undefined, fn],
        ] as Wrong[],
      ]),
    ),
  },
};

/** Takes nothing that could be wrong, or is for the sidecar itself. */
const WITHOUT_ARGUMENTS = ['pubsub.subscriptions', 'actors.types', 'actors.active', 'metadata.get'];
const INTERNAL = [
  ...['pubsub.attach', 'jobs.inspect', 'jobs.scheduleText', 'actors.inspectState', 'actors.reminders.inspect'],
  ...['invocation.forward', 'invocation.stop', 'invocation.close'],
];

const { cronBinding, durableLocks, durablePubSub, environmentSecrets, httpBinding } = insidecar;
const { keyValueStore, memoryConfiguration } = insidecar;
const sidecar = new Sidecar({
  appId: 'shop',
  app: { listener: (_req: unknown, res: { end(): void }) => res.end() },
  components: [
    ...[durablePubSub('p'), durableLocks('locks'), keyValueStore('store'), environmentSecrets('env')],
    ...[memoryConfiguration('settings'), httpBinding('hook', { url: 'http://127.0.0.1:1' })],
    cronBinding('tick', { schedule: '@every 1h' }),
  ],
  logger: 'silent',
});
beforeAll(async () => {
  sidecar.register(waiting);
  await sidecar.start();
});
afterAll(() => sidecar.stop());

type Loose = Readonly<Record<string, (...given: readonly unknown[]) => unknown>>;

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    const answer: unknown = await call();
    if (Symbol.asyncIterator in Object(answer)) await (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
    return undefined;
  } catch (error) {
    return error;
  }
}

async function checkRefused(call: () => unknown, argument: string): Promise<void> {
  const error = await errorOf(call);
  expect(error).toMatchObject({ name: 'SidecarError', code: 'ERR_INVALID_ARGUMENT', argument, status: 400 });
  expect((error as Error).stack).toContain(HERE);
}

function block(path: string): Loose {
  return path.split('.').reduce<unknown>((parent, name) => Object(parent)[name], sidecar) as Loose;
}

function tableOf(calls: Readonly<Record<string, readonly Wrong[]>>): [string, string, readonly unknown[]][] {
  return Object.entries(calls).flatMap(([name, wrong]) =>
    wrong.map(([argument, ...given]): [string, string, readonly unknown[]] => [name, argument, given]),
  );
}

describe.each(Object.entries(CALLS))('%s', (path, calls) => {
  test.each(tableOf(calls))('%s refuses a wrong %s: %j', async (name, argument, given) => {
    await checkRefused(() => block(path)[name]?.(...given), argument);
  });
});

describe('functions', () => {
  test.each(tableOf(DEFINITIONS))('%s refuses a wrong %s: %j', async (name, argument, given) => {
    await checkRefused(() => (insidecar as unknown as Loose)[name]?.(...given), argument);
  });

  test.each(tableOf(KIT))('%s of the kit refuses a wrong %s: %j', async (name, argument, given) => {
    await checkRefused(() => (kit as unknown as Loose)[name]?.(...given), argument);
  });

  test.each(tableOf(TESTING))('%s for tests refuses a wrong %s: %j', async (name, argument, given) => {
    await checkRefused(() => (testing as unknown as Loose)[name]?.(...given), argument);
  });

  test('register refuses what is none', async () => {
    const created = new Sidecar({ appId: 'shop', components: [memoryPubSub('p')] });
    await checkRefused(() => created.register(fn as never), 'definitions');
    expect(() => created.register([topic] as never)).toThrow('each as an argument: register(...list)');
    await checkRefused(() => created.register(defineJob('x', { schedule: 'daily' }, fn)), 'options.schedule');
  });
});

describe('a run of a workflow', () => {
  test.each<readonly [argument: string, name: string, given: readonly unknown[]]>([
    ['event', 'raise', []],
    ['event', 'raise', ['']],
    ['data', 'raise', [defineEvent('end'), map]],
    ['options', 'result', [5]],
    ['options.timeout', 'ended', [{ timeout: 'soon' }]],
    ['output', 'terminate', [map]],
  ])('refuses a wrong %s of %s: %j', async (argument, name, given) => {
    const run = (await sidecar.workflows.start(waiting)) as unknown as Loose;
    await checkRefused(() => run[name]?.(...given), argument);
  });

  test('refuses the instance of another workflow', async () => {
    const { instanceId } = await sidecar.workflows.start(waiting);
    const run = sidecar.workflows.run(
      defineWorkflow('other', async () => 1),
      instanceId,
    );
    await checkRefused(() => run.state(), 'workflow');
  });
});

test('the functions for tests refuse a wrong argument', async () => {
  await checkRefused(() => virtualClock().advance('soon' as never), 'by');
  await checkRefused(() => virtualClock({ gracePeriod: 'soon' as never }), 'options.gracePeriod');
  await checkRefused(() => replaceActivities(sidecar, ['other', fn]), 'activity');
  await checkRefused(() => replaceActivities(sidecar, { other: fn } as never), 'replacements.0');
});

test('runUntilSignal refuses what has no close, before it waits', async () => {
  await checkRefused(() => runUntilSignal(sidecar, fn as never), 'servers.0');
  await checkRefused(() => runUntilSignal(sidecar, { close: fn }, undefined as never), 'servers.1');
});

test.each([
  [{ state: 5 }, 'options.state'],
  [{ api: { allowed: [] } }, 'options.api.allowed'],
  [{ stopTimeout: 'soon' }, 'options.stopTimeout'],
  [{ appId: undefined }, 'options.appId'],
])('a wrong option %j of the sidecar has its path', (options, argument) => {
  expect(() => new Sidecar({ appId: 'shop', ...options } as never)).toThrow(
    expect.objectContaining({ code: 'ERR_CONFIGURATION', argument }),
  );
});

test.each<readonly [make: (options: never) => unknown, options: unknown, argument: string]>([
  [embeddedState, undefined, 'options'],
  [embeddedState, {}, 'options.path'],
  [embeddedState, { path: '' }, 'options.path'],
  [embeddedState, { path: './x', sync: true }, 'options.sync'],
  [postgresqlState, {}, 'options.url'],
  [postgresqlState, 'db.internal', 'options.url'],
  [postgresqlState, { url: { port: '5432' } }, 'options.url.port'],
  [postgresqlState, { url: 'postgresql://h/d', callTimeout: 'soon' }, 'options.callTimeout'],
  [redisState, {}, 'options'],
  [redisState, 'cache.internal', 'options.url'],
  [redisState, { nodes: ['a:1', 'b:port'] }, 'options.nodes.1'],
  [redisState, { url: 'redis://h', durability: 'some' }, 'options.durability'],
])('a wrong option of a state has its path: %o, %j', async (make, options, argument) => {
  const error = await errorOf(() => make(options as never));
  expect(error).toMatchObject({ name: 'SidecarError', code: 'ERR_CONFIGURATION', argument });
  expect((error as Error).stack).toContain(HERE);
});

test('postgresqlDdl refuses a name that is no schema', async () => {
  await checkRefused(() => postgresqlDdl('x'.repeat(54)), 'schema');
});

test('the table has every method that takes arguments', () => {
  const methods = Object.keys(CALLS).flatMap((path) => {
    const names = new Set<string>();
    for (let one = block(path); one !== Object.prototype; one = Object.getPrototypeOf(one) as Loose)
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(one)))
        if (typeof value === 'function' && name !== 'constructor') names.add(`${path}.${name}`);
    return [...names];
  });
  const known = [
    ...Object.entries(CALLS).flatMap(([path, calls]) => Object.keys(calls).map((name) => `${path}.${name}`)),
    ...WITHOUT_ARGUMENTS,
    ...INTERNAL,
  ];
  expect(methods.filter((name) => !known.includes(name))).toEqual([]);
  const definingOf = (entry: object): string[] => Object.keys(entry).filter((name) => name.startsWith('define'));
  expect(definingOf(insidecar).filter((name) => !(name in DEFINITIONS))).toEqual([]);
  expect(definingOf(kit).filter((name) => !(name in KIT))).toEqual([]);
});
