import { describe, expect, test } from 'vitest';
import { memoryPubSub } from '../../src/index.ts';
import type { Reply } from '../support/app.ts';
import { RecordingApp } from '../support/app.ts';
import { freePort, listen } from '../support/http.ts';
import { WAYS } from '../support/served.ts';
import { startWorld, type World } from '../support/world.ts';

const to = (route: string, more: object = {}): Record<string, unknown> => ({
  pubsubname: 'pubsub',
  topic: 'orders',
  route,
  ...more,
});

/** The paths that deliveries went to, in order. */
function paths(world: World): string[] {
  return world.deliveries.map(({ path }) => path);
}

/** Publishes events of these types. */
async function publishTypes(world: World, ...types: readonly string[]): Promise<void> {
  for (const type of types) await world.publish('x', { query: `metadata.cloudevent.type=${type}` });
}

function listed(world: World): readonly Readonly<Record<string, unknown>>[] {
  return world.sidecar.metadata.get().subscriptions as unknown as readonly Readonly<Record<string, unknown>>[];
}

describe('discover subscriptions', () => {
  test.each(WAYS)('GET /sidecar/subscribe is asked once, with the app ID: application via %s', async (via) => {
    await using world = await startWorld({ via });
    await world.publish('x');
    await world.pass('1h');
    expect(world.app.discoveries.map(({ method, path }) => [method, path])).toEqual([['GET', '/sidecar/subscribe']]);
    expect(world.app.discoveries[0]?.headers).toMatchObject({ 'sidecar-app-id': 'shop' });
    expect(paths(world)).toEqual(['/orders']);
  });

  test('with wire dapr GET /dapr/subscribe is asked, with dapr-app-id', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    expect(world.app.discoveries.map(({ path }) => path)).toEqual(['/dapr/subscribe']);
    expect(world.app.discoveries[0]?.headers).toMatchObject({ 'dapr-app-id': 'shop' });
  });

  test.each(WAYS)('an app ID beyond ASCII is percent-encoded in its header: application via %s', async (via) => {
    await using world = await startWorld({ via, appId: '店' });
    await world.publish('x');
    expect(world.app.discoveries.map(({ headers }) => headers['sidecar-app-id'])).toEqual(['%E5%BA%97']);
    expect(paths(world)).toEqual(['/orders']);
  });

  test('carries the app token', async () => {
    await using world = await startWorld({ appToken: 'for-the-app' });
    expect(world.app.discoveries[0]?.headers['sidecar-api-token']).toBe('for-the-app');
  });

  test('is not asked without a pub/sub component', async () => {
    await using world = await startWorld({ components: [] });
    expect(world.app.discoveries).toEqual([]);
  });

  test('runs when the application is first reachable', async () => {
    const port = await freePort();
    await using world = await startWorld({ app: { port } });
    await world.clock.advance('1m');
    const app = new RecordingApp([{ body: [to('/late')] }], () => undefined);
    await using _server = await listen(app.listener, port);
    while (world.emitted('appReady').length === 0) await world.clock.advance('100ms');
    await world.publish('x');
    expect([app.discoveries.length, app.at('/late').length]).toEqual([1, 1]);
  });

  test.each<[what: string, reply: Reply]>([
    ['200 with an empty array', { body: '[]' }],
    ['200 without a body', {}],
    ['200 with null', { body: 'null' }],
    ['204', { status: 204 }],
    ['404', { status: 404, body: 'nothing here' }],
  ])('%s: none, and it is not asked again', async (_, reply) => {
    await using world = await startWorld({ discovery: reply });
    await world.pass('1h');
    expect(world.app.discoveries).toHaveLength(1);
    expect(listed(world)).toEqual([]);
    expect(world.logger.at('warn')).toEqual([]);
  });

  test.each<[what: string, reply: Reply]>([
    ['500', { status: 500 }],
    ['401', { status: 401 }],
    ['201', { status: 201, body: [to('/wrong')] }],
    ['a redirect', { status: 302, headers: { location: '/sidecar/subscribe' } }],
    ['not JSON', { body: '<html>' }],
    ['an object', { body: '{}' }],
    ['a string', { body: '"x"' }],
  ])('%s is logged and asked again with back-off', async (_, reply) => {
    await using world = await startWorld({ discoveries: [reply, reply, { body: [to('/later')] }] });
    expect(world.app.discoveries).toHaveLength(1);
    expect(world.logger.at('warn')).toHaveLength(1);
    await world.clock.advance('500ms');
    expect(world.app.discoveries).toHaveLength(2);
    await world.clock.advance('699ms');
    expect(world.app.discoveries).toHaveLength(2);
    await world.clock.advance('301ms');
    expect(world.app.discoveries).toHaveLength(3);
    await world.publish('x');
    expect(paths(world)).toEqual(['/later']);
    await world.pass('1h');
    expect(world.app.discoveries).toHaveLength(3);
  });

  test('declarative and streaming ones start even when it fails', async () => {
    await using world = await startWorld({
      discovery: { status: 500 },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/declared' }],
    });
    const got: unknown[] = [];
    await using _subscription = await world.sidecar.pubsub.subscribe(
      'pubsub',
      'other',
      ({ data }) => void got.push(data),
    );
    await world.publish('x');
    await world.publish('y', { topic: 'other' });
    expect([paths(world), got]).toEqual([['/declared'], ['y']]);
  });

  test('messages published before the application is there are delivered to a declarative subscription', async () => {
    const port = await freePort();
    await using world = await startWorld({
      app: { port },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/declared' }],
    });
    expect((await world.publish('early')).status).toBe(204);
    const app = new RecordingApp([{ body: '[]' }], () => undefined);
    await using _server = await listen(app.listener, port);
    while (world.emitted('appReady').length === 0) await world.clock.advance('100ms');
    await world.clock.settled();
    expect(app.deliveries.map(({ data }) => data)).toEqual(['early']);
  });
});

