import { describe, expect, test } from 'vitest';
import type { TickOutcome } from '../../../../src/blocks/actors/model/tick.ts';
import type { ReminderChange } from '../../../../src/blocks/actors/reminders/reminder-service.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { DONE, FAILED, nameOf, ReminderWorld, START } from '../../../support/reminder-world.ts';

/** A tick that ends when the test says so. */
function pending(): { readonly outcome: Promise<TickOutcome>; readonly end: (outcome: TickOutcome) => void } {
  let end = (_outcome: TickOutcome): void => undefined;
  const outcome = new Promise<TickOutcome>((resolve) => {
    end = resolve;
  });
  return { outcome, end };
}

const NO_RETRY = { failurePolicy: { drop: {} } } as const;

describe('schedule', () => {
  test('the first call comes when it is due, then one per period', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '10s', period: '1m', data: '{"n":1.0}' });
    await world.pass('2m10s');
    expect(world.times).toEqual(['00:00:10', '00:01:10', '00:02:10']);
    expect(world.bodies[2]).toBe('{"data":{"n":1.0},"dueTime":"10s","period":"1m"}');
  });

  test('without a due time it is due at once, without a period once', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/now');
    await world.set('alice/every', { period: 'R3/PT1H' });
    await world.pass('1d');
    expect(world.seen.filter(({ what }) => what === 'alice/now')).toHaveLength(1);
    expect(world.seen.filter(({ what }) => what === 'alice/every').map(({ at }) => at.slice(11))).toEqual([
      ...['00:00:00', '01:00:00', '02:00:00'],
    ]);
    expect(await world.reminders.find(nameOf('alice/now'))).toBeUndefined();
    expect(await world.reminders.find(nameOf('alice/every'))).toBeUndefined();
    expect(await world.store.memory.scan({ from: 'actors!', to: 'actors"' })).toEqual([]);
  });

  test('a month of daily reminders', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/report', { dueTime: '9h', period: '24h' });
    await world.pass('30d');
    expect(world.seen).toHaveLength(30);
    expect(new Set(world.times)).toEqual(new Set(['09:00:00']));
  });

  test('no call begins after the end', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '1s', period: '1s', ttl: '3500ms' });
    await world.pass('1m');
    expect(world.times).toEqual(['00:00:01', '00:00:02', '00:00:03', '00:00:04']);
    expect(await world.reminders.find(nameOf('alice/expire'))).toBeUndefined();
  });

  test('also not one that was due before, and waited for its turn', async () => {
    await using world = await new ReminderWorld().start();
    const leave = world.hold('alice');
    await world.set('alice/expire', { dueTime: '1s', period: '10s', ttl: '2s' });
    await world.clock.advance('5s');
    leave();
    await world.pass('1m');
    expect(world.seen).toEqual([]);
    expect(await world.store.memory.scan({ from: 'actors!', to: 'actors"' })).toEqual([]);
  });

  test('also not one that was missed while no process ran', async () => {
    const world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '1s', period: '1s', ttl: '5s' });
    await world.restart('1h');
    await world.pass('1m');
    expect(world.seen).toEqual([]);
    await world.reminders.stop();
  });
});

describe('while nothing can run', () => {
  test('a reminder waits for the application, no attempt is counted, and what was missed is one call', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/once', { dueTime: '1s', ...NO_RETRY });
    await world.set('bob/every', { dueTime: '1s', period: '1s' });
    world.setPresent(false);
    await world.pass('1h');
    expect(world.seen).toEqual([]);
    world.setPresent(true);
    await world.pass('0s');
    expect(world.seen.map(({ what }) => what).toSorted()).toEqual(['alice/once', 'bob/every']);
    await world.pass('2s');
    expect(world.seen).toHaveLength(4);
  });

  test('with the names of Dapr each call that was missed is made', async () => {
    await using world = await new ReminderWorld({ everyTick: true }).start();
    await world.set('bob/every', { dueTime: '1s', period: '1s' });
    world.setPresent(false);
    await world.pass('5s');
    world.setPresent(true);
    await world.pass('0s');
    expect(world.seen).toHaveLength(5);
  });

  test('an application that goes away as it is called is no attempt either', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/once', { dueTime: '1s', ...NO_RETRY });
    world.tick = () => ({ kind: 'undelivered', reason: 'connection refused' });
    await world.pass('1s');
    world.tick = () => DONE;
    world.setPresent(true);
    await world.pass('0s');
    expect(world.seen).toHaveLength(2);
    await world.pass('1h');
    expect(world.seen).toHaveLength(2);
  });

  test('reminders outlive the process, and missed calls become one', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/every', { dueTime: '1m', period: '1m' });
    await world.restart('1h30s');
    await world.pass('0s');
    expect(world.times).toEqual(['01:00:30']);
    await world.pass('30s');
    expect(world.times.at(-1)).toBe('01:01:00');
  });
});

