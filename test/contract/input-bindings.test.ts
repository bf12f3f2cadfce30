import { describe, expect, test } from 'vitest';
import { cronBinding, keyValueStore, memoryState, sharedState } from '../../src/index.ts';
import {
  type AppAnswer,
  type AppRequest,
  bindingsWorld,
  createBindingsWorld,
  OwnBinding,
} from '../support/bindings-world.ts';
import { until, WIRES } from '../support/stores-world.ts';

const tick = (parts: object = {}) => cronBinding('tick', { schedule: '@every 10s', ...parts });
const event = (text: string, metadata: Readonly<Record<string, string>> = {}) => ({
  data: Buffer.from(text),
  metadata,
});

describe.each(WIRES)('input bindings, wire %s', (wire) => {
  test.each([
    [200, true],
    [204, true],
    [405, true],
    [404, false],
  ])('OPTIONS %d: whether it is subscribed is %s; it is asked once', async (status, isSubscribed) => {
    const own = new OwnBinding();
    const answer = ({ method }: AppRequest) => (method === 'OPTIONS' ? { status } : undefined);
    await using world = await bindingsWorld({ wire, answer, components: [own.definition('in/1')] });
    expect(own.deliver !== undefined).toBe(isSubscribed);
    expect(world.app.requests.map(({ method, path }) => [method, path])).toEqual([['OPTIONS', '/in%2F1']]);
    await world.pass('10m');
    expect(world.app.of('OPTIONS')).toHaveLength(1);
  });

  test.each([500, 401, 302, 'late', 'closed'] as const)('OPTIONS %s: it is asked again', async (first) => {
    const own = new OwnBinding();
    const answer = ({ method }: AppRequest, nth: number): AppAnswer | undefined | Promise<AppAnswer> => {
      if (method !== 'OPTIONS' || nth > 2) return undefined;
      if (first === 'closed') return { closes: true };
      return first === 'late' ? new Promise<AppAnswer>(() => undefined) : { status: first };
    };
    await using world = await createBindingsWorld({ wire, answer, components: [own.definition('in')] });
    const started = world.start();
    await until(
      async () => {
        await world.clock.advance('1s');
        return own.deliver !== undefined;
      },
      () => `${world.app.of('OPTIONS').length} questions`,
    );
    await started;
    expect(world.app.of('OPTIONS')).toHaveLength(3);
    const failed = 'the application could not be asked whether it wants an input binding: will be tried again';
    expect(world.logger.at('warn').filter(({ message }) => message === failed)).toHaveLength(2);
  });

  test('delivers the bytes, with metadata as headers that no proxy sets', async () => {
    const own = new OwnBinding();
    const options = { direction: ['input'], route: '/events' } as const;
    await using world = await bindingsWorld({ wire, components: [own.definition('in', { options })] });
    const metadata = { mqttTopic: 'a/b', host: 'evil', 'x-forwarded-for': '1.2.3.4', 'no header': 'x', line: 'a\nb' };
    await own.deliver?.(event('{"n":1.0}', metadata));
    const [got] = world.delivered;
    expect([got?.method, got?.path, got?.body]).toEqual(['POST', '/events', '{"n":1.0}']);
    expect(got?.headers).toMatchObject({ mqtttopic: 'a/b', 'content-type': 'application/json' });
    expect(got?.headers.host).not.toBe('evil');
    expect(Object.keys(got?.headers ?? {})).not.toContain('x-forwarded-for');
    // Nobody was asked.
    expect(world.app.of('OPTIONS')).toEqual([]);
  });

  test('an answer that is no success, or comes after 60 s, is a failure', async () => {
    const own = new OwnBinding();
    const answer = ({ path }: AppRequest, nth: number) =>
      nth === 1 ? { status: 500 } : path === '/in' ? new Promise<undefined>(() => undefined) : undefined;
    const options = { direction: ['input'] } as const;
    await using world = await bindingsWorld({ wire, answer, components: [own.definition('in', { options })] });
    await expect(own.deliver?.(event('1'))).rejects.toThrow('answered 500');
    const late = expect(own.deliver?.(event('2'))).rejects.toThrow();
    await until(
      () => world.delivered.length === 2,
      () => 'the second delivery',
    );
    await world.clock.advance('60s');
    await late;
  });

  test('the answer asks for output bindings and state; what fails is logged', async () => {
    const own = new OwnBinding();
    const body = `{"to":["out","nothing"],"data":{"n":1.50},"storeName":"store","state":[{"key":"a","value":7}]}`;
    const answer = ({ method }: AppRequest) => (method === 'POST' ? { body } : undefined);
    const out = new OwnBinding();
    const components = [
      own.definition('in', { options: { direction: ['input'] } }),
      out.definition('out', { options: { direction: ['output'] } }),
      keyValueStore('store'),
    ];
    await using world = await bindingsWorld({ wire, answer, components });
    await own.deliver?.(event('1'));
    expect(out.calls.map(({ operation, data }) => [operation, Buffer.from(data).toString()])).toEqual([
      ['create', '{"n":1.50}'],
    ]);
    expect((await world.send('GET', '/v1.0/state/store/a')).text).toBe('7');
    expect(world.logger.at('warn').map(({ details }) => details['part'])).toEqual(['to nothing']);
  });

  test('cron: ticks have an empty body and the time, and never overlap', async () => {
    let release: (() => void) | undefined;
    const answer = ({ method }: AppRequest, nth: number) =>
      method === 'POST' && nth === 2
        ? new Promise<undefined>((resolve) => {
            release = () => resolve(undefined);
          })
        : undefined;
    await using world = await bindingsWorld({ wire, answer, components: [tick()] });
    expect(world.delivered).toEqual([]);
    await world.pass('10s');
    const [first] = world.delivered;
    expect([first?.path, first?.body]).toEqual(['/tick', '']);
    expect(first?.headers).toMatchObject({ readtimeutc: new Date(world.clock.now()).toISOString() });
    expect(first?.headers['timezone']).not.toBe('');
    await world.clock.advance('35s');
    expect(world.delivered).toHaveLength(2);
    release?.();
    await world.clock.settled();
    await world.pass('10s');
    // Those at 30 s and 40 s are left out.
    expect(world.delivered).toHaveLength(3);
  });
});