describe('the form of a subscription', () => {
  test.each<[what: string, form: object, expected: string]>([
    ['route', { route: '/a' }, '/a'],
    ['routes.default', { routes: { default: '/a' } }, '/a'],
    ['routes.default before route', { route: '/b', routes: { default: '/a' } }, '/a'],
    [
      'route with routes.rules that do not match',
      { route: '/b', routes: { rules: [{ match: 'false', path: '/a' }] } },
      '/b',
    ],
    ['route with routes.rules that match', { route: '/b', routes: { rules: [{ match: 'true', path: '/a' }] } }, '/a'],
    ['unknown keys', { route: '/a', priority: 5, routes: { other: [] }, bulksubscribe: {} }, '/a'],
    [
      'null for absent',
      { route: '/a', routes: null, metadata: null, deadLetterTopic: null, bulkSubscribe: null },
      '/a',
    ],
  ])('%s', async (_, form, expected) => {
    await using world = await startWorld({ discovery: [{ pubsubname: 'pubsub', topic: 'orders', ...form }] });
    await world.publish('x');
    expect(paths(world)).toEqual([expected]);
  });

  test.each([
    ['orders', '/orders'],
    ['/orders/', '/orders'],
    ['//a///b', '/a/b'],
    ['/a/./b/../c', '/a/c'],
    ['../../a', '/a'],
    ['/', '/'],
    ['/a?x=1&y=/../b//c', '/a?x=1&y=/../b//c'],
    ['a/%2F/b', '/a/%2F/b'],
    ['/café', '/caf%C3%A9'],
    ['/a b', '/a%20b'],
  ])('route %j is called as %j', async (route, expected) => {
    await using world = await startWorld({ via: 'port', discovery: [to(route)] });
    await world.publish('x');
    expect(paths(world)).toEqual([expected]);
  });

  test.each<[what: string, subscription: unknown, named: string]>([
    ['neither rule nor default route', { pubsubname: 'pubsub', topic: 'bad' }, 'neither a rule nor a default route'],
    ['an empty route', { pubsubname: 'pubsub', topic: 'bad', route: '' }, 'neither a rule nor a default route'],
    ['empty routes', { pubsubname: 'pubsub', topic: 'bad', routes: { rules: [] } }, 'neither a rule nor a default'],
    ['an unknown pub/sub', { pubsubname: 'nope', topic: 'bad', route: '/r' }, 'pubsub nope is not found'],
    [
      'a rule that does not compile',
      { pubsubname: 'pubsub', topic: 'bad', routes: { rules: [{ match: 'event.type ==', path: '/r' }] } },
      'event.type ==',
    ],
    ['topic missing', { pubsubname: 'pubsub', route: '/r' }, 'topic'],
    ['topic empty', { pubsubname: 'pubsub', topic: '', route: '/r' }, 'topic'],
    ['pubsubname missing', { topic: 'bad', route: '/r' }, 'pubsubname'],
    ['pubsubName in another case', { pubsubName: 'pubsub', topic: 'bad', route: '/r' }, 'pubsubname'],
    ['topic a number', { pubsubname: 'pubsub', topic: 5, route: '/r' }, 'topic'],
    ['route an object', { pubsubname: 'pubsub', topic: 'bad', route: {} }, 'route'],
    ['routes a string', { pubsubname: 'pubsub', topic: 'bad', routes: '/r' }, 'routes'],
    ['rules an object', { pubsubname: 'pubsub', topic: 'bad', routes: { rules: {} } }, 'routes.rules'],
    [
      'a rule without path',
      { pubsubname: 'pubsub', topic: 'bad', routes: { rules: [{ match: 'true' }] } },
      'routes.rules.0.path',
    ],
    [
      'match a boolean',
      { pubsubname: 'pubsub', topic: 'bad', routes: { rules: [{ match: true, path: '/r' }] } },
      'routes.rules.0.match',
    ],
    [
      'metadata of another type',
      { pubsubname: 'pubsub', topic: 'bad', route: '/r', metadata: { rawPayload: true } },
      'metadata.rawPayload',
    ],
    [
      'rawPayload no boolean',
      { pubsubname: 'pubsub', topic: 'bad', route: '/r', metadata: { rawPayload: 'maybe' } },
      'rawPayload',
    ],
    [
      'bulkSubscribe a boolean',
      { pubsubname: 'pubsub', topic: 'bad', route: '/r', bulkSubscribe: true },
      'bulkSubscribe',
    ],
    [
      'maxMessagesCount a string',
      { pubsubname: 'pubsub', topic: 'bad', route: '/r', bulkSubscribe: { maxMessagesCount: '5' } },
      'bulkSubscribe.maxMessagesCount',
    ],
    [
      'a dead-letter topic that is the topic itself',
      { pubsubname: 'pubsub', topic: 'bad', route: '/r', deadLetterTopic: 'bad' },
      'element 1: deadLetterTopic is the topic itself',
    ],
    ['an element that is no object', 5, 'element 1: subscription must be object'],
    ['an element that is null', null, 'must be object'],
  ])('%s: that one is refused, logged and shown in metadata; the others start', async (_, bad, named) => {
    const form = (Object(bad) ?? {}) as Record<string, unknown>;
    await using world = await startWorld({ discovery: [to('/first', { topic: 'first' }), bad, to('/orders')] });
    await world.publish('x');
    await world.publish('x', { topic: 'first' });
    expect(paths(world)).toEqual(['/orders', '/first']);
    const refused = listed(world).filter(({ error }) => error !== undefined);
    expect(refused).toMatchObject([{ error: expect.stringContaining(named), type: 'PROGRAMMATIC' }]);
    if (typeof form['topic'] === 'string') expect(refused[0]?.['topic']).toBe(form['topic']);
    expect(world.logger.at('warn')).toMatchObject([{ details: { problem: expect.stringContaining(named) } }]);
    expect(
      world
        .emitted('subscriptionStarted')
        .map(({ topic }) => topic)
        .sort(),
    ).toEqual(['first', 'orders']);
  });

  test('refused declarative ones let the others start too', async () => {
    const bad = { pubsubName: 'nope', topic: 'orders', route: '/r' };
    const good = { pubsubName: 'pubsub', topic: 'orders', route: '/good' };
    await using world = await startWorld({ discovery: [], subscriptions: [bad, good, { ...bad, topic: 'again' }] });
    await world.publish('x');
    expect(paths(world)).toEqual(['/good']);
    expect(listed(world).filter(({ error }) => error !== undefined)).toHaveLength(2);
  });
});