describe('a call that fails', () => {
  test('is tried again 3 times, 1 s apart; then the next one comes', async () => {
    await using world = await new ReminderWorld().start();
    world.tick = () => FAILED;
    await world.set('alice/expire', { period: '1m' });
    await world.pass('1m');
    expect(world.times).toEqual(['00:00:00', '00:00:01', '00:00:02', '00:00:03', '00:01:00']);
    expect(world.logger.at('error')).toHaveLength(1);
  });

  test('is tried again as its policy says', async () => {
    await using world = await new ReminderWorld().start();
    world.tick = () => FAILED;
    await world.set('alice/one', { failurePolicy: { constant: { maxRetries: 1, interval: '5s' } } });
    await world.set('bob/none', NO_RETRY);
    await world.pass('1m');
    expect(world.seen.map(({ what, at }) => `${what} ${at.slice(17)}`).toSorted()).toEqual([
      ...['alice/one 00', 'alice/one 05', 'bob/none 00'],
    ]);
    expect(await world.reminders.find(nameOf('alice/one'))).toBeUndefined();
  });
});

describe('turns', () => {
  test('calls of one reminder never overlap: what comes due meanwhile is one call', async () => {
    await using world = await new ReminderWorld().start();
    const first = pending();
    world.tick = () => first.outcome;
    await world.set('alice/expire', { period: '1s' });
    await world.clock.advance('10500ms');
    expect(world.seen).toHaveLength(1);
    world.tick = () => DONE;
    first.end(DONE);
    await world.pass('0s');
    expect(world.times).toEqual(['00:00:00', '00:00:10.500']);
    await world.pass('500ms');
    expect(world.times.at(-1)).toBe('00:00:11');
  });

  test('an actor at work holds up its own reminders only, however many there are', async () => {
    await using world = await new ReminderWorld().start();
    const leaves = Array.from({ length: 300 }, (_, number) => world.hold(`busy${number}`));
    for (let number = 0; number < 300; number++) await world.set(`busy${number}/tick`, { dueTime: '1s' });
    await world.set('free/tick', { dueTime: '2s' });
    await world.clock.advance('3s');
    expect(world.seen).toEqual([{ what: 'free/tick', at: '2026-01-01T00:00:02' }]);
    for (const leave of leaves) leave();
    await world.pass('0s');
    expect(world.seen).toHaveLength(301);
  });

  test('one that was deleted while it waited for its turn is not called', async () => {
    await using world = await new ReminderWorld().start();
    const leave = world.hold('alice');
    await world.set('alice/expire', { dueTime: '1s', period: '1s' });
    await world.clock.advance('1s');
    expect(await world.reminders.delete(nameOf('alice/expire'))).toBe(true);
    leave();
    await world.pass('1m');
    expect(world.seen).toEqual([]);
  });

  test('one that was replaced while it waited comes at its new time only', async () => {
    await using world = await new ReminderWorld().start();
    const leave = world.hold('alice');
    await world.set('alice/expire', { dueTime: '1s', data: '"old"' });
    await world.clock.advance('1s');
    await world.set('alice/expire', { dueTime: '10s', data: '"new"' });
    leave();
    await world.pass('1m');
    expect(world.seen).toEqual([{ what: 'alice/expire', at: '2026-01-01T00:00:11' }]);
    expect(world.bodies[0]).toContain('"new"');
  });

  test('a replacement by one that is due at the same instant counts once', async () => {
    await using world = await new ReminderWorld().start();
    const leave = world.hold('alice');
    const dueTime = new Date(START + 1_000).toISOString();
    await world.set('alice/expire', { dueTime, data: '"old"' });
    await world.clock.advance('1s');
    await world.set('alice/expire', { dueTime, data: '"new"' });
    leave();
    await world.pass('1m');
    expect(world.bodies).toEqual([expect.stringContaining('"new"')]);
  });

  test.each([
    ['deleted', false],
    ['replaced', true],
  ])('one that is %s during its call is so afterwards', async (_, isReplaced) => {
    await using world = await new ReminderWorld().start();
    const call = pending();
    world.tick = () => call.outcome;
    await world.set('alice/expire', { period: '1s' });
    await world.clock.advance('1ms');
    if (isReplaced) await world.set('alice/expire', { dueTime: '1h' });
    else await world.reminders.delete(nameOf('alice/expire'));
    call.end(DONE);
    await world.pass('2h');
    expect(world.times).toEqual(isReplaced ? ['00:00:00', '01:00:00.001'] : ['00:00:00']);
  });

  test('the actor may end it with its answer', async () => {
    await using world = await new ReminderWorld().start();
    world.tick = () => ({ kind: 'done', isCanceled: world.seen.length === 2 });
    await world.set('alice/expire', { period: '1s' });
    await world.pass('1m');
    expect(world.seen).toHaveLength(2);
    expect(await world.reminders.find(nameOf('alice/expire'))).toBeUndefined();
  });

  test('a stop does not wait for those that wait for their turns, and they come after it', async () => {
    const world = await new ReminderWorld().start();
    world.hold('alice');
    await world.set('bob/expire', { dueTime: '1s' });
    const call = pending();
    world.tick = () => call.outcome;
    await world.set('bob/other', { dueTime: '1s' });
    await world.clock.advance('1s');
    expect(world.seen).toHaveLength(1);
    call.end(DONE);
    world.tick = () => DONE;
    await world.restart('1m');
    await world.pass('0s');
    expect(world.seen.map(({ what }) => what).toSorted()).toEqual(['bob/expire', 'bob/other']);
    await world.reminders.stop();
  });

  test('2,000 at one instant all come, and leave the event loop to others', async () => {
    await using world = await new ReminderWorld().start();
    await Promise.all(Array.from({ length: 2_000 }, (_, number) => world.set(`a${number}/tick`, { dueTime: '1s' })));
    let longestMs = 0;
    let last = performance.now();
    const watch = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 1);
    await world.pass('1s');
    clearInterval(watch);
    expect(new Set(world.seen.map(({ what }) => what)).size).toBe(2_000);
    expect(world.seen).toHaveLength(2_000);
    expect(longestMs).toBeLessThan(1_000);
  });
});

