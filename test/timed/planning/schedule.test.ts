import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSchedule } from '../../../src/timed/planning/schedule.ts';
import { Zones } from '../../../src/timed/planning/zone.ts';

const zones = new Zones();

interface Vector {
  readonly spec: string;
  readonly from?: string;
  readonly next?: readonly string[];
  readonly error?: string;
  readonly never?: true;
}

const vectors = JSON.parse(readFileSync(new URL('./schedule-vectors.json', import.meta.url), 'utf8')) as {
  readonly cron: readonly Vector[];
};

/** The next three instants, `never`, or `error`. */
function follow({ spec, from = '2026-01-01T00:00:00Z' }: Vector): readonly number[] | string {
  let schedule: ReturnType<typeof parseSchedule>;
  try {
    schedule = parseSchedule(spec, 'UTC', zones);
  } catch {
    return 'error';
  }
  const anchor = Date.parse(from);
  const instants: number[] = [];
  for (let at: number | undefined = anchor; instants.length < 3; instants.push(at)) {
    at = schedule.next(at, anchor);
    if (at === undefined) return 'never';
  }
  return instants;
}

function expected({ next, error, never }: Vector): readonly number[] | string {
  if (error !== undefined) return 'error';
  return never ? 'never' : (next ?? []).map((instant) => Date.parse(instant));
}

describe('schedules: the shared vectors', () => {
  test.each(vectors.cron)('$spec from $from', (vector) => {
    expect(follow(vector)).toEqual(expected(vector));
  });
});

