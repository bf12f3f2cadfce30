import { describe, expect, test } from 'vitest';
import { type Duration, memoryPubSub, Sidecar } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { Work } from '../../src/util/work.ts';
import { NEVER } from '../support/app.ts';
import { RecordingLogger } from '../support/logger.ts';
import { startWorld } from '../support/world.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

describe('virtualClock', () => {
  test.each<[startAt: string | number | undefined, at: number]>([
    [undefined, START],
    ['2020-02-29T12:00:00+01:00', Date.parse('2020-02-29T11:00:00Z')],
    [0, 0],
    [1_234, 1_234],
  ])('starts at %j', (startAt, at) => {
    expect(virtualClock(startAt === undefined ? {} : { startAt }).now()).toBe(at);
  });

  test.each(['yesterday', '', Number.NaN, Number.POSITIVE_INFINITY])('does not start at %j', (startAt) => {
    expect(() => virtualClock({ startAt })).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }));
  });

  test('gives messages its time, from its first millisecond on', async () => {
    const clock = virtualClock({ startAt: 0 });
    await using sidecar = new Sidecar({ appId: 'a', clock, components: [memoryPubSub('pubsub')] });
    await sidecar.start();
    const times: unknown[] = [];
    await sidecar.pubsub.subscribe('pubsub', 't', ({ time }) => void times.push(time));
    for (let count = 0; count < 2; count++) {
      await sidecar.pubsub.publish('pubsub', 't', 'x');
      await clock.advance('1s');
    }
    expect(times).toEqual(['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.000Z']);
  });

  test('stands still until it is moved', async () => {
    const clock = virtualClock();
    let isCalled = false;
    clock.setTimeout(() => {
      isCalled = true;
    }, 0);
    await clock.settled();
    expect([clock.now(), isCalled]).toEqual([START, false]);
    await clock.advance(0);
    expect([clock.now(), isCalled]).toEqual([START, true]);
  });

  test('timers fire in order of their instants, equal ones in order of their making, each at its own instant', async () => {
    const clock = virtualClock();
    const fired: [name: string, after: number][] = [];
    const at = (name: string, delayMs: number): void => {
      clock.setTimeout(() => fired.push([name, clock.now() - START]), delayMs);
    };
    at('c', 30);
    at('a', 10);
    at('b1', 20);
    at('b2', 20);
    at('past', -5);
    at('later', 31);
    await clock.advance(30);
    expect(fired).toEqual([
      ['past', 0],
      ['a', 10],
      ['b1', 20],
      ['b2', 20],
      ['c', 30],
    ]);
    expect([clock.now() - START, clock.pendingTimers]).toEqual([30, 1]);
  });

  test('timers that a timer sets fire in the same move when they are due in it', async () => {
    const clock = virtualClock();
    const fired: number[] = [];
    const again = (): void => {
      fired.push(clock.now() - START);
      clock.setTimeout(again, 10);
    };
    clock.setTimeout(again, 10);
    await clock.advance('35ms');
    expect(fired).toEqual([10, 20, 30]);
  });

  test('what a timer started has come to rest before the next one fires', async () => {
    const clock = virtualClock();
    const work = new Work();
    clock.watch(work);
    const log: string[] = [];
    clock.setTimeout(() => {
      const end = work.begin('slow work');
      let turns = 20;
      const turn = (): void => {
        if (--turns > 0) return void setImmediate(turn);
        log.push('work done');
        end();
      };
      turn();
    }, 10);
    clock.setTimeout(() => log.push('next timer'), 11);
    await clock.advance(20);
    expect(log).toEqual(['work done', 'next timer']);
  });

  test('a cancelled timer does not fire', async () => {
    const clock = virtualClock();
    let isCalled = false;
    clock
      .setTimeout(() => {
        isCalled = true;
      }, 10)
      .cancel();
    await clock.advance('1h');
    expect([isCalled, clock.pendingTimers]).toEqual([false, 0]);
  });

  test.each<[by: number | string, ms: number]>([
    [5, 5],
    ['1m30s', 90_000],
    ['0', 0],
    ['1.5s', 1_500],
  ])('advance(%j)', async (by, ms) => {
    const clock = virtualClock();
    await clock.advance(by as Duration);
    expect(clock.now() - START).toBe(ms);
  });

  test.each([-1, Number.NaN, '-5s', '5', 'soon'])('advance(%j) is refused', async (by) => {
    await expect(virtualClock().advance(by as Duration)).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
    );
  });

  test('advanceToNext moves to the next timer, however far, and tells when there is none', async () => {
    const clock = virtualClock();
    const fired: string[] = [];
    clock.setTimeout(() => fired.push('a'), 5_000);
    clock.setTimeout(() => fired.push('b'), 40 * 24 * 3_600_000);
    expect(await clock.advanceToNext()).toBe(true);
    expect([fired, clock.now() - START]).toEqual([['a'], 5_000]);
    expect(await clock.advanceToNext()).toBe(true);
    expect([fired, clock.now() - START]).toEqual([['a', 'b'], 40 * 24 * 3_600_000]);
    expect(await clock.advanceToNext()).toBe(false);
  });

  test('settled resolves when no work is running', async () => {
    const clock = virtualClock();
    const work = new Work();
    clock.watch(work);
    const end = work.begin('something');
    let isSettled = false;
    const settled = clock.settled().then(() => {
      isSettled = true;
    });
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(isSettled).toBe(false);
    end();
    await settled;
  });
});

describe('a sidecar on a virtual clock', () => {
  test('RETRY three times, then dead letter, takes milliseconds', async () => {
    const clock = virtualClock();
    await using sidecar = new Sidecar({
      appId: 'shop',
      components: [memoryPubSub('pubsub')],
      clock,
      logger: new RecordingLogger(),
    });
    await sidecar.start();
    const seen: string[] = [];
    await sidecar.pubsub.subscribe(
      'pubsub',
      'orders',
      () => {
        seen.push('orders');
        return 'RETRY';
      },
      { deadLetterTopic: 'dead', retry: { delay: 60_000, maxDelay: 600_000 } },
    );
    await sidecar.pubsub.subscribe('pubsub', 'dead', () => void seen.push('dead'));
    const startedAt = performance.now();
    await sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await clock.advance('10m');
    expect(seen).toEqual(['orders', 'orders', 'orders', 'orders', 'dead']);
    expect(performance.now() - startedAt, 'a tiny part of the seven minutes').toBeLessThan(5_000);
  });

  test('an application that does not answer does not stop the clock: its time limit fires', async () => {
    await using world = await startWorld({ answer: () => NEVER });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    const startedAt = performance.now();
    await world.clock.advance('60s');
    await world.clock.settled();
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'no answer within 60000 ms' }]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('settled waits for deliveries', async () => {
    await using world = await startWorld({
      via: 'port',
      answer: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 30)),
    });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.clock.settled();
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });
});