describe('by name', () => {
  test('overwrite false keeps the one that is there', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '1h' });
    await expect(world.set('alice/expire', { overwrite: false })).rejects.toMatchObject({
      ...{ code: 'ERR_ACTOR_REMINDER_ALREADY_EXISTS', status: 409 },
    });
    expect((await world.reminders.find(nameOf('alice/expire')))?.nextRunAt).toBe(START + 3_600_000);
    await world.set('bob/expire', { overwrite: false });
    await world.pass('0s');
    expect(world.seen.map(({ what }) => what)).toEqual(['bob/expire']);
  });

  test('overwrite false takes the name of one that has ended', async () => {
    await using world = await new ReminderWorld().start();
    world.setPresent(false);
    await world.set('alice/expire', { period: '1s', ttl: '2s' });
    await world.pass('1m');
    expect(await world.reminders.find(nameOf('alice/expire'))).toBeUndefined();
    await world.set('alice/expire', { dueTime: '1h', overwrite: false });
    expect((await world.reminders.find(nameOf('alice/expire')))?.job.dueTime).toBe('1h');
  });

  test('one that is set again and again takes one commit each time, also after it has run', async () => {
    await using world = await new ReminderWorld().start();
    let commits = 0;
    const commitsOf = async (set: Promise<void>): Promise<number> => {
      commits = 0;
      await set;
      return commits;
    };
    world.store.interfere = (_batch, commit) => {
      commits++;
      return commit();
    };
    expect(await commitsOf(world.set('alice/expire', { dueTime: '1h' }))).toBe(1);
    expect(await commitsOf(world.set('alice/expire', { dueTime: '2h' }))).toBe(1);
    await world.pass('2h');
    expect(world.seen).toHaveLength(1);
    expect(await commitsOf(world.set('alice/expire', { dueTime: '1h' }))).toBe(1);
    await world.reminders.delete(nameOf('alice/expire'));
    expect(await commitsOf(world.set('alice/expire', { dueTime: '3h' }))).toBe(1);
    await world.pass('4h');
    expect(world.seen).toHaveLength(2);
  });

  test('what another host has made of one counts, and not what was written here', async () => {
    await using here = await new ReminderWorld().start();
    await using there = await new ReminderWorld({ store: new KeptStore(here.store.memory) }).start();
    const name = nameOf('alice/expire');
    await here.set('alice/expire', { dueTime: '1h' });
    await there.reminders.delete(name);
    await here.set('alice/expire', { dueTime: '2h', overwrite: false });
    await there.set('alice/expire', { dueTime: '3h' });
    await expect(here.set('alice/expire', { overwrite: false })).rejects.toMatchObject({ status: 409 });
    expect((await here.reminders.find(name))?.job.dueTime).toBe('3h');
    await here.set('alice/expire', { dueTime: '4h' });
    const { reminders } = await there.reminders.list(undefined, undefined, 10);
    expect(reminders.map(({ job }) => job.dueTime)).toEqual(['4h']);
  });

  test('to delete one that is missing is no error', async () => {
    await using world = await new ReminderWorld().start();
    expect(await world.reminders.delete(nameOf('alice/expire'))).toBe(false);
  });

  test('large data are stored apart and handed over', async () => {
    await using world = await new ReminderWorld().start();
    const data = JSON.stringify('x'.repeat(100_000));
    await world.set('alice/expire', { dueTime: '1s', data });
    expect((await world.reminders.find(nameOf('alice/expire')))?.data).toBe(data);
    await world.pass('1s');
    expect(world.bodies).toEqual([`{"data":${data},"dueTime":"1s","period":""}`]);
  });

  test('lists those of an actor, or of all, page by page', async () => {
    await using world = await new ReminderWorld().start();
    const long = 'x'.repeat(200);
    for (const name of ['alice/a', 'alice/b', 'alicea/a', `${long}/a`, 'bob/a'])
      await world.set(name, { dueTime: '1h' });
    const { reminders } = await world.reminders.list({ actorType: 'Cart', actorId: 'alice' }, undefined, 10);
    expect(reminders.map(({ name }) => name.name)).toEqual(['a', 'b']);
    const found: string[] = [];
    for (let start: string | undefined; ; ) {
      const page = await world.reminders.list(undefined, start, 2);
      found.push(...page.reminders.map(({ name }) => `${name.actorId}/${name.name}`));
      if (page.next === undefined) break;
      start = page.next;
    }
    expect(found.toSorted()).toEqual(['alice/a', 'alice/b', 'alicea/a', 'bob/a', `${long}/a`]);
  });

  test('runs one that was asked for, beside its schedule', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '1h', period: '1h' });
    expect(await world.reminders.run(nameOf('alice/expire'))).toBe(true);
    await world.pass('1h');
    expect(world.times).toEqual(['00:00:00', '01:00:00']);
    expect(await world.reminders.run(nameOf('alice/other'))).toBe(false);
  });
});