describe('precedence of sources', () => {
  const declared = (route: string): { pubsubName: string; topic: string; route: string } => ({
    pubsubName: 'pubsub',
    topic: 'orders',
    route,
  });

  test('among programmatic ones the last wins', async () => {
    await using world = await startWorld({ discovery: [to('/a'), to('/b'), to('/c')] });
    await world.publish('x');
    expect(paths(world)).toEqual(['/c']);
    expect(listed(world)).toMatchObject([{ rules: [{ path: '/c' }] }]);
  });

  test('among declarative ones the first wins', async () => {
    await using world = await startWorld({
      discovery: [],
      subscriptions: [declared('/a'), declared('/b'), declared('/c')],
    });
    await world.publish('x');
    expect(paths(world)).toEqual(['/a']);
    expect(listed(world)).toMatchObject([{ rules: [{ path: '/a' }] }]);
  });

  test('programmatic replaces declarative for the same pub/sub and topic, in its place', async () => {
    await using world = await startWorld({
      discovery: [to('/p', { topic: 'new' }), to('/programmatic')],
      subscriptions: [declared('/declared'), { ...declared('/kept'), topic: 'kept' }],
    });
    await world.publish('x');
    await world.publish('x', { topic: 'kept' });
    expect(paths(world)).toEqual(['/programmatic', '/kept']);
    expect(listed(world).map(({ topic, type }) => [topic, type])).toEqual([
      ['orders', 'PROGRAMMATIC'],
      ['kept', 'DECLARATIVE'],
      ['new', 'PROGRAMMATIC'],
    ]);
  });

  test('the same topic of another pub/sub is another subscription', async () => {
    await using world = await startWorld({
      components: [memoryPubSub('pubsub'), memoryPubSub('second')],
      discovery: [to('/first'), to('/second', { pubsubname: 'second' })],
    });
    await world.publish('x');
    await world.send('POST', '/v1.0/publish/second/orders', { body: 'y' });
    await world.clock.settled();
    expect(paths(world)).toEqual(['/first', '/second']);
  });

  test('one that was refused does not take the place of one that was not', async () => {
    const refused = to('/refused', { routes: { rules: [{ match: '(', path: '/x' }] } });
    await using world = await startWorld({ discovery: [to('/good'), refused] });
    await world.publish('x');
    expect(paths(world)).toEqual(['/good']);
    await using second = await startWorld({ discovery: [refused], subscriptions: [declared('/declared')] });
    await second.publish('x');
    expect(paths(second)).toEqual(['/declared']);
    expect(listed(second).map(({ type, error }) => [type, error === undefined])).toEqual([
      ['DECLARATIVE', true],
      ['PROGRAMMATIC', false],
    ]);
  });

  test('every refused one is shown, also several without a name', async () => {
    await using world = await startWorld({ discovery: [5, 'x', to('/orders'), null] });
    expect(listed(world)).toHaveLength(4);
  });

  test('streaming ones that say competing add up with the others', async () => {
    await using world = await startWorld();
    const got: unknown[] = [];
    const handler = ({ data }: { data?: unknown }): void => void got.push(data);
    const competing = { competing: true };
    await using _first = await world.sidecar.pubsub.subscribe('pubsub', 'orders', handler, competing);
    await using _second = await world.sidecar.pubsub.subscribe('pubsub', 'orders', handler, competing);
    expect(listed(world).map(({ type }) => type)).toEqual(['PROGRAMMATIC', 'STREAMING', 'STREAMING']);
    for (let n = 0; n < 9; n++) await world.publish(String(n));
    expect(got.length + world.deliveries.length).toBe(9);
    expect(got.length).toBeGreaterThan(world.deliveries.length);
  });
});

