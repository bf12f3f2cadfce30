import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Duration, type Instant, parseDuration } from '../../src/index.ts';
import {
  formatGoDuration,
  formatInstant,
  parseGoDuration,
  parseInstant,
  readInstant,
} from '../../src/util/duration.ts';

describe('parseGoDuration: the grammar of Go’s time.ParseDuration', () => {
  test.each<[text: string, ms: number]>([
    ['0', 0],
    ['+0', 0],
    ['5s', 5_000],
    ['30s', 30_000],
    ['1478s', 1_478_000],
    ['-5s', -5_000],
    ['+5s', 5_000],
    ['5.0s', 5_000],
    ['5.6s', 5_600],
    ['5.s', 5_000],
    ['.5s', 500],
    ['1.0s', 1_000],
    ['10ns', 1e-5],
    ['11us', 0.011],
    ['12µs', 0.012],
    ['12μs', 0.012],
    ['13ms', 13],
    ['15m', 900_000],
    ['16h', 57_600_000],
    ['3h30m', 12_600_000],
    ['10.5s4m', 250_500],
    ['-2m3.4s', -123_400],
    ['1h2m3s4ms5us6ns', 3_723_004.005006],
  ])('%s is %d ms', (text, ms) => {
    expect(parseGoDuration(text)).toBeCloseTo(ms, 6);
  });

  test.each([
    '',
    '3',
    '-',
    's',
    '.',
    '-.',
    '.s',
    '+.s',
    '1d',
    '1S',
    '5 s',
    ' 5s',
    '5s ',
    '1h-5m',
    '--1s',
    '1e3s',
    '١s',
    `${'1h'.repeat(100)}`,
  ])('%j is none', (text) => {
    expect(parseGoDuration(text)).toBeUndefined();
  });
});

describe('parseInstant: RFC 3339 with an offset', () => {
  test.each<[text: string, utc: string]>([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01t00:00:00z', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T01:30:00+01:30', '2026-01-01T00:00:00.000Z'],
    ['2025-12-31T23:00:00-01:00', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00.123456789Z', '2026-01-01T00:00:00.123Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
    ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000Z'],
  ])('%s is %s', (text, utc) => {
    const at = parseInstant(text);
    expect(at === undefined ? undefined : new Date(at).toISOString()).toBe(utc);
  });

  test.each([
    '',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00Z',
    '2026-1-1T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:61Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+0100',
    '2026-01-01T00:00:00.Z',
    ' 2026-01-01T00:00:00Z',
    '20260101T000000Z',
  ])('%j is none', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  test('reads what formatInstant writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
        (date) => {
          expect(parseInstant(formatInstant(date.getTime()))).toBe(date.getTime());
        },
      ),
    );
  });
});

describe('formatGoDuration: as Go writes a duration', () => {
  test.each<[ms: number, text: string]>([
    [0, '0s'],
    [1, '1ms'],
    [500, '500ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [61_100, '1m1.1s'],
    [90_000, '1m30s'],
    [3_600_000, '1h0m0s'],
    [90_061_001, '25h1m1.001s'],
  ])('%d ms is %s', (ms, text) => {
    expect(formatGoDuration(ms)).toBe(text);
  });

  test('what is written is read as the same', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), (ms) => {
        expect(Math.round(parseGoDuration(formatGoDuration(ms)) ?? Number.NaN)).toBe(ms);
      }),
    );
  });
});

const FORMS = 'a duration: a number of milliseconds, or a text such as 500ms, 1h30m, 3d, 2w, PT1H30M or P1D';

describe('a duration in code', () => {
  test.each<[text: Duration & string, ms: number]>([
    ['500ms', 500],
    ['1.5s', 1_500],
    ['1h30m', 5_400_000],
    ['2h15m30s', 8_130_000],
    ['1d', 86_400_000],
    ['1d12h', 129_600_000],
    ['2w', 1_209_600_000],
    ['1w1d', 691_200_000],
    ['0s', 0],
    ['P1D', 86_400_000],
    ['P2W', 1_209_600_000],
    ['PT1.5H', 5_400_000],
    ['PT1H30M', 5_400_000],
    ['PT0.25S', 250],
    ['P1DT12H', 129_600_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test('may have a decimal comma in the form of ISO 8601', () => expect(parseDuration('PT1,5H')).toBe(5_400_000));

  test.each(['30 days', '3 d', 'P', 'PT', 'P1M', 'P1Y', 'P1H', '1', '', 'soon', '-1s', '1mo', '1d1'])(
    '%j is refused with what is expected',
    (text) => expect(() => parseDuration(text)).toThrow(`the duration is ${JSON.stringify(text)}: expected ${FORMS}`),
  );

  test('what is none does not compile', () => {
    // @ts-expect-error: a word in place of a unit
    const words: Duration = '30 days';
    // @ts-expect-error: a unit that there is none of
    const unit: Duration = '5mo';
    // @ts-expect-error: a text without a number
    const text: Duration = 'soon';
    // @ts-expect-error: months differ in length
    const month: Duration = 'P1M';
    // @ts-expect-error: a text that is known at run time only goes through parseDuration
    const any: Duration = String(5);
    const right: readonly Duration[] = [5, '1h30m', '3d', `${5}s`, 'PT1H30M', parseDuration(String('5s'))];
    expect([words, unit, text, month, any, ...right]).toHaveLength(11);
  });
});

describe('an instant in code', () => {
  test.each<[instant: Instant, at: number | undefined]>([
    [new Date(5), 5],
    [5, 5],
    ['1970-01-01T00:00:00.005Z', 5],
    ['1970-01-01T01:00:00+01:00', 0],
    ['1970-01-01', undefined],
    ['tomorrow', undefined],
    [new Date(Number.NaN), undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [8.64e15 + 1, undefined],
  ])('%j is %j', (instant, at) => expect(readInstant(instant)).toBe(at));
});
