import { describe, expect, test } from 'vitest';
import { Actor, type ActorTickContext } from '../../../src/index.ts';
import { patientClock } from '../../support/clock.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { TestSidecar, type TestSidecarOptions } from '../../support/sidecar.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface PlantState {
  waterings: number;
  seen: unknown[];
}

/** When each call came, counted from the start. */
const calls: string[] = [];

class Plant extends Actor<PlantState> {
  /** Changes state and reminders, and does with the turn what it is told. */
  async water(period: string, failure?: string): Promise<number> {
    this.state.waterings = (this.state.waterings ?? 0) + 1;
    this.reminders.set('water', { dueTime: period, period, data: { cans: this.state.waterings } });
    this.timers.set('drip', { dueTime: '1s', data: 'drop' });
    if (failure !== undefined) throw new Error(failure);
    return (await this.reminders.get('water'))?.nextRunAt ?? 0;
  }

  set(name: string, options: object): void {
    this.reminders.set(name, options);
  }

  setTimer(name: string, options: object): void {
    this.timers.set(name, options);
  }

  async forget(name: string): Promise<unknown> {
    this.reminders.delete(name);
    this.timers.delete('drip');
    return (await this.reminders.get(name)) ?? null;
  }

  show(name: string): Promise<unknown> {
    return this.reminders.get(name);
  }

  seen(): readonly unknown[] {
    return this.state.seen ?? [];
  }

  later(): void {
    late = () => this.reminders.set('late');
  }

  override onReminder(name: string, data: unknown, { dueAt, attempt }: ActorTickContext): boolean {
    this.state.seen = [...(this.state.seen ?? []), { name, data, dueAt, attempt }];
    if (name === 'fails' && attempt < 3) throw new Error('dry');
    if (name === 'once more') this.reminders.set('once more', { dueTime: '1m', ttl: '1m', ifExists: 'keep' });
    if (name === 'moves on') this.reminders.set('moved', { dueTime: '1m', data });
    if (name === 'moves on') this.reminders.delete('moves on');
    return name === 'enough';
  }

  override onTimer(name: string, data: unknown, { dueAt, attempt }: ActorTickContext): void {
    calls.push(JSON.stringify({ name, data, dueAt: dueAt - START, attempt }));
  }
}

let late = (): void => undefined;

async function world(options: TestSidecarOptions = {}): Promise<TestSidecar> {
  const made = new TestSidecar({ clock: patientClock({ startAt: START }), ...options });
  made.sidecar.actors.register(Plant);
  await made.start();
  calls.length = 0;
  return made;
}

async function pass(own: TestSidecar, by: `${number}${'s' | 'm' | 'h' | 'd'}`): Promise<void> {
  await own.clock.advance(by);
  await own.clock.settled();
}

