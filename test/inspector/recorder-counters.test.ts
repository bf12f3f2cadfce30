import { expect, test } from 'vitest';
import { Counters } from '../../src/inspector/recorder/counters.ts';

/** Counters whose time is moved by hand. */
function counted(): { readonly counters: Counters; pass(ms: number): void } {
  let now = 1_700_000_000_500;
  const counters = new Counters(() => now);
  counters.close();
  return {
    counters,
    pass: (ms) => {
      now += ms;
      counters.series();
    },
  };
}

const seriesOf = (counters: Counters, name: string) => counters.series().find((series) => series.name === name);

test('counts are those of the last 120 seconds, the earliest first', () => {
  const { counters, pass } = counted();
  counters.count('published');
  pass(1_000);
  counters.count('published');
  counters.count('published');
  pass(2_000);
  counters.count('published');
  const { total, perSecond } = seriesOf(counters, 'published') ?? {};
  expect(total).toBe(4);
  expect(perSecond?.slice(-4)).toEqual([1, 2, 0, 1]);
  expect(perSecond).toHaveLength(120);
  expect(perSecond?.slice(0, -4).every((count) => count === 0)).toBe(true);
  pass(117_000);
  expect(seriesOf(counters, 'published')?.perSecond.slice(0, 4)).toEqual([2, 0, 1, 0]);
  pass(3_600_000);
  expect(seriesOf(counters, 'published')?.perSecond.every((count) => count === 0)).toBe(true);
  expect(seriesOf(counters, 'published')?.total).toBe(4);
  expect(seriesOf(counters, 'delivered')?.total).toBe(0);
});

test('a clock that is set back does not undo counts', () => {
  const { counters, pass } = counted();
  counters.count('calls');
  pass(-10_000);
  counters.count('calls');
  expect(seriesOf(counters, 'calls')?.perSecond.at(-1)).toBe(2);
});

test.each([
  [Array.from({ length: 100 }, (_, n) => (n < 95 ? 3 : 5_000)), 3, 3],
  [Array.from({ length: 100 }, (_, n) => n), 94, 111],
  [Array.from({ length: 1_000 }, (_, n) => n * 10), 9_490, 11_000],
  [[0], 0, 0],
  [[7, 8], 8, 9],
  [[36 * 3_600_000], 500_000, 36 * 3_600_000],
])('p95 of %o is between %d and %d', (durations, least, most) => {
  const { counters } = counted();
  for (const durationMs of durations) counters.delivered(durationMs);
  const p95Ms = counters.p95Ms();
  expect(p95Ms).toBeGreaterThanOrEqual(least);
  expect(p95Ms).toBeLessThanOrEqual(most);
});

test('p95 is that of the last 120 seconds', () => {
  const { counters, pass } = counted();
  expect(counters.p95Ms()).toBeUndefined();
  counters.delivered(1_000);
  pass(60_000);
  counters.delivered(1);
  expect(counters.p95Ms()).toBeGreaterThan(900);
  pass(60_000);
  expect(counters.p95Ms()).toBe(1);
  pass(60_000);
  expect(counters.p95Ms()).toBeUndefined();
});
