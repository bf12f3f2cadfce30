import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { memoryPubSub, Sidecar } from '../../src/index.ts';
import { type Answering, NEVER, RecordingApp } from '../support/app.ts';
import { patientClock } from '../support/clock.ts';
import { freePort, listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { WAYS } from '../support/served.ts';
import { createWorld, startWorld, type World, type WorldOptions } from '../support/world.ts';

const SICK = { status: 503 };
const PUBLISH = '/v1.0/publish/pubsub/orders';
const JOB = '/v1.0-alpha1/jobs/report';
const headers = { 'content-type': 'application/json' };

const checkedWorld = (options: WorldOptions = {}): Promise<World> =>
  startWorld({ treatment: { health: true }, ...options });

/** A world whose application was well and is not any more. */
async function sickWorld(options: WorldOptions = {}): Promise<World> {
  const world = await checkedWorld(options);
  world.app.health = SICK;
  await world.pass('15s');
  expect(world.emitted('appUnhealthy')).toHaveLength(1);
  return world;
}

describe.each(WAYS)('app health checks, application via %s', (via) => {
  test('GET /healthz, without the app token, at once and every 5 s', async () => {
    await using world = await checkedWorld({ via, appToken: 'secret' });
    expect(world.app.probes).toHaveLength(1);
    await world.pass('10s');
    expect(world.app.probes).toHaveLength(3);
    expect(world.app.probes[0]).toMatchObject({ method: 'GET', path: '/healthz' });
    expect(world.app.probes[0]?.headers).not.toHaveProperty('sidecar-api-token');
    expect(world.app.discoveries[0]?.headers['sidecar-api-token']).toBe('secret');
  });

  test('nothing is sent before the application has said that it is well; then it is asked and gets what waits', async () => {
    const subscriptions = [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }];
    await using world = await checkedWorld({ via, subscriptions, health: SICK });
    await world.publish('1');
    await world.send('POST', JOB, { headers, body: { dueTime: '0s' } });
    await world.pass('4s');
    expect([world.app.discoveries, world.deliveries]).toEqual([[], []]);
    world.app.health = {};
    await world.pass('1s');
    expect(world.app.discoveries).toHaveLength(1);
    expect(world.deliveries.map(({ path }) => path).sort()).toEqual(['/job/report', '/orders']);
    expect(world.events.map(({ name }) => name).filter((name) => name.startsWith('app'))).toEqual([
      'appHealthy',
      'appReady',
    ]);
  });

  test('three failures in a row make it unhealthy, two do not, nor three with a success between them', async () => {
    await using world = await checkedWorld({ via });
    for (const health of [SICK, SICK, {}, SICK, SICK]) {
      world.app.health = health;
      await world.pass('5s');
    }
    expect(world.emitted('appUnhealthy')).toEqual([]);
    await world.pass('5s');
    expect(world.emitted('appUnhealthy')).toEqual([
      { reason: 'GET /healthz answered 503', error: new Error('GET /healthz answered 503') },
    ]);
  });

  test.each([204, 299])('%d is well', async (status) => {
    await using world = await checkedWorld({ via, health: { status } });
    expect(world.emitted('appHealthy')).toHaveLength(1);
  });

  test.each([302, 404, 500])('%d is not', async (status) => {
    await using world = await checkedWorld({ via, health: { status, headers: { location: '/elsewhere' } } });
    expect(world.emitted('appHealthy')).toEqual([]);
    expect(world.app.probes).toHaveLength(1);
  });

  test('no answer in 500 ms is a failure', async () => {
    await using world = await checkedWorld({ via });
    world.app.health = NEVER;
    await world.clock.advance(15_499);
    expect(world.emitted('appUnhealthy')).toEqual([]);
    await world.pass(1);
    expect(world.emitted('appUnhealthy')).toEqual([
      { reason: 'no answer within 500 ms', error: new Error('no answer within 500 ms') },
    ]);
  });

  test('path, interval, time-out and threshold are options', async () => {
    const health = { path: 'healthz', interval: 1_000, timeout: 1_000, threshold: 1 };
    await using world = await checkedWorld({ via, treatment: { health } });
    world.app.health = NEVER;
    await world.clock.advance(1_999);
    expect(world.emitted('appUnhealthy')).toEqual([]);
    await world.clock.advance(1);
    expect(world.emitted('appUnhealthy')).toHaveLength(1);
    world.app.health = {};
    await world.clock.advance(2_000);
    expect(world.emitted('appHealthy')).toHaveLength(2);
  });

  test('while it is unhealthy messages wait, and no attempt is counted', async () => {
    await using world = await sickWorld({ via });
    await world.publish('1');
    await world.pass('1m');
    expect(world.deliveries).toEqual([]);
    world.app.health = {};
    await world.pass('5s');
    expect(world.deliveries.map(({ data }) => data)).toEqual(['1']);
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 1 }]);
  });

  test('a message that is to be retried waits as well', async () => {
    await using world = await checkedWorld({ via, answer: (_, nth) => (nth === 1 ? { status: 500 } : undefined) });
    world.app.health = SICK;
    await world.clock.advance(14_999);
    await world.publish('1');
    await world.pass('1m');
    expect(world.deliveries).toHaveLength(1);
    world.app.health = {};
    await world.pass('5s');
    expect(world.deliveries).toHaveLength(2);
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 2 }]);
  });

  test('a batch that is being collected waits as well', async () => {
    const bulkSubscribe = { enabled: true, maxAwaitDurationMs: 2_000 };
    const discovery = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', bulkSubscribe }];
    const answer: Answering = ({ entries }) => ({
      body: { statuses: entries.map(({ entryId }) => ({ entryId, status: 'SUCCESS' })) },
    });
    await using world = await checkedWorld({ via, discovery, answer });
    world.app.health = SICK;
    await world.clock.advance('14s');
    await world.publish('1');
    await world.pass('1m');
    expect(world.deliveries).toEqual([]);
    world.app.health = {};
    await world.pass('5s');
    expect(world.deliveries).toHaveLength(1);
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 1 }]);
  });

  test('while it is unhealthy jobs wait, and no attempt is counted', async () => {
    await using world = await sickWorld({ via });
    const attempts: number[] = [];
    world.sidecar.events.on('jobStarted', ({ attempt }) => attempts.push(attempt));
    const failure_policy = { constant: { max_retries: 0 } };
    await world.send('POST', JOB, { headers, body: { dueTime: '0s', failure_policy } });
    await world.pass('1m');
    expect(world.deliveries).toEqual([]);
    world.app.health = {};
    await world.pass('5s');
    expect([world.at('/job/report').length, attempts]).toEqual([1, [1]]);
  });

  test('while it is unhealthy invocations of it fail, and say why', async () => {
    await using world = await sickWorld({ via });
    const invoke = () => world.send('POST', '/v1.0/invoke/shop/method/orders');
    const refused = await invoke();
    expect([refused.status, refused.json]).toMatchObject([
      500,
      { errorCode: 'ERR_DIRECT_INVOKE', message: expect.stringContaining('the application is not healthy') },
    ]);
    expect(world.deliveries).toEqual([]);
    world.app.health = {};
    await world.pass('5s');
    expect((await invoke()).status).toBe(200);
  });

  test('what is in flight when it becomes unhealthy finishes', async () => {
    let finish = (): void => undefined;
    const answer = new Promise<undefined>((resolve) => {
      finish = () => resolve(undefined);
    });
    await using world = await checkedWorld({ via, answer: () => answer });
    world.app.health = SICK;
    await world.clock.advance('14s');
    await world.send('POST', PUBLISH, { body: '1' });
    await world.received(1);
    await world.clock.advance('2s');
    expect(world.emitted('appUnhealthy')).toHaveLength(1);
    finish();
    await world.clock.settled();
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 1 }]);
  });

  test('when it is well again it is asked for its subscriptions again', async () => {
    const topic = (name: string) => ({ pubsubname: 'pubsub', topic: name, route: `/${name}` });
    const discoveries = [{ body: [topic('orders'), topic('old')] }, { body: [topic('orders'), topic('new')] }];
    await using world = await sickWorld({ via, discoveries });
    world.app.health = {};
    await world.pass('5s');
    for (const name of ['orders', 'old', 'new']) await world.publish(name, { topic: name });
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders', '/new']);
    expect(world.emitted('subscriptionStarted').map((info) => info['topic'])).toEqual(['orders', 'old', 'new']);
    expect(world.emitted('appReady')).toHaveLength(2);
  });

  test('functions in code receive messages all the while', async () => {
    await using world = await sickWorld({ via });
    const got: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'inner', ({ data }) => void got.push(data));
    await world.publish('1', { topic: 'inner' });
    expect(got).toEqual(['1']);
  });

  test('does not change healthz', async () => {
    await using world = await checkedWorld({ via, health: SICK });
    expect((await world.send('GET', '/v1.0/healthz')).status).toBe(204);
    world.app.health = {};
    await world.pass('5s');
    world.app.health = SICK;
    await world.pass('15s');
    expect(world.emitted('appUnhealthy')).toHaveLength(1);
    expect((await world.send('GET', '/v1.0/healthz')).status).toBe(204);
  });

  test('is not held up by maxConcurrency', async () => {
    await using world = await checkedWorld({
      via,
      treatment: { health: true, maxConcurrency: 1 },
      answer: () => NEVER,
    });
    await world.send('POST', PUBLISH, { body: '1' });
    await world.received(1);
    await world.clock.advance('20s');
    expect(world.app.probes).toHaveLength(5);
    expect(world.emitted('appUnhealthy')).toEqual([]);
  });

  test('ends with the sidecar', async () => {
    const world = await checkedWorld({ via });
    await world.sidecar.stop();
    expect(world.clock.pendingTimers).toBe(0);
    await world[Symbol.asyncDispose]();
    expect(world.app.probes).toHaveLength(1);
  });

  test('a stop does not wait for messages that wait for the application', async () => {
    await using world = await sickWorld({ via });
    await world.send('POST', PUBLISH, { body: '1' });
    const before = world.clock.now();
    await world.sidecar.stop();
    expect(world.clock.now()).toBe(before);
  });
});

