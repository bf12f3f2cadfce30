import { describe, expect, test } from 'vitest';
import type { Bar } from '../../src/inspector/page/timeline/model.ts';
import { spansOf, stepScale, ticksOf, timeScale } from '../../src/inspector/page/timeline/scale.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;

describe('positions', () => {
  test('time is drawn in proportion', () => {
    const scale = timeScale(1_000, 2_000, 500);
    expect([900, 1_000, 1_500, 2_000, 9_000].map(scale)).toEqual([0, 0, 250, 500, 500]);
  });

  test('a workflow that took no time is drawn all the same', () => {
    expect(timeScale(1_000, 1_000, 500)(1_000)).toBe(0);
  });

  test('by steps each instant at which something happened has the same distance to the next', () => {
    const scale = stepScale([0, 10, 20, 3 * HOUR], 300);
    expect([0, 10, 15, 20, 3 * HOUR].map(scale)).toEqual([0, 100, 150, 200, 300]);
    expect(scale(99 * HOUR)).toBe(300);
    expect(stepScale([], 300)(5)).toBe(0);
  });
});

describe('ticks', () => {
  test.each([
    { toMs: 0, ticks: [0] },
    { toMs: 7, ticks: [0, 2, 4, 6] },
    { toMs: 3_200, ticks: [0, 1_000, 2_000, 3_000] },
    { toMs: 100 * SECOND, ticks: [0, 30 * SECOND, 60 * SECOND, 90 * SECOND] },
    { toMs: 26 * HOUR, ticks: [0, 6 * HOUR, 12 * HOUR, 18 * HOUR, 24 * HOUR] },
    { toMs: 10 * 24 * HOUR, ticks: [0, 2, 4, 6, 8, 10].map((days) => days * 24 * HOUR) },
  ])('$toMs ms: $ticks', ({ toMs, ticks }) => {
    expect(ticksOf(toMs, 5)).toEqual(ticks);
  });

  test('are never more than asked for but one, even over a century', () => {
    for (const toMs of [1, 59, 999, 61_000, 40 * HOUR, 1e9, 3.2e12]) expect(ticksOf(toMs, 6).length).toBeLessThan(8);
  });
});

describe('what is drawn of a row', () => {
  const bar = (from: number, to: number | undefined, outcome: Bar['outcome'] = 'done'): Bar => ({
    kind: 'run',
    from,
    to,
    outcome,
    events: [],
  });
  const scale = timeScale(0, 1_000, 1_000);

  test('a bar is at least wide enough to be seen, and ends where its time ends', () => {
    expect(spansOf([bar(0, 0), bar(100, 400)], scale, 1_000)).toMatchObject([
      { x: 0, width: 3, count: 1 },
      { x: 100, width: 300, count: 1 },
    ]);
  });

  test('a bar at the right end stays inside', () => {
    expect(spansOf([bar(1_000, 1_000)], scale, 1_000)).toMatchObject([{ x: 997, width: 3 }]);
  });

  test('a pending bar goes to the right end', () => {
    expect(spansOf([bar(600, undefined, 'pending')], scale, 1_000)).toMatchObject([
      { x: 600, width: 400, outcome: 'pending', isOpen: true },
    ]);
  });

  test('thousands of attempts become as many spans as can be told apart, and a failure among them shows', () => {
    const attempts = Array.from({ length: 10_000 }, (_, n) => bar(n / 10, n / 10, n === 5_000 ? 'failed' : 'done'));
    const spans = spansOf(attempts, scale, 1_000);
    expect(spans.length).toBeLessThanOrEqual(334);
    expect(spans.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
    expect(spans.filter(({ outcome }) => outcome === 'failed')).toHaveLength(1);
  });

  test('a pause is drawn over the workflow, not merged with it', () => {
    const pause: Bar = { kind: 'paused', from: 200, to: 300, outcome: 'done', events: [] };
    expect(spansOf([bar(0, 1_000), pause], scale, 1_000)).toHaveLength(2);
  });
});