describe('schedules: more of the same kind', () => {
  const from = '2026-03-04T10:20:30.250Z';
  test.each<[spec: string, next: readonly string[]]>([
    ['10/20 * * * * *', ['10:20:50', '10:21:10', '10:21:30']],
    ['0 5/25 * * * *', ['10:30:00', '10:55:00', '11:05:00']],
    ['59-59/7 * * * * *', ['10:20:59', '10:21:59', '10:22:59']],
    ['*/61 * * * * *', ['10:21:00', '10:22:00', '10:23:00']],
    ['*/1 * * * * *', ['10:20:31', '10:20:32', '10:20:33']],
    ['*,7 * * * * *', ['10:20:31', '10:20:32', '10:20:33']],
    ['  0   21-22  *\t* * *', ['10:21:00', '10:22:00', '11:21:00']],
    ['@every 0.5s', ['10:20:30.750', '10:20:31.250', '10:20:31.750']],
    ['@every 1ms', ['10:20:30.251', '10:20:30.252', '10:20:30.253']],
    ['@every 1.5ms', ['10:20:30.252', '10:20:30.253', '10:20:30.255']],
    ['TZ=Asia/Kolkata 0 0 16 * * WED', ['10:30:00']],
    ['CRON_TZ=UTC   @hourly', ['11:00:00', '12:00:00', '13:00:00']],
  ])('%s', (spec, next) => {
    const instants = next.map((time) => Date.parse(`2026-03-04T${time}Z`));
    expect(follow({ spec, from }).slice(0, next.length)).toEqual(instants);
  });

  test('day of month and day of week, both restricted: either matches; a step restricts, a step of 1 does not', () => {
    const days = (spec: string): unknown[] =>
      (follow({ spec, from }) as number[]).map((at) => new Date(at).toISOString().slice(5, 10));
    expect(days('0 0 0 13 * fri')).toEqual(['03-06', '03-13', '03-20']);
    expect(days('0 0 0 1-31 * fri')).toEqual(['03-05', '03-06', '03-07']);
    expect(days('0 0 0 */30 * fri')).toEqual(['03-06', '03-13', '03-20']);
    expect(days('0 0 0 */1 * fri')).toEqual(['03-06', '03-13', '03-20']);
    expect(days('0 0 0 *,5 * fri')).toEqual(['03-06', '03-13', '03-20']);
    expect(days('0 0 0 13 * */1')).toEqual(['03-13', '04-13', '05-13']);
  });

  test.each([
    '',
    ' ',
    '* * * * *',
    '* * * * * * *',
    '60 * * * * *',
    '* 60 * * * *',
    '* * 24 * * *',
    '* * * 0 * *',
    '* * * * 0 *',
    '* * * * 13 *',
    '* * * * * 0-7',
    '* * * L * *',
    '* * * LW * *',
    '* * * * * 5L',
    '* * * * * 5#2',
    '* * * * * fri#L',
    '* * * * * +mon',
    '* * * * mon *',
    '* * * * * jan',
    '* * * * * monday',
    '* * * * * fri-mon',
    '1,2, * * * * *',
    '1,,2 * * * * *',
    ', * * * * *',
    '1- * * * * *',
    '-1 * * * * *',
    '1-2-3 * * * * *',
    '*/2/3 * * * * *',
    '*/ * * * * *',
    '*/-1 * * * * *',
    '*/1.5 * * * * *',
    '1e1 * * * * *',
    '** * * * * *',
    '*-5 * * * * *',
    '2026-05-01T00:00:00Z',
    '@',
    '@DAILY',
    '@daily ',
    ' @daily',
    '@weekdays',
    '@every',
    '@every ',
    '@every 0s',
    '@every -1s',
    '@every 999us',
    '@every 1d',
    '@every 60',
    '@every 1s ',
    '@every\t1s',
    '@every 9223372037s1h',
    '@Every 1s',
    'TZ=UTC @every 1s',
    'CRON_TZ=Europe/Rome @every 1h',
    'TZ=Mars/Olympus 0 0 0 * * *',
    'TZ= 0 0 0 * * *',
    'TZ=+02:00 0 0 0 * * *',
    'TZ=UTC TZ=UTC 0 0 0 * * *',
    'tz=UTC 0 0 0 * * *',
    'UTC 0 0 0 * * *',
    'TZ=UTC 0 0 * * *',
  ])('refused: %j', (spec) => {
    expect(follow({ spec })).toBe('error');
  });

  test('messages name the field, its text and what was expected', () => {
    expect(() => parseSchedule('0 0 25 * * *', 'UTC', zones)).toThrow('hours "25": 25 is outside of 0-23');
    expect(() => parseSchedule('0 0 0 * * 1,x', 'UTC', zones)).toThrow(
      'day of week "1,x": "x" is not a number or sun-sat',
    );
    expect(() => parseSchedule('TZ=Mars/Olympus @daily', 'UTC', zones)).toThrow('unknown time zone "Mars/Olympus"');
    expect(() => parseSchedule('* * *', 'UTC', zones)).toThrow(
      'expected 6 fields (seconds to day of week) or an @ period, found 3',
    );
  });

  test.each(['*/100000 * * * * *', '*/9007199254740991 * * * * *', '00000000000000000000000 * * * * *'])(
    'a number may have any number of digits: %j is once a minute',
    (spec) => {
      const minute = (n: number): number => Date.parse('2026-01-01T00:00:00Z') + n * 60_000;
      expect(follow({ spec })).toEqual([minute(1), minute(2), minute(3)]);
    },
  );

  test('a number beyond all bounds is named as such', () => {
    expect(() => parseSchedule('*/9007199254740993 * * * * *', 'UTC', zones)).toThrow(
      'seconds "*/9007199254740993": "9007199254740993" is too large: expected at most 9007199254740991',
    );
    expect(() => parseSchedule('100000 * * * * *', 'UTC', zones)).toThrow('100000 is outside of 0-59');
  });

  test('for the five fields of crontab the message says what to write', () => {
    expect(() => parseSchedule('TZ=Europe/Rome 30 2  * * mon-fri', 'UTC', zones)).toThrow(
      'found 5: put 0 for the seconds in front, "0 30 2 * * mon-fri"',
    );
  });

  test.each([
    ['5m', ': for an interval, "@every 5m"'],
    ['3d', ': for an interval, "@every 72h0m0s"'],
    ['PT1H', ': for an interval, "@every 1h0m0s"'],
    ['0s', ''],
    ['daily', ''],
  ])('for the interval %j, too', (spec, hint) => {
    const expected = 'expected 6 fields (seconds to day of week) or an @ period, found 1';
    expect(() => parseSchedule(spec, 'UTC', zones)).toThrow(new Error(`${expected}${hint}`));
  });
});

