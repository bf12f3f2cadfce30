/** Reminders and timers over HTTP: what becomes of them by what the application answers, and by what it does meanwhile. */
import { describe, expect, test } from 'vitest';
import { type ActorAnswer, ActorApp, type ActorsWorld, actorsWorld } from '../support/actors-world.ts';
import { listen } from '../support/http.ts';
import { WIRES } from '../support/stores-world.ts';

const CANCEL = { sidecar: 'x-sidecarremindercancel', dapr: 'x-daprremindercancel' } as const;

const ticksOf = (world: ActorsWorld, name: string): readonly string[] =>
  world.app
    .of('PUT')
    .map(({ path }) => path)
    .filter((path) => path.endsWith(`/${name}`));

describe.each(WIRES)('wire %s', (wire) => {
  test.each(['POST', 'PUT'])(
    '%s sets, whatever the body leaves out; keys that are not known are ignored',
    async (method) => {
      await using world = await actorsWorld({ wire });
      const bodies = ['{}', '{"dueTime":"","period":null,"ttl":""}', '{"dueTime":"2020-01-01T00:00:00Z","more":[1]}'];
      for (const [index, body] of bodies.entries()) {
        expect((await world.call(`Cart/a/reminders/r${index}`, { body }, method)).status).toBe(204);
        expect((await world.call(`Cart/a/timers/t${index}`, { body }, method)).status).toBe(204);
      }
      await world.pass('1m');
      for (const name of ['r0', 'r1', 'r2', 't0', 't1', 't2'])
        expect([name, ticksOf(world, name).length]).toEqual([name, 1]);
    },
  );

  test.each([
    ['R3/PT1S', 3],
    ['R1/PT1S', 1],
    ['PT20S', 3],
    ['20s', 3],
    ['P1D', 1],
    ['1m0.5s', 1],
  ])('a period of %s: %i calls in a minute, the first at once', async (period, count) => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/reminders/r', { body: { period } });
    await world.call('Cart/b/timers/t', { body: { period } });
    await world.pass('59s');
    expect([ticksOf(world, 'r').length, ticksOf(world, 't').length]).toEqual([count, count]);
  });

  test.each([
    ['dueTime', ['5', 'soon', ' ', 'P', 'PT', 'R5/PT1S', '@every 1s', '2026-01-01']],
    [
      'period',
      ['R0/PT1S', 'R-1/PT1S', 'R/PT1S', '0s', '-1s', 'PT0S', '-PT1S', 'PT', '* * * * * *', '2099-01-01T00:00:00Z'],
    ],
    ['ttl', ['soon', '-1s', '2020-01-01T00:00:00Z']],
  ])('%s that cannot be', async (field, values) => {
    await using world = await actorsWorld({ wire });
    for (const value of [...values, 5, true, {}])
      for (const path of ['reminders/r', 'timers/t']) {
        const body = { dueTime: '1s', period: '1s', [field]: value };
        const answer = await world.call(`Cart/a/${path}`, { body });
        expect([path, value, ...answer.error]).toEqual([path, value, 400, 'ERR_MALFORMED_REQUEST']);
      }
    await world.pass('1m');
    expect(world.app.requests).toEqual([]);
    expect((await world.call('Cart/a/reminders/r', {}, 'GET')).status).toBe(404);
  });

  test.each([
    [200, 1],
    [201, 1],
    [204, 1],
    [302, 4],
    [404, 4],
    [500, 4],
  ])('%i to a reminder: %i attempts, and the next call comes', async (status, attempts) => {
    await using world = await actorsWorld({ wire, answer: () => ({ status, headers: { location: '/' } }) });
    await world.call('Cart/a/reminders/r', { body: '{"period":"R2/PT1M"}' });
    await world.call('Cart/a/timers/t', { body: '{"period":"R2/PT1M"}' });
    await world.pass('30s');
    expect([ticksOf(world, 'r').length, ticksOf(world, 't').length]).toEqual([attempts, 1]);
    await world.pass('1m');
    expect([ticksOf(world, 'r').length, ticksOf(world, 't').length]).toEqual([2 * attempts, 2]);
  });

  test.each([
    ['true', 200, 1],
    ['1', 204, 1],
    ['yes', 200, 1],
    ['on', 200, 1],
    ['TRUE', 200, 1],
    ['false', 200, 3],
    ['0', 200, 3],
    ['', 200, 3],
    ['true', 500, 3],
  ])('the cancel header as %j with a status of %i: %i calls', async (value, status, count) => {
    const answer = (): ActorAnswer => ({ status, headers: { [CANCEL[wire]]: value } });
    await using world = await actorsWorld({ wire, answer });
    const body = '{"period":"R3/PT1M","failure_policy":{"drop":{}}}';
    await world.call('Cart/a/reminders/r', { body });
    await world.call('Cart/a/timers/t', { body });
    await world.pass('10m');
    expect([ticksOf(world, 'r').length, ticksOf(world, 't').length]).toEqual([count, count]);
  });

  test('a connection that breaks after the request was sent is a failed attempt', async () => {
    const app = new ActorApp({ entities: ['Cart'] });
    let asked = 0;
    await using server = await listen((req, res) => {
      if (req.method !== 'PUT') app.listener(req, res);
      else if (++asked > 0) req.socket.destroy();
    });
    await using world = await actorsWorld({ wire, app: { port: server.port } });
    await world.call('Cart/a/reminders/r', {
      body: '{"failure_policy":{"constant":{"max_retries":2,"interval":"1s"}}}',
    });
    await world.pass('1m');
    expect(asked).toBe(3);
    expect((await world.call('Cart/a/reminders/r', {}, 'GET')).status).toBe(404);
  });

  test('a timer and a reminder of one name are two', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/reminders/n', { body: '{"dueTime":"1s","period":"R2/PT1S","data":"reminder"}' });
    await world.call('Cart/a/timers/n', { body: '{"dueTime":"1s","period":"R2/PT1S","data":"timer"}' });
    expect((await world.call('Cart/a/timers/n', {}, 'DELETE')).status).toBe(204);
    await world.pass('1m');
    expect(ticksOf(world, 'n')).toEqual(['/actors/Cart/a/method/remind/n', '/actors/Cart/a/method/remind/n']);
  });

  test.each(['reminders', 'timers'])(
    'one of %s that is replaced in its own call has the new times and data',
    async (kind) => {
      await using world = await actorsWorld({ wire });
      world.app.answer = async (_request, nth) => {
        if (nth === 1)
          expect((await world.call(`Cart/a/${kind}/n`, { body: '{"dueTime":"5s","data":"new"}' })).status).toBe(204);
        return {};
      };
      await world.call(`Cart/a/${kind}/n`, { body: '{"period":"1s","data":"old"}' });
      await world.pass('4s');
      expect(world.app.of('PUT')).toHaveLength(1);
      await world.pass('1m');
      const data = world.app.of('PUT').map(({ body }) => (JSON.parse(body) as { data: string }).data);
      expect(data).toEqual(['old', 'new']);
    },
  );

  test.each(['reminders', 'timers'])('one of %s that is deleted in its own call does not come again', async (kind) => {
    await using world = await actorsWorld({ wire });
    world.app.answer = async ({ method }) => {
      if (method === 'PUT') expect((await world.call(`Cart/a/${kind}/n`, {}, 'DELETE')).status).toBe(204);
      return { status: 500 };
    };
    await world.call(`Cart/a/${kind}/n`, { body: '{"period":"1s"}' });
    await world.pass('1m');
    expect(world.app.of('PUT')).toHaveLength(1);
    expect((await world.call('Cart/a/reminders/n', {}, 'GET')).status).toBe(404);
  });

  test('overwrite: a reminder is replaced with its count and its time; false answers 409 and changes nothing', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/reminders/r', { body: '{"period":"R3/PT10S","data":1}' });
    await world.pass('11s');
    expect(ticksOf(world, 'r')).toHaveLength(2);
    const refused = await world.call('Cart/a/reminders/r', { body: '{"data":2,"overwrite":false}' });
    expect(refused.error).toEqual([409, 'ERR_ACTOR_REMINDER_ALREADY_EXISTS']);
    expect((await world.call('Cart/a/reminders/r', {}, 'GET')).json['data']).toBe(1);
    await world.call('Cart/a/reminders/r', { body: '{"period":"R3/PT10S","data":3,"overwrite":true}' });
    await world.pass('1m');
    expect(ticksOf(world, 'r')).toHaveLength(5);
    expect((await world.call('Cart/a/reminders/r', { body: '{"overwrite":false}' })).status).toBe(204);
  });

  test('ttl: no call begins after it, an instant or a duration from the first call on', async () => {
    await using world = await actorsWorld({ wire });
    const until = new Date(world.clock.now() + 25_000).toISOString();
    await world.call('Cart/a/reminders/r', { body: { dueTime: '10s', period: '10s', ttl: '25s' } });
    await world.call('Cart/a/timers/t', { body: { dueTime: '10s', period: '10s', ttl: until } });
    await world.call('Cart/a/reminders/once', { body: { dueTime: '1m', ttl: '1s' } });
    const read = await world.call('Cart/a/reminders/r', {}, 'GET');
    expect(read.json['ttl']).toBe(wire === 'dapr' ? '2026-01-01T00:00:35.000Z' : '25s');
    await world.pass('2m');
    expect(['r', 't', 'once'].map((name) => ticksOf(world, name).length)).toEqual([3, 2, 1]);
  });

  test('data of any kind arrive as they were sent, every digit of them', async () => {
    await using world = await actorsWorld({ wire });
    const values = ['12345678901234567890.10', '"ü€\\u0000"', 'null', '[]', '{"a":1e400}', 'false'];
    for (const [index, data] of values.entries()) {
      await world.call(`Cart/a/reminders/r${index}`, { body: `{"dueTime":"1s","data":${data}}` });
      expect((await world.call(`Cart/a/reminders/r${index}`, {}, 'GET')).text).toContain(`"data":${data}`);
      await world.call(`Cart/a/timers/t${index}`, { body: `{"data":${data}, "callback":"c"}` });
    }
    await world.pass('2s');
    for (const [index, data] of values.entries())
      for (const name of [`r${index}`, `t${index}`]) {
        const [request] = world.app.of('PUT').filter(({ path }) => path.endsWith(`/${name}`));
        expect([name, request?.body]).toEqual([name, expect.stringContaining(`"data":${data},`)]);
      }
  });
});

test('with the names of Dapr the metadata have the state of the actor runtime', async () => {
  await using world = await actorsWorld({ wire: 'dapr' });
  await world.call('Cart/a/method/m');
  const { json } = await world.send('GET', '/v1.0/metadata');
  expect(json['actorRuntime']).toEqual({
    ...{ runtimeStatus: 'RUNNING', hostReady: true, placement: 'placement: connected' },
    activeActors: [{ type: 'Cart', count: 1 }],
  });
  await using own = await actorsWorld();
  expect((await own.send('GET', '/v1.0/metadata')).json).not.toHaveProperty('actorRuntime');
});

test('activations do not change the version of the placement table', async () => {
  await using world = await actorsWorld({ dapr: { placement: { enabled: true } } });
  const version = async (): Promise<unknown> => (await world.send('GET', '/placement/state')).json['tableVersion'];
  const before = await version();
  for (const id of ['a', 'b', 'c']) await world.call(`Cart/${id}/method/m`);
  await world.pass('10s');
  expect(await version()).toEqual(before);
});
