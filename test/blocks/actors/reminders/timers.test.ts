import { expect, test } from 'vitest';
import type { TimerFields } from '../../../../src/blocks/actors/reminders/fields.ts';
import { DONE, FAILED, nameOf, ReminderWorld } from '../../../support/reminder-world.ts';

async function start(): Promise<ReminderWorld & { timer(name: string, fields?: TimerFields): void }> {
  const world = await new ReminderWorld().start();
  return Object.assign(world, {
    timer: (name: string, fields: TimerFields = {}) => world.timers.set(nameOf(name), fields),
  });
}

test('a timer calls its actor, which it activates, when it is due and once per period', async () => {
  await using world = await start();
  world.timer('alice/tick', { dueTime: '250ms', period: '500ms', callback: 'onTick', data: '1.0' });
  expect(world.active.has('alice')).toBe(true);
  await world.pass('1300ms');
  expect(world.times).toEqual(['00:00:00.250', '00:00:00.750', '00:00:01.250']);
  expect(world.bodies[0]).toBe('{"callback":"onTick","data":1.0,"dueTime":"250ms","period":"500ms"}');
});

test('without times it calls once, at once; R<n> calls so often, and a ttl ends it', async () => {
  await using world = await start();
  world.timer('alice/once');
  world.timer('bob/thrice', { dueTime: '1s', period: 'R3/PT1S' });
  world.timer('carol/short', { period: '1s', ttl: '1500ms' });
  await world.pass('1m');
  expect(world.seen.map(({ what }) => what).toSorted()).toEqual([
    ...['alice/once', 'bob/thrice', 'bob/thrice', 'bob/thrice', 'carol/short', 'carol/short'],
  ]);
  expect(world.timers.size).toBe(0);
});

test('a failing call is logged, not repeated, and the next one comes', async () => {
  await using world = await start();
  world.tick = () => FAILED;
  world.timer('alice/tick', { period: '10s' });
  await world.pass('10s');
  expect(world.times).toEqual(['00:00:00', '00:00:10']);
  expect(world.logger.at('warn')).toHaveLength(2);
});

test('a call that takes longer than the period delays the next one', async () => {
  await using world = await start();
  let end = (): void => undefined;
  world.tick = () =>
    new Promise((resolve) => {
      end = () => resolve(DONE);
    });
  world.timer('alice/tick', { period: '1s' });
  await world.clock.advance('3500ms');
  expect(world.seen).toHaveLength(1);
  world.tick = () => DONE;
  end();
  await world.pass('0s');
  expect(world.times).toEqual(['00:00:00', '00:00:03.500']);
  await world.pass('500ms');
  expect(world.times.at(-1)).toBe('00:00:04');
});

test('ends with the deactivation of its actor, also while it waits for its turn', async () => {
  await using world = await start();
  const leave = world.hold('alice');
  world.timer('alice/tick', { period: '1s' });
  world.timer('alice/other', { dueTime: '1h' });
  world.timer('bob/tick', { dueTime: '5s' });
  await world.clock.advance('1s');
  world.deactivate('alice');
  leave();
  await world.pass('2h');
  expect(world.seen.map(({ what }) => what)).toEqual(['bob/tick']);
});

test('replaces one of its name, and is deleted by it', async () => {
  await using world = await start();
  world.timer('alice/tick', { dueTime: '1s', data: '1' });
  world.timer('alice/tick', { dueTime: '2s', data: '2' });
  world.timer('alice/gone', { dueTime: '1s' });
  expect(world.timers.delete(nameOf('alice/gone'))).toBe(true);
  expect(world.timers.delete(nameOf('alice/gone'))).toBe(false);
  await world.pass('1m');
  expect(world.times).toEqual(['00:00:02']);
  expect(world.bodies[0]).toContain('"data":2');
});

test('one that is replaced during its call has the new times', async () => {
  await using world = await start();
  world.tick = () => {
    if (world.seen.length === 1) world.timer('alice/tick', { dueTime: '1m' });
    return DONE;
  };
  world.timer('alice/tick', { period: '1s' });
  await world.pass('2m');
  expect(world.times).toEqual(['00:00:00', '00:01:00']);
});

test('the actor may end it with its answer', async () => {
  await using world = await start();
  world.tick = () => ({ kind: 'done', isCanceled: true });
  world.timer('alice/tick', { period: '1s' });
  await world.pass('1m');
  expect(world.seen).toHaveLength(1);
});

test('is refused as a reminder is, and then there is none', async () => {
  await using world = await start();
  expect(() => world.timer('alice/tick', { period: '0s' })).toThrow(
    expect.objectContaining({ code: 'ERR_MALFORMED_REQUEST', status: 400 }),
  );
  expect(world.active.size).toBe(0);
  expect(world.timers.size).toBe(0);
});

test('does not outlive its host', async () => {
  await using world = await start();
  world.timer('alice/tick', { dueTime: '1s' });
  await world.restart('1m');
  await world.pass('1m');
  expect(world.seen).toEqual([]);
});

test('actors at work hold up their own timers only', async () => {
  await using world = await start();
  const leaves = Array.from({ length: 300 }, (_, number) => world.hold(`busy${number}`));
  for (let number = 0; number < 300; number++) world.timer(`busy${number}/tick`, { dueTime: '1s' });
  world.timer('free/tick', { dueTime: '2s' });
  await world.clock.advance('3s');
  expect(world.seen.map(({ what }) => what)).toEqual(['free/tick']);
  for (const leave of leaves) leave();
  await world.pass('0s');
  expect(world.seen).toHaveLength(301);
});