describe('schedules: time changes', () => {
  const inZone = (spec: string, zone: string, from: string, count: number): string[] => {
    const schedule = parseSchedule(spec, zone, zones);
    const instants: string[] = [];
    for (let at: number | undefined = Date.parse(from); instants.length < count; ) {
      at = schedule.next(at ?? Number.NaN, 0);
      instants.push(new Date(at ?? Number.NaN).toISOString().slice(0, 19));
    }
    return instants;
  };
  const NEW_YORK = 'America/New_York';
  const SPRING = '2026-03-08T05:00:00Z';
  const AUTUMN = '2026-11-01T04:10:00Z';

  test.each<[rule: string, spec: string, zone: string, from: string, next: string[]]>([
    ['in the gap: at its end', '0 30 2 * * *', NEW_YORK, SPRING, ['2026-03-08T07:00:00', '2026-03-09T06:30:00']],
    ['two in the gap: one run', '0 0,30 2 * * *', NEW_YORK, SPRING, ['2026-03-08T07:00:00', '2026-03-09T06:00:00']],
    ['gap and its end: one run', '0 0 2,3 * * *', NEW_YORK, SPRING, ['2026-03-08T07:00:00', '2026-03-09T06:00:00']],
    ['in the overlap: once', '0 30 1 * * *', NEW_YORK, AUTUMN, ['2026-11-01T05:30:00', '2026-11-02T06:30:00']],
    ['from its second pass: next day', '0 30 1 * * *', NEW_YORK, '2026-11-01T06:10:00Z', ['2026-11-02T06:30:00']],
    [
      'a list in the overlap: each once',
      '0 0,30 1 * * *',
      NEW_YORK,
      AUTUMN,
      ['2026-11-01T05:00:00', '2026-11-01T05:30:00', '2026-11-02T06:00:00'],
    ],
    ['a step skips the gap', '0 */30 2 * * *', NEW_YORK, SPRING, ['2026-03-09T06:00:00', '2026-03-09T06:30:00']],
    [
      'wildcards go on in the overlap',
      '0 30 * * * *',
      NEW_YORK,
      AUTUMN,
      ['2026-11-01T04:30:00', '2026-11-01T05:30:00', '2026-11-01T06:30:00', '2026-11-01T07:30:00'],
    ],
    [
      'midnight in the gap',
      '@daily',
      'Africa/Cairo',
      '2026-04-23T12:00:00Z',
      ['2026-04-23T22:00:00', '2026-04-24T21:00:00'],
    ],
    [
      'half an hour',
      '0 15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00:00Z',
      ['2026-10-03T15:30:00', '2026-10-04T15:15:00'],
    ],
    [
      'half an hour back',
      '0 45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T12:00:00Z',
      ['2026-04-04T14:45:00', '2026-04-05T15:15:00'],
    ],
  ])('%s: %s', (_rule, spec, zone, from, next) => {
    expect(inZone(spec, zone, from, next.length)).toEqual(next);
  });

  test('@every takes no notice of a time change', () => {
    const at = Date.parse(SPRING);
    expect(parseSchedule('@every 24h', NEW_YORK, zones).next(at, at)).toBe(at + 86_400_000);
  });
});

