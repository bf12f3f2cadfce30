import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { parsePointInTime } from '../../../src/timed/planning/instants.ts';

interface Vector {
  readonly value: string;
  readonly base: string;
  readonly at?: string;
  readonly error?: string;
}

const vectors = JSON.parse(readFileSync(new URL('./schedule-vectors.json', import.meta.url), 'utf8')) as {
  readonly pointInTime: readonly Vector[];
};

describe('points in time', () => {
  const zone = process.env['TZ'];
  afterEach(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  test.each(vectors.pointInTime)('the shared vectors: $value', ({ value, base, at }) => {
    expect(parsePointInTime(value, Date.parse(base))).toBe(at === undefined ? undefined : Date.parse(at));
  });

  const base = Date.parse('2026-02-27T22:00:00Z');
  test.each<[value: string, at: string]>([
    ['2026-03-01t10:00:00z', '2026-03-01T10:00:00Z'],
    ['2026-03-01T10:00:00+05:30', '2026-03-01T04:30:00Z'],
    ['1999-12-31T23:59:60Z', '1999-12-31T23:59:59Z'],
    ['1h-', 'none'],
    ['-PT1H', '2026-02-27T21:00:00Z'],
    ['P-1D', '2026-02-26T22:00:00Z'],
    ['P2W', '2026-03-13T22:00:00Z'],
    ['P1Y', '2027-02-27T22:00:00Z'],
    ['P1M2D', '2026-03-29T22:00:00Z'],
    ['PT1.5S', '2026-02-27T22:00:01.5Z'],
    ['PT0S', '2026-02-27T22:00:00Z'],
    ['+1h', '2026-02-27T23:00:00Z'],
    ['1h30m', '2026-02-27T23:30:00Z'],
    ['P', 'none'],
    ['P1DT', 'none'],
    ['P1X', 'none'],
    ['P5', 'none'],
    ['PT1H30', 'none'],
    ['P1.5D', 'none'],
    ['R/P1D', 'none'],
    ['R0/P1D', 'none'],
    ['1d', 'none'],
    ['1 h', 'none'],
    [' 1h', 'none'],
    ['2026-02-30T00:00:00Z', 'none'],
    ['2026-02-27T22:00Z', 'none'],
    ['2026-02-27T22:00:00+0100', 'none'],
    ['P999999999Y', 'none'],
    ['P-1950Y', '0076-02-27T22:00:00Z'],
    ['-P2026Y', '0000-02-27T22:00:00Z'],
    ['-P2027Y', 'none'],
    ['P7973Y', '9999-02-27T22:00:00Z'],
    ['P7974Y', 'none'],
    ['9999-12-31T23:59:59-00:01', 'none'],
    ['9999999999999h', 'none'],
    ['1700000000', 'none'],
  ])('%s', (value, at) => {
    expect(parsePointInTime(value, base)).toBe(at === 'none' ? undefined : Date.parse(at));
  });

  test('without an offset it is the local time of the server', () => {
    process.env['TZ'] = 'Asia/Tokyo';
    expect(parsePointInTime('2026-03-01T10:00:00', base)).toBe(Date.parse('2026-03-01T01:00:00Z'));
    expect(parsePointInTime('2026-03-01T10:00:00.25', base)).toBe(Date.parse('2026-03-01T01:00:00.25Z'));
    process.env['TZ'] = 'America/New_York';
    expect(parsePointInTime('2026-07-01T10:00:00', base)).toBe(Date.parse('2026-07-01T14:00:00Z'));
    expect(parsePointInTime('2026-13-01T10:00:00', base)).toBe(undefined);
  });
});