describe('reminders of actors in code', () => {
  test('one turn is one commit of state and reminders', async () => {
    const state = new KeptStore();
    await using own = await world({ state });
    const fern = own.sidecar.actors.get(Plant, 'fern');
    let commits = 0;
    state.interfere = (_batch, commit) => {
      commits++;
      return commit();
    };
    expect(await fern.water('1m')).toBe(START + MINUTE_MS);
    expect(commits).toBe(1);
    await pass(own, '2m');
    expect(await fern.seen()).toEqual([
      { name: 'water', data: { cans: 1 }, dueAt: START + MINUTE_MS, attempt: 1 },
      { name: 'water', data: { cans: 1 }, dueAt: START + 2 * MINUTE_MS, attempt: 1 },
    ]);
  });

  test('a turn that fails changes neither', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.water('1h');
    await expect(fern.water('1m', 'no water')).rejects.toThrow('no water');
    expect(await fern.show('water')).toMatchObject({
      period: '1h',
      data: { cans: 1 },
      nextRunAt: START + 60 * MINUTE_MS,
    });
    await pass(own, '10m');
    expect(await fern.seen()).toEqual([]);
    expect(calls).toHaveLength(1);
  });

  test('a commit that fails stores neither, and the next turn reads what is stored', async () => {
    const state = new KeptStore();
    await using own = await world({ state });
    const fern = own.sidecar.actors.get(Plant, 'fern');
    state.interfere = () => Promise.reject(new Error('the disk is full'));
    await expect(fern.water('1m')).rejects.toMatchObject({ code: 'ERR_ACTOR_STATE_TRANSACTION_SAVE' });
    state.interfere = (_batch, commit) => commit();
    expect(await fern.show('water')).toBeUndefined();
    expect(await own.sidecar.actors.state('Plant', 'fern')).toEqual(new Map());
    await pass(own, '10m');
    expect(calls).toEqual([]);
  });

  test('a month of daily reminders', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.set('water', { dueTime: '9h', period: '1d' });
    await pass(own, '30d');
    expect(own.sidecar.actors.active()).toEqual([]);
    const seen = (await fern.seen()) as readonly { readonly dueAt: number }[];
    expect(seen.map(({ dueAt }) => dueAt)).toEqual(
      Array.from({ length: 30 }, (_, day) => START + 9 * 3_600_000 + day * DAY_MS),
    );
  });

  test('they outlive the sidecar', async () => {
    const state = new KeptStore();
    const first = await world({ state });
    const { clock } = first;
    await first.sidecar.actors.get(Plant, 'fern').set('water', { dueTime: '1h', data: 7 });
    await first[Symbol.asyncDispose]();
    await using second = await world({ state, clock });
    await pass(second, '1h');
    expect(await second.sidecar.actors.get(Plant, 'fern').seen()).toMatchObject([{ name: 'water', data: 7 }]);
  });

  test('what a turn has changed is what it sees; a reminder that is there can be kept', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.set('water', { dueTime: '1h', period: '2h', repeats: 3, ttl: '1d', retry: { maxRetries: 5 } });
    await fern.set('water', { dueTime: '1m', ifExists: 'keep' });
    const shown = { period: '2h', repeats: 3, ttl: '24h0m0s', runs: 0, nextRunAt: START + 3_600_000 };
    expect(await fern.show('water')).toMatchObject({ ...shown, retry: { maxRetries: 5 }, actorId: 'fern' });
    expect(await fern.forget('water')).toBeNull();
    expect(await fern.show('water')).toBeUndefined();
    await pass(own, '1d');
    expect(await fern.seen()).toEqual([]);
  });

  test('a count of calls ends it, and so does a call that wants no more', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.set('thrice', { period: '1m', repeats: 3 });
    await fern.set('enough', { period: '1m' });
    await pass(own, '10m');
    const seen = (await fern.seen()) as readonly { readonly name: string }[];
    expect(seen.map(({ name }) => name).toSorted()).toEqual(['enough', 'thrice', 'thrice', 'thrice']);
    expect(await fern.show('thrice')).toBeUndefined();
  });

  test('a call that fails is rolled back and tried again', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.set('fails', { retry: { delay: '1s', factor: 1 } });
    await pass(own, '10s');
    expect(await fern.seen()).toEqual([{ name: 'fails', dueAt: START, attempt: 3 }]);
  });

  test('a reminder may replace or delete itself in its own call', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.set('moves on', { dueTime: '1m', period: '1m', data: 1 });
    await pass(own, '10m');
    const seen = (await fern.seen()) as readonly { readonly name: string }[];
    expect(seen.map(({ name }) => name)).toEqual(['moves on', 'moved']);
  });

  test('many reminders of one turn', async () => {
    class Many extends Actor<{ count: number }> {
      start(count: number): void {
        for (let n = 0; n < count; n++) this.reminders.set(`r${n}`, { dueTime: '1m' });
      }
      count(): number {
        return this.state.count ?? 0;
      }
      override onReminder(): void {
        this.state.count = this.count() + 1;
      }
    }
    await using own = new TestSidecar({ clock: patientClock({ startAt: START }) });
    own.sidecar.actors.register(Many);
    await own.start();
    const many = own.sidecar.actors.get(Many, 'a');
    await many.start(200);
    await pass(own, '1m');
    expect(await many.count()).toBe(200);
  });

  test('what onActivate changes is stored with the first turn that succeeds', async () => {
    class Waking extends Actor<{ wakings: number }> {
      override onActivate(): void {
        this.state.wakings = (this.state.wakings ?? 0) + 1;
        this.reminders.set('check', { dueTime: '1h', ifExists: 'keep' });
      }
      fail(): void {
        this.reminders.delete('check');
        throw new Error('not yet');
      }
      async look(): Promise<unknown> {
        return [this.state.wakings, (await this.reminders.get('check'))?.name];
      }
    }
    await using own = new TestSidecar({ clock: patientClock({ startAt: START }) });
    own.sidecar.actors.register(Waking);
    await own.start();
    const waking = own.sidecar.actors.get(Waking, 'a');
    await expect(waking.fail()).rejects.toThrow('not yet');
    expect(await own.sidecar.actors.state('Waking', 'a')).toEqual(new Map());
    expect(await waking.look()).toEqual([1, 'check']);
    expect(await own.sidecar.actors.state('Waking', 'a')).toEqual(new Map([['state', { wakings: 1 }]]));
  });

  test('the calls of a reentrant chain are one turn', async () => {
    class Loop extends Actor {
      async outer(fails: boolean): Promise<void> {
        await this.actors.get(Loop, this.id).inner();
        if (fails) throw new Error('outer');
      }
      inner(): void {
        this.reminders.set('r', { dueTime: '1h' });
      }
      async has(): Promise<boolean> {
        return (await this.reminders.get('r')) !== undefined;
      }
    }
    await using own = new TestSidecar({ clock: patientClock({ startAt: START }) });
    own.sidecar.actors.register(Loop, { reentrant: true });
    await own.start();
    const loop = own.sidecar.actors.get(Loop, 'a');
    await expect(loop.outer(true)).rejects.toThrow('outer');
    expect(await loop.has()).toBe(false);
    await loop.outer(false);
    expect(await loop.has()).toBe(true);
  });

  test.each([
    ['dueTime', 'soon', 'is "soon": expected a duration from now on, such as 3d'],
    ['dueTime', '2026-05-01T12:00:00', 'cannot be read'],
    ['dueTime', new Date(Number.NaN), 'a valid Date'],
    ['dueTime', Date.now(), 'a duration from now on'],
    ['period', 'often', 'period "often"'],
    ['period', -1, 'expected a positive duration'],
    ['period', true, 'a duration such as 1h'],
    ['repeats', 0, 'a whole number'],
    ['repeats', 2, 'expected a duration without a count'],
    ['ttl', 'R', 'is "R": expected a duration from now on'],
    ['data', Symbol('s'), 'data '],
    ['retry', { maxRetries: -1 }, 'retry.maxRetries is -1'],
    ['retry', { retryIf: 1 }, 'retry.retryIf'],
    ['ifExists', 'fail', 'one of replace, keep'],
    ['due', '1h', 'due'],
  ])('%s %o is refused', async (name, value, problem) => {
    let error: unknown;
    class Wrong extends Actor {
      wrong(): void {
        try {
          this.reminders.set('r', { [name]: value });
        } catch (thrown) {
          error = thrown;
        }
      }
    }
    await using own = new TestSidecar();
    own.sidecar.actors.register(Wrong);
    await own.start();
    await own.sidecar.actors.get(Wrong, 'a').wrong();
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message: expect.stringContaining(problem) });
  });

  test.each(['', 'a/b', '..', 'x'.repeat(257), '\u0000'])('the name %j is refused', async (name) => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await expect(fern.set(name, {})).rejects.toThrow('the reminder name is');
    await expect(fern.setTimer(name, {})).rejects.toThrow('the timer name is');
    await expect(fern.show(name)).rejects.toThrow('the reminder name is');
    await expect(fern.forget(name)).rejects.toThrow('the reminder name is');
  });

  test('outside of a turn nothing can be changed', async () => {
    await using own = await world();
    await own.sidecar.actors.get(Plant, 'fern').later();
    expect(() => late()).toThrow('reminders.set was called outside of a turn');
  });
});

