import { describe, expect, test } from 'vitest';
import { type ActorsWorld, actorsWorld } from '../support/actors-world.ts';

const WIRES = ['sidecar', 'dapr'] as const;
const CANCEL = { sidecar: 'X-SidecarReminderCancel', dapr: 'X-DaprReminderCancel' } as const;

/** The callbacks that the application got, as `<path> <body>`. */
function ticks(world: ActorsWorld): readonly string[] {
  return world.app.of('PUT').map(({ path, body }) => `${path} ${body}`);
}

describe.each(WIRES)('wire %s', (wire) => {
  test('a reminder is stored, read, called and over', async () => {
    await using world = await actorsWorld({ wire });
    const body = '{"dueTime":"1s","period":"R2/PT1S","data":{"n":1.50}}';
    expect(await world.call('Cart/a%20b/reminders/100%25', { body }, 'PUT')).toMatchObject({ status: 204, text: '' });
    const read = await world.call('Cart/a%20b/reminders/100%25', {}, 'GET');
    expect(read.status).toBe(200);
    expect(read.headers['content-type']).toBe('application/json');
    expect(read.text).toContain('"data":{"n":1.50}');
    const actor = { actorType: 'Cart', actorID: 'a b' };
    expect(JSON.parse(read.text)).toEqual(
      wire === 'dapr'
        ? { ...actor, data: { n: 1.5 }, dueTime: '1s', period: '@every 1s' }
        : { data: { n: 1.5 }, dueTime: '1s', period: 'R2/PT1S' },
    );
    await world.pass('10s');
    const tick = '/actors/Cart/a%20b/method/remind/100%25 {"data":{"n":1.50},"dueTime":"1s","period":"R2/PT1S"}';
    expect(ticks(world)).toEqual([tick, tick]);
    expect(world.app.of('PUT')[0]?.headers['content-type']).toBe('application/json');
    expect(await world.call('Cart/a%20b/reminders/100%25', {}, 'GET')).toMatchObject({ status: 404 });
  });

  test('a deleted one is not called', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/reminders/r', { body: '{"dueTime":"1s"}' });
    expect(await world.call('Cart/a/reminders/r', {}, 'DELETE')).toMatchObject({ status: 204 });
    expect(await world.call('Cart/a/reminders/r', {}, 'DELETE')).toMatchObject({ status: 204 });
    const read = await world.call('Cart/a/reminders/r', {}, 'GET');
    expect(JSON.parse(read.text)).toMatchObject({ errorCode: 'ERR_ACTOR_REMINDER_NOT_FOUND' });
    await world.pass('1m');
    expect(ticks(world)).toEqual([]);
  });

  test.each([
    ['Cart/a/reminders/r', '[]', 400, 'ERR_MALFORMED_REQUEST'],
    ['Cart/a/reminders/r', '{"dueTime":5}', 400, 'ERR_MALFORMED_REQUEST'],
    ['Cart/a/reminders/r', '{"dueTime":"soon"}', 400, 'ERR_MALFORMED_REQUEST'],
    ['Cart/a/reminders/r', '{"period":"R0/PT1S"}', 400, 'ERR_MALFORMED_REQUEST'],
    ['Cart/a/timers/t', '{"period":"-1s"}', 400, 'ERR_MALFORMED_REQUEST'],
    ['Cart/a/timers/t', '', 400, 'ERR_MALFORMED_REQUEST'],
    ['Cart/a/reminders/a%2Fb', '{}', 400, 'ERR_BAD_REQUEST'],
    ['Cart/a%23b/timers/t', '{}', 400, 'ERR_BAD_REQUEST'],
    ['Other/a/reminders/r', '{}', 403, 'ERR_ACTOR_REMINDER_NON_HOSTED'],
    ['Other/a/timers/t', '{}', 403, 'ERR_ACTOR_REMINDER_NON_HOSTED'],
    [`${wire}.internal.x/a/reminders/r`, '{}', 403, 'ERR_ACTOR_TYPE_RESERVED'],
  ])('%s with %s: %d', async (path, body, status, errorCode) => {
    await using world = await actorsWorld({ wire });
    const answer = await world.call(path, { body });
    expect({ status: answer.status, ...JSON.parse(answer.text) }).toMatchObject({ status, errorCode });
  });

  test('a type that is not hosted: also no read and no delete', async () => {
    await using world = await actorsWorld({ wire });
    for (const method of ['GET', 'DELETE'])
      expect(await world.call('Other/a/reminders/r', {}, method)).toMatchObject({ status: 403 });
    expect(await world.call('Cart/a/timers/t', {}, 'GET')).toMatchObject({ status: 405 });
  });

  test('overwrite false: 409 if there is one', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/reminders/r', { body: '{"dueTime":"1h"}' });
    const again = await world.call('Cart/a/reminders/r', { body: '{"overwrite":false}' });
    expect({ status: again.status, ...JSON.parse(again.text) }).toMatchObject({
      ...{ status: 409, errorCode: 'ERR_ACTOR_REMINDER_ALREADY_EXISTS' },
    });
  });

  test('the cancel header ends a reminder and a timer', async () => {
    const answer = (): object => ({ headers: { [CANCEL[wire]]: 'true' } });
    await using world = await actorsWorld({ wire, answer });
    await world.call('Cart/a/reminders/r', { body: '{"period":"1s"}' });
    await world.call('Cart/b/timers/t', { body: '{"period":"1s"}' });
    await world.pass('1m');
    expect(ticks(world)).toHaveLength(2);
    expect(await world.call('Cart/a/reminders/r', {}, 'GET')).toMatchObject({ status: 404 });
  });

  test('a failing reminder is tried again as its policy says', async () => {
    await using world = await actorsWorld({ wire, answer: () => ({ status: 500 }) });
    await world.call('Cart/a/reminders/r', {
      body: '{"failure_policy":{"constant":{"max_retries":1,"interval":"5s"}}}',
    });
    await world.call('Cart/b/reminders/r', { body: '{"failure_policy":{"drop":{}}}' });
    await world.pass('1m');
    expect(ticks(world)).toHaveLength(3);
  });

  test('a timer calls its actor, which it activates, and ends with its deactivation', async () => {
    const configuration = { entities: ['Cart'], actorIdleTimeout: '10s' };
    await using world = await actorsWorld({ wire, configuration });
    const body = '{"dueTime":"1s","callback":"onTick","data":5}';
    expect(await world.call('Cart/a/timers/t', { body })).toMatchObject({ status: 204 });
    await world.call('Cart/a/timers/late', { body: '{"dueTime":"1h"}' });
    expect(world.sidecar.actors.active()).toHaveLength(1);
    await world.pass('1s');
    expect(ticks(world)).toEqual([
      '/actors/Cart/a/method/timer/t {"callback":"onTick","data":5,"dueTime":"1s","period":""}',
    ]);
    await world.pass('2h');
    expect(world.app.of('DELETE')).toHaveLength(1);
    expect(ticks(world)).toHaveLength(1);
  });

  test('a deleted timer does not call', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/timers/t', { body: '{"dueTime":"1s"}' });
    expect(await world.call('Cart/a/timers/t', {}, 'DELETE')).toMatchObject({ status: 204 });
    expect(await world.call('Cart/a/timers/t', {}, 'DELETE')).toMatchObject({ status: 204 });
    await world.pass('1m');
    expect(ticks(world)).toEqual([]);
  });
});