test('code goes before the application, and the application follows it', async () => {
  const own = new OwnBinding();
  await using world = await createBindingsWorld({ components: [own.definition('in')] });
  const got: unknown[] = [];
  const input = world.sidecar.bindings.on<{ n: number }>('in', (data, { name, metadata }) => {
    got.push([name, data, { ...metadata }]);
    if (data === undefined) throw new Error('no data');
  });
  await world.start();
  await own.deliver?.(event('{"n":1}', { a: 'b' }));
  await own.deliver?.(event('plain'));
  await expect(own.deliver?.(event(''))).rejects.toThrow('no data');
  expect(got).toEqual([
    ['in', { n: 1 }, { a: 'b' }],
    ['in', 'plain', {}],
    ['in', undefined, {}],
  ]);
  expect(world.delivered).toEqual([]);
  await input.close();
  await own.deliver?.(event('2'));
  expect(world.delivered.map(({ body }) => body)).toEqual(['2']);
});

test('without an application, it is read while code handles it', async () => {
  await using world = await bindingsWorld({ components: [tick()], hasApp: false });
  const ticks: number[] = [];
  await world.pass('1m');
  const input = world.sidecar.bindings.on('tick', () => void ticks.push(world.clock.now()));
  await world.pass('30s');
  expect(ticks).toHaveLength(3);
  await input.close();
  await world.pass('1m');
  expect(ticks).toHaveLength(3);
});

