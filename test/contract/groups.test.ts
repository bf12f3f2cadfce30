import { describe, expect, test } from 'vitest';
import { durablePubSub, memoryPubSub, Sidecar, type SubscribeOptions, sharedState } from '../../src/index.ts';
import { patientClock } from '../support/clock.ts';
import { KeptStore } from '../support/kept-store.ts';
import { startWorld, type World } from '../support/world.ts';

const orders = { pubsubname: 'pubsub', topic: 'orders' };
/** The same in the options. */
const inOptions = { pubsubName: 'pubsub', topic: 'orders' };
const paths = ({ deliveries }: World): string[] => deliveries.map(({ path }) => path);
const listed = (world: World): readonly Readonly<Record<string, unknown>>[] =>
  world.sidecar.metadata.get().subscriptions as never;

const subscribe = async (world: World, options: SubscribeOptions = {}, topic = 'orders') => {
  const got: unknown[] = [];
  const handler = ({ data }: { data?: unknown }): void => void got.push(data);
  const subscription = await world.sidecar.pubsub.subscribe('pubsub', topic, handler, options);
  return { got, subscription };
};
const publishAll = async (world: World, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await world.publish(String(n));
};

describe('a second subscription of a topic', () => {
  test('in code beside code is an error that names topic, pub/sub and what to write', async () => {
    await using world = await startWorld({ discovery: [] });
    await subscribe(world);
    await expect(subscribe(world)).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION',
      message:
        'topic "orders" of pubsub "pubsub" has a subscription already, in code: expected a group of its own ' +
        "(group: '…') to receive every message too, or competing: true to share them",
    });
    expect(listed(world)).toHaveLength(1);
  });

  test('in code beside options, or beside what the application tells, is one too', async () => {
    await using options = await startWorld({ discovery: [], subscriptions: [{ ...inOptions, route: '/a' }] });
    await expect(subscribe(options)).rejects.toThrow('already, in the options');
    await using told = await startWorld({ discovery: [{ ...orders, route: '/a' }] });
    await expect(subscribe(told)).rejects.toThrow('already, in the application');
  });

  test('of two that begin at the same time, one is refused', async () => {
    await using world = await startWorld({ discovery: [] });
    const results = await Promise.allSettled([subscribe(world), subscribe(world)]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  test('is taken when the first has ended', async () => {
    await using world = await startWorld({ discovery: [] });
    const { subscription } = await subscribe(world);
    await subscription.close();
    const { got } = await subscribe(world);
    await publishAll(world, 2);
    expect(got).toEqual(['0', '1']);
  });

  test('of another topic or another pub/sub is no second one', async () => {
    await using world = await startWorld({
      discovery: [],
      components: [memoryPubSub('pubsub'), memoryPubSub('other')],
    });
    await subscribe(world);
    await subscribe(world, {}, 'others');
    await world.sidecar.pubsub.subscribe('other', 'orders', () => undefined);
    expect(listed(world)).toHaveLength(3);
  });

  test('that the application tells beside one in code is refused, logged and shown in metadata', async () => {
    const clock = patientClock();
    await using world = await startWorld({
      clock,
      discoveries: [{ status: 500 }, { status: 200, body: JSON.stringify([{ ...orders, route: '/told' }]) }],
    });
    const { got } = await subscribe(world);
    await clock.advance('5s');
    expect(listed(world)).toMatchObject([
      { type: 'PROGRAMMATIC', error: expect.stringContaining('already, in code') },
      { type: 'STREAMING' },
    ]);
    expect(world.emitted('subscriptionRefused')).toMatchObject([{ pubsubName: 'pubsub', topic: 'orders' }]);
    await publishAll(world, 2);
    expect([got, paths(world)]).toEqual([['0', '1'], []]);
  });

  test('with a group of its own receives every message too', async () => {
    await using world = await startWorld({ discovery: [{ ...orders, route: '/a' }] });
    const audit = await subscribe(world, { group: 'audit' });
    const stats = await subscribe(world, { group: 'stats' });
    await publishAll(world, 3);
    expect([audit.got, stats.got, paths(world)]).toEqual([
      ['0', '1', '2'],
      ['0', '1', '2'],
      ['/a', '/a', '/a'],
    ]);
    expect(listed(world).map(({ group }) => group)).toEqual([undefined, 'audit', 'stats']);
    await expect(subscribe(world, { group: 'audit' })).rejects.toThrow('has a subscription in group "audit" already');
  });

  test('the app ID as a group is the default', async () => {
    await using world = await startWorld({ discovery: [] });
    await subscribe(world);
    await expect(subscribe(world, { group: world.sidecar.appId })).rejects.toThrow('already, in code');
  });

  test.each<[SubscribeOptions, SubscribeOptions]>([
    [{}, { competing: true }],
    [{ competing: true }, {}],
    [{ competing: true }, { competing: true }],
    [{ group: 'g' }, { group: 'g', competing: true }],
  ])('%j and %j share the messages', async (first, second) => {
    await using world = await startWorld({ discovery: [] });
    const [a, b] = [await subscribe(world, first), await subscribe(world, second)];
    await publishAll(world, 6);
    expect([...a.got, ...b.got].sort()).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(Math.min(a.got.length, b.got.length)).toBeGreaterThan(0);
  });

  test.each(['', 'a/b', 'a.b', 'a b', 'x'.repeat(257), 5])('a group named %j is an error', async (group) => {
    await using world = await startWorld({ discovery: [] });
    await expect(subscribe(world, { group: group as string })).rejects.toThrow('subscription.group');
  });

  test.each(['__proto__', 'constructor', 'größer'])('a group may be named %s', async (group) => {
    await using world = await startWorld({ discovery: [] });
    const [plain, named] = [await subscribe(world), await subscribe(world, { group })];
    await publishAll(world, 1);
    expect([plain.got, named.got]).toEqual([['0'], ['0']]);
  });
});

describe('groups of options and of the application', () => {
  test('each receives every message; competing ones share', async () => {
    const routes = [
      { route: '/main' },
      { route: '/audit', group: 'audit' },
      { route: '/audit-too', group: 'audit', competing: true },
    ];
    const told = routes.map((route) => ({ ...orders, ...route }));
    const subscriptions = routes.map((route) => ({ ...inOptions, ...route }));
    for (const options of [{ discovery: told }, { discovery: [], subscriptions }]) {
      await using world = await startWorld(options);
      await publishAll(world, 4);
      const at = (path: string): number => paths(world).filter((one) => one === path).length;
      expect([at('/main'), at('/audit') + at('/audit-too')]).toEqual([4, 4]);
      expect(at('/audit-too')).toBeGreaterThan(0);
      expect(world.logger.at('warn')).toEqual([]);
    }
  });

  test('a programmatic one replaces a declarative one of its group only', async () => {
    await using world = await startWorld({
      discovery: [{ ...orders, route: '/told' }],
      subscriptions: [
        { ...inOptions, route: '/option' },
        { ...inOptions, route: '/audit', group: 'audit' },
      ],
    });
    await publishAll(world, 1);
    expect(paths(world).sort()).toEqual(['/audit', '/told']);
  });

  test('two apps that name a group alike do not share it', async () => {
    const clock = patientClock();
    const components = [memoryPubSub('pubsub')];
    const got: string[] = [];
    const apps = ['orders', 'billing'].map((appId) => new Sidecar({ appId, components, clock }));
    for (const app of apps) {
      await app.start();
      await app.pubsub.subscribe('pubsub', 'orders', () => void got.push(app.appId), { group: 'audit' });
    }
    await apps[0]?.pubsub.publish('pubsub', 'orders', 1);
    await clock.settled();
    expect(got.sort()).toEqual(['billing', 'orders']);
    await Promise.all(apps.map((app) => app.stop()));
  });

  test('two sidecars of one app ID that share a component compete, as before', async () => {
    const clock = patientClock();
    const components = [memoryPubSub('pubsub')];
    const got: unknown[] = [];
    const hosts = [1, 2].map(() => new Sidecar({ appId: 'orders', components, clock }));
    for (const host of hosts) {
      await host.start();
      await host.pubsub.subscribe('pubsub', 'orders', ({ data }) => void got.push(data));
    }
    for (let n = 0; n < 4; n++) await hosts[0]?.pubsub.publish('pubsub', 'orders', n);
    await clock.settled();
    expect(got.sort()).toEqual([0, 1, 2, 3]);
    await Promise.all(hosts.map((host) => host.stop()));
  });
});

describe('a subscription that is ignored is warned about by name', () => {
  const ignored = (world: World): unknown[][] =>
    world.logger
      .at('warn')
      .map(({ message, details }) => [message, details['pubsubName'], details['topic'], details['routes']]);

  test('of the options, where the first counts', async () => {
    const subscriptions = ['/a', '/b'].map((route) => ({ ...inOptions, route }));
    await using world = await startWorld({ discovery: [], subscriptions });
    const why = 'subscription ignored: another one before it has its group';
    expect(ignored(world)).toEqual([[why, 'pubsub', 'orders', ['/b']]]);
  });

  test('of the application, where the last counts; once, however often it comes back', async () => {
    const discovery = ['/a', '/b'].map((route) => ({ ...orders, route }));
    await using world = await startWorld({ discovery, treatment: { health: { interval: 1_000 } } });
    world.app.health = { status: 500 };
    await world.clock.advance('10s');
    world.app.health = { status: 200 };
    await world.clock.advance('10s');
    expect(world.emitted('appHealthy')).toHaveLength(2);
    const why = 'subscription ignored: another one behind it has its group';
    expect(ignored(world).filter(([message]) => String(message).startsWith('subscription'))).toEqual([
      [why, 'pubsub', 'orders', ['/a']],
    ]);
  });

  test('of the options, where the application tells one', async () => {
    await using world = await startWorld({
      discovery: [{ ...orders, route: '/b' }],
      subscriptions: [{ ...inOptions, route: '/a' }],
    });
    const why = 'subscription ignored: the application has declared one for its group';
    expect(ignored(world)).toEqual([[why, 'pubsub', 'orders', ['/a']]]);
  });
});

test('a group of a durable component keeps collecting under its name, also while nobody is there', async () => {
  const clock = patientClock();
  const state = sharedState(new KeptStore());
  const start = async (): Promise<Sidecar> => {
    const sidecar = new Sidecar({ appId: 'orders', components: [durablePubSub('pubsub')], state, clock });
    await sidecar.start();
    return sidecar;
  };
  const first = await start();
  await first.pubsub.subscribe('pubsub', 'orders', () => undefined, { group: 'audit' });
  await first.stop();
  const second = await start();
  await second.pubsub.publish('pubsub', 'orders', 1);
  await second.stop();
  await using third = await start();
  const got: unknown[] = [];
  await third.pubsub.subscribe('pubsub', 'orders', ({ data }) => void got.push(data), { group: 'audit' });
  await clock.settled();
  expect(got).toEqual([1]);
});
