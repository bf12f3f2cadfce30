import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../src/testing/index.ts';
import { Work } from '../../src/util/work.ts';

describe('Work', () => {
  test('tells what runs, in words', () => {
    const work = new Work();
    const first = work.begin('first');
    work.begin('second');
    expect(work.running()).toEqual(['first', 'second']);
    first();
    expect(work.running()).toEqual(['second']);
  });

  test('the same words may run twice; ending twice ends one', () => {
    const work = new Work();
    const end = work.begin('same');
    work.begin('same');
    end();
    end();
    expect(work.running()).toEqual(['same']);
  });

  test('idle resolves at once when nothing runs', async () => {
    const clock = virtualClock();
    await new Work().idle(clock, 1_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test('idle resolves for everyone when the last has ended, and leaves no timer', async () => {
    const clock = virtualClock();
    const work = new Work();
    const ends = [work.begin('a'), work.begin('b')];
    const seen: string[] = [];
    const waiting = [
      work.idle(clock, 1_000).then(() => seen.push('one')),
      work.idle(clock, 9_000).then(() => seen.push('two')),
    ];
    ends[0]?.();
    await clock.advance(1);
    expect(seen).toEqual([]);
    ends[1]?.();
    await Promise.all(waiting);
    expect([seen, clock.pendingTimers]).toEqual([['one', 'two'], 0]);
  });

  test('idle does not wait longer than its patience', async () => {
    const clock = virtualClock();
    const work = new Work();
    work.begin('for ever');
    let isIdle = false;
    const waiting = work.idle(clock, 1_000).then(() => {
      isIdle = true;
    });
    await clock.advance(999);
    expect(isIdle).toBe(false);
    await clock.advance(1);
    await waiting;
    expect(work.running()).toEqual(['for ever']);
  });
});