describe('in the commit of a turn', () => {
  const address = { actorType: 'Cart', actorId: 'alice' };
  const end = undefined;

  /** The change of a turn; `keeps`: a reminder that is there stays. */
  function setting(world: ReminderWorld, name: string, dueTime: string, keeps = false): ReminderChange {
    return { type: 'set', name, planned: world.reminders.plan({ ...address, name }, { dueTime }), keeps };
  }

  test('reminders are set and deleted with what else is in the commit', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/old', { dueTime: '1s' });
    await world.set('alice/moved', { dueTime: '1s' });
    const changes: ReminderChange[] = [
      setting(world, 'new', '2s'),
      setting(world, 'moved', '3s'),
      { type: 'delete', name: 'old' },
      { type: 'delete', name: 'missing' },
    ];
    await world.reminders.commitTurn(address, { changes, end }, async (part) => {
      expect(await world.reminders.find(nameOf('alice/new'))).toBeUndefined();
      part.committed(await world.store.memory.commit(part));
    });
    await world.pass('1m');
    expect(world.seen.map(({ what, at }) => `${what} ${at.slice(17)}`)).toEqual(['alice/new 02', 'alice/moved 03']);
  });

  test('is made again when a reminder has changed meanwhile', async () => {
    await using world = await new ReminderWorld().start();
    let tries = 0;
    await world.reminders.commitTurn(address, { changes: [setting(world, 'new', '2s')], end }, async (part) => {
      if (++tries === 1) await world.set('alice/new', { dueTime: '1h' });
      part.committed(await world.store.memory.commit(part));
    });
    await world.pass('1m');
    expect([tries, world.times]).toEqual([2, ['00:00:02']]);
  });

  test('a reminder that is there can be kept', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/there', { dueTime: '1h' });
    const changes = [setting(world, 'there', '2s', true), setting(world, 'new', '3s', true)];
    await world.reminders.commitTurn(address, { changes, end }, async (part) =>
      part.committed(await world.store.memory.commit(part)),
    );
    await world.pass('1h');
    expect(world.seen.map(({ what, at }) => `${what} ${at.slice(11)}`)).toEqual([
      'alice/new 00:00:03',
      'alice/there 01:00:00',
    ]);
  });

  test('a commit that fails in a way that leaves open what is stored is read again', async () => {
    await using world = await new ReminderWorld().start();
    const lost = world.reminders.commitTurn(address, { changes: [setting(world, 'new', '2s')], end }, async (part) => {
      await world.store.memory.commit(part);
      throw new Error('connection lost');
    });
    await expect(lost).rejects.toThrow('connection lost');
    await world.pass('1m');
    expect(world.times).toEqual(['00:00:02']);
  });

  test('times that cannot be refuse the change', async () => {
    await using world = await new ReminderWorld().start();
    expect(() => setting(world, 'new', 'soon')).toThrow(expect.objectContaining({ code: 'ERR_MALFORMED_REQUEST' }));
  });
});