test('a handler over its time limit has failed, and its signal fires', async () => {
  const own = new OwnBinding();
  await using world = await bindingsWorld({ components: [own.definition('in')], hasApp: false });
  const wait = (_data: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  world.sidecar.bindings.on('in', wait, { timeout: '5s' });
  await until(
    () => own.deliver !== undefined,
    () => 'reading',
  );
  const failed = expect(own.deliver?.(event('1'))).rejects.toThrow('5000 ms');
  await world.clock.advance('5s');
  await failed;
});

test('wrong names and a second handler are refused', async () => {
  const own = new OwnBinding();
  await using world = await createBindingsWorld({
    components: [tick(), own.definition('out', { options: { direction: ['output'] } })],
  });
  const { bindings } = world.sidecar;
  expect(() => bindings.on('tok', () => undefined)).toThrow('expected tick');
  expect(() => bindings.on('out', () => undefined)).toThrow('is not an input binding');
  expect(() => bindings.on('tick', 1 as never)).toThrow('expected a function');
  expect(() => bindings.on('tick', () => undefined, { timeout: -1 })).toThrow('timeout');
  bindings.on('tick', () => undefined);
  expect(() => bindings.on('tick', () => undefined)).toThrow('has a handler already');
});

test('of two hosts of an application, one gets each tick, and the other one goes on alone', async () => {
  const state = sharedState(memoryState());
  const [one, two] = await Promise.all([0, 1].map(() => bindingsWorld({ components: [tick()], state, hasApp: false })));
  await using first = one as NonNullable<typeof one>;
  await using second = two as NonNullable<typeof two>;
  const ticks: string[] = [];
  for (const [name, world] of Object.entries({ first, second }))
    world.sidecar.bindings.on('tick', () => void ticks.push(name));
  for (let step = 0; step < 60; step++) for (const world of [first, second]) await world.pass('1s');
  expect(ticks.length).toBeGreaterThanOrEqual(5);
  expect(ticks.length).toBeLessThanOrEqual(7);
  const [owner] = ticks.slice(-1);
  const [leaving, staying] = owner === 'first' ? [first, second] : [second, first];
  await leaving.stop();
  ticks.length = 0;
  for (let step = 0; step < 60; step++) await staying.pass('1s');
  expect(ticks.length).toBeGreaterThanOrEqual(4);
  expect(new Set(ticks)).toEqual(new Set([owner === 'first' ? 'second' : 'first']));
});

test('cron: five fields, six fields, zones; what never comes is refused', async () => {
  const at = async (schedule: string, forMs: number): Promise<readonly string[]> => {
    await using world = await bindingsWorld({ components: [cronBinding('c', { schedule })], hasApp: false });
    const ticks: string[] = [];
    world.sidecar.bindings.on('c', (_data, { metadata }) => void ticks.push(metadata['readTimeUTC'] ?? ''));
    await world.pass(forMs);
    return ticks.map((time) => time.slice(11, 19));
  };
  expect(new Set((await at('TZ=UTC */30 * * * *', 7_200_000)).map((time) => time.slice(3)))).toEqual(
    new Set(['00:00', '30:00']),
  );
  expect(new Set((await at('TZ=UTC 15 * * * * *', 180_000)).map((time) => time.slice(6)))).toEqual(new Set(['15']));
  expect(await at('TZ=Europe/Rome 0 6 * * *', 86_400_000)).toHaveLength(1);
  for (const schedule of ['0 0 30 2 *', '* * *', '@sometimes', '', '60 * * * * *'])
    expect(() => cronBinding('c', { schedule })).toThrow('schedule');
  expect(() => cronBinding('c', { schedule: '@daily', direction: ['up' as never] })).toThrow('direction');
});

test('a stop waits for the delivery under way', async () => {
  const own = new OwnBinding();
  const world = await bindingsWorld({ components: [own.definition('in')], hasApp: false });
  let finish: (() => void) | undefined;
  let isDone = false;
  world.sidecar.bindings.on('in', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    isDone = true;
  });
  await until(
    () => own.deliver !== undefined,
    () => 'reading',
  );
  const delivered = own.deliver?.(event('1'));
  const stopped = world.sidecar.stop();
  await until(
    () => own.deliver === undefined,
    () => 'the end of reading',
  );
  expect(own.isClosed).toBe(false);
  finish?.();
  await Promise.all([delivered, stopped]);
  expect([isDone, own.isClosed]).toEqual([true, true]);
  await world[Symbol.asyncDispose]();
});
