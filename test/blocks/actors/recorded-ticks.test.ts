import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Actor, type ActorTickContext } from '../../../src/index.ts';
import { patientClock } from '../../support/clock.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { TestSidecar } from '../../support/sidecar.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

interface BellState {
  strokes: string[];
}

/** Writes each stroke of a reminder into its state. */
class Bell extends Actor<BellState> {
  /** What happens while a stroke is under way. */
  static during: () => unknown = () => undefined;

  set(name: string, options: object): void {
    this.reminders.set(name, options);
  }

  strokes(): readonly string[] {
    return this.state.strokes ?? [];
  }

  override async onReminder(name: string, _data: unknown, { dueAt, attempt }: ActorTickContext): Promise<boolean> {
    this.state.strokes = [...this.strokes(), `${name} ${(dueAt - START) / 1_000} s, attempt ${attempt}`];
    await Bell.during();
    return name === 'last';
  }
}

class World extends TestSidecar {
  readonly bell = (): { set(name: string, options: object): Promise<void>; strokes(): Promise<readonly string[]> } =>
    this.sidecar.actors.get(Bell, 'a');

  static of(state: KeptStore, clock: World['clock']): World {
    const world = new World({ clock, state });
    world.sidecar.actors.register(Bell);
    return world;
  }

  static async on(state: KeptStore, clock = patientClock({ startAt: START })): Promise<World> {
    const world = World.of(state, clock);
    await world.start();
    return world;
  }

  /** A minute passes, in which the process ends after so many commits. Answers its next life. */
  async dieAfter(commits: number, state: KeptStore): Promise<World> {
    const isDead = killAfter(commits, state);
    await this.clock.advance('1m');
    await isDead;
    await this[Symbol.asyncDispose]();
    state.interfere = (_batch, commit) => commit();
    return World.on(state, this.clock);
  }

  async passes(by: `${number}${'s' | 'm'}`): Promise<void> {
    await this.clock.advance(by);
    await this.clock.settled();
  }
}

/** The process ends after so many commits: the store gets nothing more of it. Resolves with the end of the last one. */
function killAfter(commits: number, state: KeptStore): Promise<void> {
  let made = 0;
  return new Promise((resolve) => {
    state.interfere = async (_batch, commit) => {
      if (++made > commits) {
        resolve();
        throw new Error('the process is dead');
      }
      const version = await commit();
      if (made === commits) setImmediate(resolve);
      return version;
    };
  });
}

beforeEach(() => {
  Bell.during = () => undefined;
});

describe('the tick of a reminder is recorded in the commit of its turn', () => {
  test.each([
    ['a reminder that calls once', {}, ['strike 60 s, attempt 1']],
    [
      'one that calls again and again',
      { period: '1m', repeats: 3 },
      ['strike 60 s, attempt 1', 'strike 120 s, attempt 1', 'strike 180 s, attempt 1'],
    ],
  ])('%s: after a crash right after it, the tick is not run again', async (_what, options, strokes) => {
    const state = new KeptStore();
    const first = await World.on(state);
    await first.bell().set('strike', { dueTime: '1m', ...options });
    await using second = await first.dieAfter(1, state);
    await second.passes('10m');
    expect(await second.bell().strokes()).toEqual(strokes);
  });

  test('after a crash before it, the tick is run again', async () => {
    const state = new KeptStore();
    const first = await World.on(state);
    await first.bell().set('strike', { dueTime: '1m' });
    await using second = await first.dieAfter(0, state);
    await second.passes('10m');
    expect(await second.bell().strokes()).toEqual(['strike 60 s, attempt 1']);
  });

  test.each([
    ['once', {}, 'strike', 1],
    ['again and again', { period: '1m' }, 'strike', 9],
    ['until its call wants no more', { period: '1m' }, 'last', 1],
  ])('a reminder that calls %s costs one commit for each call', async (_what, options, name, calls) => {
    const state = new KeptStore();
    await using world = await World.on(state);
    await world.bell().set(name, { dueTime: '2m', ...options });
    let commits = 0;
    state.interfere = (_batch, commit) => {
      commits++;
      return commit();
    };
    await world.passes('10m');
    expect(commits).toBe(calls);
    expect(await world.bell().strokes()).toHaveLength(calls);
  });

  test('a commit whose answer is lost is not made again', async () => {
    const state = new KeptStore();
    await using world = await World.on(state);
    await world.bell().set('once', { dueTime: '1m' });
    await world.bell().set('strike', { dueTime: '2m', period: '1m', repeats: 2 });
    state.interfere = async (batch, commit) => {
      const version = await commit();
      if (batch.put?.some(({ key }) => key.includes('!state!'))) throw new Error('connection lost');
      return version;
    };
    await world.passes('10m');
    expect(await world.bell().strokes()).toEqual([
      'once 60 s, attempt 1',
      'strike 120 s, attempt 1',
      'strike 180 s, attempt 1',
    ]);
  });

  test('a reminder that is deleted during its call stays deleted, and the call is stored', async () => {
    const state = new KeptStore();
    await using world = await World.on(state);
    await world.bell().set('strike', { dueTime: '1m', period: '1m' });
    Bell.during = () => world.sidecar.actors.reminders.delete('Bell', 'a', 'strike');
    await world.passes('10m');
    expect(await world.bell().strokes()).toEqual(['strike 60 s, attempt 1']);
    expect(await world.sidecar.actors.reminders.get('Bell', 'a', 'strike')).toBeUndefined();
  });

  test('a stop during a tick that was due at the start lets it be stored, and it is not run again', async () => {
    const state = new KeptStore();
    const first = await World.on(state);
    await first.bell().set('strike', { dueTime: '1m' });
    const { clock } = first;
    await first[Symbol.asyncDispose]();
    await clock.advance('2m');
    let end: (() => void) | undefined;
    Bell.during = () => new Promise<void>((resolve) => (end = resolve));
    const second = World.of(state, clock);
    await second.sidecar.start();
    await vi.waitUntil(() => end !== undefined);
    // Its begin is recorded, as the process may have ended in it before: a stop takes that back.
    let isTakenBack = false;
    state.interfere = async (_batch, commit) => {
      const version = await commit();
      isTakenBack = true;
      return version;
    };
    const stopped = second[Symbol.asyncDispose]();
    await vi.waitUntil(() => isTakenBack);
    end?.();
    await stopped;
    await using third = await World.on(state, clock);
    await third.passes('10m');
    expect(await third.bell().strokes()).toEqual(['strike 60 s, attempt 1']);
  });

  test('a call that fails is recorded as a failed attempt', async () => {
    const state = new KeptStore();
    await using world = await World.on(state);
    await world.bell().set('strike', { dueTime: '1m', retry: { delay: '1s', factor: 1 } });
    let failures = 2;
    Bell.during = () => {
      if (failures-- > 0) throw new Error('cracked');
    };
    await world.passes('10m');
    expect(await world.bell().strokes()).toEqual(['strike 60 s, attempt 3']);
  });
});