describe('a store that fails', () => {
  test('refuses what is set, read and deleted, each with its code', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '1h' });
    world.store.failReads = true;
    world.store.interfere = () => Promise.reject(new Error('the disk is on fire'));
    await expect(world.set('alice/other')).rejects.toMatchObject({ code: 'ERR_ACTOR_REMINDER_CREATE', status: 500 });
    await expect(world.reminders.find(nameOf('alice/expire'))).rejects.toMatchObject({
      ...{ code: 'ERR_ACTOR_REMINDER_GET', status: 500 },
    });
    await expect(world.reminders.delete(nameOf('alice/expire'))).rejects.toMatchObject({
      ...{ code: 'ERR_ACTOR_REMINDER_DELETE', status: 500 },
    });
    world.store.failReads = false;
    world.store.interfere = (_batch, commit) => commit();
    await world.pass('1h');
    expect(world.times).toEqual(['01:00:00']);
  });

  test('a call whose end cannot be recorded at once is not made again', async () => {
    await using world = await new ReminderWorld().start();
    await world.set('alice/expire', { dueTime: '1s' });
    let refusals = 3;
    world.store.interfere = (_batch, commit) => {
      if (refusals-- > 0) return Promise.reject(new Error('the disk is on fire'));
      return commit();
    };
    await world.pass('1h');
    expect(world.seen).toHaveLength(1);
    expect(await world.reminders.find(nameOf('alice/expire'))).toBeUndefined();
  });
});