test('an application on a port is checked as soon as it opens', async () => {
  const app = new RecordingApp([{ body: [] }], () => undefined);
  const port = await freePort();
  const clock = patientClock();
  await using sidecar = new Sidecar({
    appId: 'shop',
    app: { port, health: true },
    components: [memoryPubSub('pubsub')],
    clock,
  });
  await sidecar.start();
  await clock.advance('1s');
  await using _server = await listen(app.listener, port);
  await clock.advance('100ms');
  await sidecar.ready();
  expect([app.probes.length, app.discoveries.length]).toEqual([1, 1]);
});

test('jobs do not go to an application that is back on its port but not well yet', async () => {
  const app = new RecordingApp([{ body: [] }], () => undefined);
  const clock = patientClock();
  const port = await freePort();
  const down = await listen(app.listener, port);
  await using sidecar = new Sidecar({
    appId: 'shop',
    app: { port, health: true },
    clock,
    logger: new RecordingLogger(),
  });
  await sidecar.start();
  await down[Symbol.asyncDispose]();
  // No connection can be made: the scheduler itself begins to wait for the port.
  await sidecar.jobs.schedule('report', { dueTime: '0s' });
  await clock.advance('16s');
  app.health = SICK;
  await using _up = await listen(app.listener, port);
  await clock.advance('30s');
  expect(app.probes.length).toBeGreaterThan(1);
  expect(app.deliveries).toEqual([]);
  app.health = {};
  await clock.advance('10s');
  expect(app.at('/job/report')).toHaveLength(1);
});