describe('routing of messages to application paths', () => {
  const rules = (...list: readonly (readonly [match: string, path: string])[]): object => ({
    rules: list.map(([match, path]) => ({ match, path })),
    default: '/default',
  });
  const routed = (routes: object): { discovery: unknown[] } => ({
    discovery: [{ pubsubname: 'pubsub', topic: 'orders', routes }],
  });

  test('the first rule that holds, else the default', async () => {
    const routes = rules(
      ['event.type == "a"', '/a'],
      ['event.type.startsWith("b")', '/b'],
      ['event.type == "b2"', '/never'],
    );
    await using world = await startWorld(routed(routes));
    await publishTypes(world, 'a', 'b1', 'b2', 'c', 'A');
    expect(paths(world)).toEqual(['/a', '/b', '/b', '/default', '/default']);
  });

  test.each(['', '   '])('an empty match %j is true, also before other rules', async (match) => {
    await using world = await startWorld(
      routed(rules(['event.type == "a"', '/a'], [match, '/any'], ['true', '/never'])),
    );
    await publishTypes(world, 'a', 'b');
    expect(paths(world)).toEqual(['/a', '/any']);
  });

  test('a rule without match is true', async () => {
    await using world = await startWorld(routed({ rules: [{ path: '/any' }] }));
    await publishTypes(world, 'a');
    expect(paths(world)).toEqual(['/any']);
  });

  test('no rule matches and there is no default: dropped at debug level, without a call', async () => {
    await using world = await startWorld(routed({ rules: [{ match: 'event.type == "a"', path: '/a' }] }));
    await publishTypes(world, 'b');
    expect(paths(world)).toEqual([]);
    expect(world.emitted('messageDropped')).toMatchObject([
      { route: '', reason: expect.stringContaining('no rule matches') },
    ]);
    expect([...world.logger.at('warn'), ...world.logger.at('error')]).toEqual([]);
    expect(world.logger.at('debug')).toHaveLength(1);
  });

  test('no rule matches and there is no default: to the dead-letter topic when configured', async () => {
    const subscription = { routes: { rules: [{ match: 'false', path: '/a' }] }, deadLetterTopic: 'dead' };
    const discovery = [{ pubsubname: 'pubsub', topic: 'orders', ...subscription }, to('/dead', { topic: 'dead' })];
    await using world = await startWorld({ discovery });
    await world.publish('x');
    expect(paths(world)).toEqual(['/dead']);
  });

  test('an evaluation error counts as false and is logged once per rule', async () => {
    const routes = rules(
      ['event.data.missing == 1', '/a'],
      ['event.data.alsoMissing.deep == 1', '/b'],
      ['has(event.nope)', '/c'],
    );
    await using world = await startWorld(routed(routes));
    for (let n = 0; n < 3; n++) await world.publish({ n });
    expect(paths(world)).toEqual(Array(3).fill('/default'));
    expect(world.logger.at('warn').map(({ details }) => details['match'])).toEqual([
      'event.data.missing == 1',
      'event.data.alsoMissing.deep == 1',
    ]);
  });

  test.each<[match: string, holds: boolean]>([
    ['event.topic == "orders" && event.pubsubname == "pubsub"', true],
    ['event.source == "shop" && event.specversion == "1.0"', true],
    ['event.data.amount == 5', true],
    ['event.data.amount == 5.0', true],
    ['event.data.amount > 4 && event.data.amount < 5.5', true],
    ['event.data.amount in [5, 6]', true],
    ['event.data.amount + 1.0 == 6.0', true],
    ['event.data.amount + 1 == 6', false],
    ['int(event.data.amount) + 1 == 6', true],
    ['event.data.price >= 1.5', true],
    ['event.data.big > 12345678901234567000.0', false],
    ['has(event.subject)', false],
    ['has(event.data.amount)', true],
    ['has(event.data.constructor) || has(event.toString) || has(event.__proto__)', false],
    ['event.subject == "x" || event.data.amount == 5', true],
    ['event.data.tags.exists(t, t == "new")', true],
    ['size(event.data.tags) == 2', true],
    ['event.data.name.matches("^[a-z]+$")', true],
    ['event.data.name.matches("^[0-9]+$")', false],
    ['matches(event.type, "^com[.]")', true],
    ['event.data.name.matches("(?i)^ABC$")', true],
    ['event.data.name.matches("^[[:alpha:]]+$")', true],
    ['event.data.name.matches("^\\\\pL+$")', true],
    ['event.data.name.matches("\\\\Aabc\\\\z")', true],
    ['event.data.amount', false],
  ])('%s holds: %s', async (match, holds) => {
    await using world = await startWorld(routed(rules([match, '/matched'])));
    await world.publish('{"amount":5,"price":1.50,"tags":["old","new"],"name":"abc"}', {
      headers: { 'content-type': 'application/json' },
    });
    expect(paths(world)).toEqual([holds ? '/matched' : '/default']);
  });
});

