import { describe, expect, test } from 'vitest';
import { Actor } from '../../../../src/index.ts';
import { patientClock } from '../../../support/clock.ts';
import { TestSidecar } from '../../../support/sidecar.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

const seen: string[] = [];

class Cart extends Actor {
  set(name: string, options: object): void {
    this.reminders.set(name, options);
  }

  override onReminder(name: string): void {
    seen.push(`${this.type} ${this.id} ${name}`);
  }
}
class Plant extends Cart {}

/** A sidecar with three carts, two of which have reminders, and a plant. */
async function world(): Promise<TestSidecar> {
  const own = new TestSidecar({ clock: patientClock({ startAt: START }) });
  own.sidecar.actors.register(Cart);
  own.sidecar.actors.register(Plant);
  await own.start();
  const { actors } = own.sidecar;
  await actors.get(Cart, 'a').set('expire', { dueTime: '1h', period: '1h', data: { n: 1 } });
  await actors.get(Cart, 'a').set('report', { dueTime: '2h' });
  await actors.get(Cart, 'b.').set('expire', { dueTime: '3h' });
  await actors.get(Plant, 'a').set('water', { dueTime: '4h' });
  seen.length = 0;
  return own;
}

async function namesOf(list: AsyncIterable<{ actorType: string; actorId: string; name: string }>): Promise<string[]> {
  const names: string[] = [];
  for await (const { actorType, actorId, name } of list) names.push(`${actorType} ${actorId} ${name}`);
  return names.toSorted();
}

describe('reminders from outside', () => {
  test('are listed: all, those of a type, and those of an actor', async () => {
    await using own = await world();
    const { reminders } = own.sidecar.actors;
    const carts = ['Cart a expire', 'Cart a report', 'Cart b. expire'];
    expect(await namesOf(reminders.list())).toEqual([...carts, 'Plant a water']);
    expect(await namesOf(reminders.list({ type: 'Cart' }))).toEqual(carts);
    expect(await namesOf(reminders.list({ type: 'Cart', id: 'a' }))).toEqual(carts.slice(0, 2));
    expect(await namesOf(reminders.list({ type: 'Missing' }))).toEqual([]);
  });

  test('are listed a page at a time', async () => {
    await using own = await world();
    const { reminders } = own.sidecar.actors;
    const first = await reminders.listPage({ type: 'Cart', id: 'a', limit: 1 });
    expect(first.reminders).toMatchObject([{ name: 'expire', period: '1h', nextRunAt: START + 3_600_000, runs: 0 }]);
    const second = await reminders.listPage({ type: 'Cart', id: 'a', limit: 1, cursor: first.cursor });
    expect(second).toEqual({ reminders: [expect.objectContaining({ name: 'report' })] });
    expect((await reminders.listPage({ type: 'Plant', id: 'a', cursor: first.cursor })).reminders).toHaveLength(1);
  });

  test('are read, run beside their times, and deleted', async () => {
    await using own = await world();
    const { reminders } = own.sidecar.actors;
    expect(await reminders.get('Cart', 'a', 'expire')).toMatchObject({ data: { n: 1 }, dueTime: '1h' });
    expect(await reminders.run('Cart', 'a', 'expire')).toBe(true);
    await own.clock.settled();
    expect(seen).toEqual(['Cart a expire']);
    expect(await reminders.get('Cart', 'a', 'expire')).toMatchObject({
      ...{ runs: 0, nextRunAt: START + 3_600_000, lastRun: { outcome: 'done', attempt: 1 } },
    });
    expect(await reminders.delete('Cart', 'a', 'expire')).toBe(true);
    expect(await reminders.delete('Cart', 'a', 'expire')).toBe(false);
    expect(await reminders.run('Cart', 'a', 'expire')).toBe(false);
    expect(await reminders.get('Cart', 'a', 'expire')).toBeUndefined();
    await own.clock.advance('1d');
    expect(seen.filter((name) => name === 'Cart a expire')).toHaveLength(1);
  });

  test('what cannot be is refused with the value and what was expected', async () => {
    await using own = await world();
    const { reminders } = own.sidecar.actors;
    const refused = { code: 'ERR_INVALID_ARGUMENT' };
    await expect(reminders.listPage({ id: 'a' })).rejects.toMatchObject({ ...refused, argument: 'options.id' });
    await expect(reminders.listPage({ limit: 0 })).rejects.toMatchObject(refused);
    await expect(reminders.listPage({ type: 'a/b', id: 'a' })).rejects.toMatchObject(refused);
    for (const change of ['get', 'run', 'delete'] as const) {
      await expect(reminders[change]('Cart', 'a', 'x/y')).rejects.toMatchObject(refused);
      await expect(reminders[change]('Cart', 5 as never, 'x')).rejects.toThrow('the actor ID is 5: expected a text');
    }
  });

  test('active actors can be those of one type', async () => {
    await using own = await world();
    expect(own.sidecar.actors.active('Plant')).toEqual([{ actorType: 'Plant', actorId: 'a', calls: 0, waiting: 0 }]);
    expect(own.sidecar.actors.active()).toHaveLength(3);
  });
});