test('ready() resolves when the sidecar stops before the application was ever well', async () => {
  await using world = await checkedWorld({ health: SICK });
  const ready = world.sidecar.ready();
  await world.sidecar.stop();
  await ready;
  expect(world.emitted('appReady')).toEqual([]);
});

test('without health checks the application is not asked, and counts as well', async () => {
  await using world = await startWorld({ treatment: { health: false } });
  await world.pass('1m');
  expect(world.app.probes).toEqual([]);
  expect((await world.publish('1')).status).toBe(204);
  expect(world.deliveries).toHaveLength(1);
});

describe('metadata', () => {
  const connection = async (world: World): Promise<unknown> =>
    ((await world.send('GET', '/v1.0/metadata')).json as Record<string, unknown>)['appConnectionProperties'];

  test('has the health checks, in Go durations', async () => {
    await using world = await checkedWorld();
    expect(await connection(world)).toMatchObject({
      health: {
        healthCheckPath: '/healthz',
        healthProbeInterval: '5s',
        healthProbeTimeout: '500ms',
        healthThreshold: 3,
      },
    });
  });

  test('as they were set', async () => {
    const health = { path: '/up', interval: 90_000, timeout: 1_500, threshold: 1 };
    await using world = await checkedWorld({ treatment: { health } });
    expect(await connection(world)).toMatchObject({
      health: { healthCheckPath: '/up', healthProbeInterval: '1m30s', healthProbeTimeout: '1.5s', healthThreshold: 1 },
    });
  });

  test('has none without them', async () => {
    await using world = await startWorld();
    expect(await connection(world)).not.toHaveProperty('health');
  });
});

test.each<[health: unknown, message: RegExp]>([
  [
    { timeout: 6_000 },
    /options\.app\.health\.timeout is 6000 ms: expected at most options\.app\.health\.interval, 5000 ms/,
  ],
  [{ interval: 0 }, /health\.interval must be a duration.*of 1 ms or more/],
  [{ path: '/a b' }, /health\.path must be visible ASCII characters without spaces: actual is "\/a b"/],
  [{ threshold: 0 }, /health\.threshold must be >= 1/],
  [{ every: 1 }, /health: unknown field "every"/],
  ['yes', /options\.app\.health must be/],
])('health %j is refused', async (health, message) => {
  const world = createWorld({ treatment: { health: health as true } });
  await expect(world).rejects.toThrow(message);
  await expect(createWorld({ treatment: { health: health as true } })).rejects.toMatchObject({
    code: 'ERR_CONFIGURATION',
  });
});

test('an answer to discovery from before the application went away does not make it ready', async () => {
  const asked: ServerResponse[] = [];
  let status = 200;
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    if (req.url === '/healthz') res.writeHead(status).end();
    else if (req.url === '/sidecar/subscribe') asked.push(res);
    else res.writeHead(404).end();
  };
  const health = { interval: 1_000, timeout: 500, threshold: 1 };
  await using world = await createWorld({ app: { listener, health } });
  const askedTimes = (count: number): Promise<void> => expect.poll(() => asked).toHaveLength(count);
  const started = world.sidecar.start();
  await askedTimes(1);
  for (status of [503, 200]) await world.clock.advance('1s');
  await askedTimes(2);
  asked[0]?.end('[]');
  await world.clock.advance(1);
  expect(world.emitted('appReady')).toEqual([]);
  asked[1]?.end('[]');
  await started;
  await world.clock.settled();
  expect(world.emitted('appReady')).toHaveLength(1);
});