describe('an application without the route of discovery', () => {
  test.each([405, 501])('%i means that there is none: said once, and not asked again', async (status) => {
    await using world = await startWorld({ discovery: { status } });
    await world.pass('1h');
    expect(world.app.discoveries).toHaveLength(1);
    expect([world.logger.at('warn'), listed(world)]).toEqual([[], []]);
    expect(world.logger.at('info').map(({ message }) => message)).toEqual([
      `GET /sidecar/subscribe answered ${status}: the application has no such route, so no subscriptions`,
    ]);
  });

  test('with app.discovery false it is not asked; the subscriptions of the options work', async () => {
    const app = new RecordingApp([{ body: [to('/told')] }], () => undefined);
    await using server = await listen(app.listener);
    await using world = await startWorld({
      app: { port: server.port, discovery: false },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/declared' }],
    });
    await world.publish('x');
    expect([app.discoveries.length, app.deliveries.map(({ path }) => path)]).toEqual([0, ['/declared']]);
    expect(world.logger.at('warn')).toEqual([]);
  });
});

describe('the route of a delivery', () => {
  test.each([
    ['/a"b', '/a%22b'],
    ['/a|b', '/a%7Cb'],
    ['/<a>', '/%3Ca%3E'],
    ['/a\\b', '/a%5Cb'],
    ['/a^b`c', '/a%5Eb%60c'],
    ['/{a}', '/%7Ba%7D'],
    ['/a#b', '/a%23b'],
    ['/50%/é', '/50%25/%C3%A9'],
    ['/a%2Fb%7c', '/a%2Fb%7c'],
    ["/a:@!$&'()*+,;=~[b]?c=d|e", "/a:@!$&'()*+,;=~[b]?c=d%7Ce"],
  ])('%s goes out as %s', async (route, sent) => {
    await using world = await startWorld({ via: 'port', discovery: [to(route)] });
    await world.publish('x');
    expect(paths(world)).toEqual([sent]);
  });
});