test('a tick waits for the turn of its actor, and holds up no other', async () => {
  let end = (): void => undefined;
  const busy = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  await using world = await actorsWorld({ answer: ({ path }) => (path.endsWith('/slow') ? busy : undefined) });
  const call = world.call('Cart/a/method/slow');
  await expect.poll(() => world.app.of('PUT').length).toBe(1);
  await world.call('Cart/a/reminders/r', { body: '{"dueTime":"1s"}' });
  await world.call('Cart/b/reminders/r', { body: '{"dueTime":"2s"}' });
  await world.clock.advance('3s');
  expect(
    ticks(world)
      .slice(1)
      .map((tick) => tick.split('/')[3]),
  ).toEqual(['b']);
  end();
  await call;
  await world.pass('0s');
  expect(ticks(world)).toHaveLength(3);
});

test.each([
  ['sidecar', undefined, 2],
  ['dapr', undefined, 5],
  ['sidecar', 'all', 5],
  ['dapr', 'once', 2],
] as const)('calls that were missed: wire %s, missedTicks %s: %d calls', async (wire, missedTicks, count) => {
  let end = (): void => undefined;
  const busy = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  await using world = await actorsWorld({
    ...{ wire, jobs: { missedTicks } },
    answer: (_request, nth) => (nth === 1 ? busy : undefined),
  });
  await world.call('Cart/a/reminders/r', { body: '{"dueTime":"1s","period":"1s"}' });
  await world.clock.advance('5500ms');
  end();
  await world.pass('0s');
  expect(ticks(world)).toHaveLength(count);
});
