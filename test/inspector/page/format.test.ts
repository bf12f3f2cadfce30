import { describe, expect, it } from 'vitest';
import { duration, relative, sinceOf, traceUrl } from '../../../src/inspector/page/core/format.ts';

describe('durations', () => {
  it.each([
    [0.4, '<1 ms'],
    [412, '412 ms'],
    [999.6, '1.0 s'],
    [3210, '3.2 s'],
    [59_700, '1 min'],
    [240_000, '4 min'],
    [3_590_000, '1 h'],
    [7_200_000, '2 h'],
    [86_400_000 * 3, '3 d'],
  ])('of %d ms read %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('lead back and ahead', () => {
    expect(relative(1000, 1400)).toBe('now');
    expect(relative(1000, 13_400)).toBe('12 s ago');
    expect(relative(241_000, 1000)).toBe('in 4 min');
  });
});

describe('a filter by time', () => {
  it('is an instant, to the minute', () => {
    expect(sinceOf('15m', 3_600_001)).toBe(2_700_000);
    expect(sinceOf('1d', 86_400_000 * 2)).toBe(86_400_000);
  });

  it.each([[undefined], [''], ['soon'], ['5y']])('is none if it is %s', (text) => {
    expect(sinceOf(text, 0)).toBeUndefined();
  });
});

describe('the address of a trace', () => {
  const template = 'https://traces.example/{traceId}';
  const id = '0af7651916cd43dd8448eb211c80319c';

  it('has its ID', () => {
    expect(traceUrl(template, `00-${id}-b7ad6b7169203331-01`)).toBe(`https://traces.example/${id}`);
    expect(traceUrl(undefined, `00-${id}-b7ad6b7169203331-01`)).toBeUndefined();
  });

  it.each(['', id, '00-../../logout-1-01', "00-$'-1-01", `00-${id}/..-1-01`, `javascript:-${id}-`])(
    'is not made of %j',
    (traceparent) => {
      expect(traceUrl(template, traceparent)).toBeUndefined();
    },
  );
});