describe('timers of actors in code', () => {
  test('they come at their times, and end with the actor', async () => {
    await using own = new TestSidecar({ clock: patientClock({ startAt: START }) });
    own.sidecar.actors.register(Plant, { idleTimeout: '10m' });
    await own.start();
    calls.length = 0;
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await fern.setTimer('drip', { dueTime: '1s', period: '1m', repeats: 3, data: { drops: 2 } });
    await pass(own, '30m');
    const tick = (dueAt: number): string => JSON.stringify({ name: 'drip', data: { drops: 2 }, dueAt, attempt: 1 });
    expect(calls).toEqual([tick(1_000), tick(61_000), tick(121_000)]);
    await fern.setTimer('drip', { dueTime: '11m' });
    await pass(own, '1h');
    expect(calls).toHaveLength(3);
  });

  test('they are set and deleted at the end of the turn', async () => {
    await using own = await world();
    const fern = own.sidecar.actors.get(Plant, 'fern');
    await expect(fern.water('1h', 'no water')).rejects.toThrow('no water');
    await pass(own, '1m');
    expect(calls).toEqual([]);
    await fern.water('1h');
    await fern.forget('water');
    await pass(own, '1m');
    expect(calls).toEqual([]);
    await fern.water('1h');
    await pass(own, '1m');
    expect(calls).toHaveLength(1);
  });
});