describe('schedules against a matcher that looks at every second', () => {
  const list = (min: number, max: number): fc.Arbitrary<string> => {
    const value = fc.integer({ min, max });
    const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
    const step = fc.integer({ min: 1, max: max - min + 3 });
    const element = fc.oneof(
      value.map(String),
      range,
      fc.constantFrom('*', '?'),
      fc.tuple(fc.oneof(range, fc.constant('*'), value.map(String)), step).map(([base, by]) => `${base}/${by}`),
    );
    return fc.array(element, { minLength: 1, maxLength: 3 }).map((elements) => elements.join(','));
  };
  const spec = fc
    .tuple(list(0, 59), list(0, 59), list(0, 23), list(1, 31), list(1, 12), list(0, 6))
    .map((fields) => fields.join(' '));
  const bounds = [
    [0, 59],
    [0, 59],
    [0, 23],
    [1, 31],
    [1, 12],
    [0, 6],
  ] as const;

  /** All values that a field allows, worked out on its own. */
  function valuesOf(field: string, [min, max]: readonly [number, number]): ReadonlySet<number> {
    const values = new Set<number>();
    for (const element of field.split(',')) {
      const [base = '', by] = element.split('/');
      const isAny = base === '*' || base === '?';
      const [from = min, to] = isAny ? [min, max] : base.split('-').map(Number);
      const last = to ?? (by === undefined ? from : max);
      for (let value = from; value <= last; value += Number(by ?? 1)) values.add(value);
    }
    return values;
  }

  const isFree = (field: string): boolean => field.split(',').some((element) => /^[*?](?:\/1)?$/.test(element));

  function bruteNext(fields: readonly string[], after: number, until: number): number | undefined {
    const [seconds, minutes, hours, days, months, weekdays] = fields.map((field, i) => valuesOf(field, bounds[i]!)) as [
      ReadonlySet<number>,
      ReadonlySet<number>,
      ReadonlySet<number>,
      ReadonlySet<number>,
      ReadonlySet<number>,
      ReadonlySet<number>,
    ];
    const eitherDay = !isFree(fields[3]!) && !isFree(fields[5]!);
    for (let at = Math.floor(after / 1000) * 1000 + 1000; at <= until; at += 1000) {
      const date = new Date(at);
      const [isDay, isWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
      const dayFits = eitherDay ? isDay || isWeekday : isDay && isWeekday;
      if (!dayFits || !months.has(date.getUTCMonth() + 1)) {
        at = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1) - 1000;
        continue;
      }
      if (hours.has(date.getUTCHours()) && minutes.has(date.getUTCMinutes()) && seconds.has(date.getUTCSeconds()))
        return at;
    }
    return undefined;
  }

  test('they agree', () => {
    const start = Date.UTC(2026, 0, 1);
    const instant = fc.integer({ min: start, max: start + 3 * 366 * 86_400_000 });
    fc.assert(
      fc.property(spec, instant, (text, from) => {
        const next = parseSchedule(text, 'UTC', zones).next(from, from);
        const limit = from + 40 * 86_400_000;
        const brute = bruteNext(text.split(' '), from, limit);
        if (brute !== undefined) expect(next).toBe(brute);
        else expect(next === undefined || next > limit).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

/** How many formatters of dates some work makes: each takes some 100 KB. */
function countFormatters(work: () => void): number {
  const { DateTimeFormat } = Intl;
  let count = 0;
  Intl.DateTimeFormat = new Proxy(DateTimeFormat, {
    construct(target, args) {
      count++;
      return new target(...args);
    },
  });
  try {
    work();
  } finally {
    Intl.DateTimeFormat = DateTimeFormat;
  }
  return count;
}

describe('zones', () => {
  test('a zone is the same one in every case', () => {
    const kept = new Zones();
    const zone = kept.get('Europe/Rome');
    expect(zone.name).toBe('Europe/Rome');
    for (const name of ['europe/rome', 'EUROPE/ROME', 'eUrOpE/rOmE']) expect(kept.get(name)).toBe(zone);
    expect(kept.get('utc').name).toBe('UTC');
  });

  test.each(['us/eastern', 'US/Eastern', 'uS/eASTERN'])('%s is another name of a zone', (name) => {
    const [from, anchor] = [Date.parse('2026-01-01T00:00:00Z'), 0];
    for (const fields of ['0 30 3 * * *', '0 */7 * * * *'])
      expect(parseSchedule(`TZ=${name} ${fields}`, 'UTC', zones).next(from, anchor)).toBe(
        parseSchedule(`TZ=America/New_York ${fields}`, 'UTC', zones).next(from, anchor),
      );
  });

  test.each(['0 30 3 * * *', '0 */5 * * * *'])(
    'a zone in thousands of spellings takes no more memory: %s',
    (fields) => {
      const name = 'america/argentina/buenos_aires';
      const spelling = (number: number): string =>
        [...name].map((letter, at) => ((number >> at) & 1 ? letter.toUpperCase() : letter)).join('');
      const known = new Zones();
      const made = countFormatters(() => {
        for (let number = 0; number < 2_000; number++)
          expect(parseSchedule(`TZ=${spelling(number)} ${fields}`, 'UTC', known).next(0, 0)).toBeGreaterThan(0);
      });
      // For its name, for us and for croner.
      expect(made).toBeLessThanOrEqual(3);
    },
  );

  test.each(['europe/room', 'Europe/Rome ', 'constructor', '__proto__', 'é', '+02:00'])(
    'there is no zone %j',
    (name) => {
      expect(() => parseSchedule(`TZ=${name.trimEnd()}x 0 0 0 * * *`, 'UTC', zones)).toThrow('unknown time zone');
    },
  );
});
