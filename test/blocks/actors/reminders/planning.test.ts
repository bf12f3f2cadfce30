import { describe, expect, test } from 'vitest';
import { actorPart } from '../../../../src/blocks/actors/model/address.ts';
import { malformedTick, TickParser } from '../../../../src/blocks/actors/reminders/parse-tick.ts';
import { Periods, parsePeriod } from '../../../../src/blocks/actors/reminders/period.ts';
import { planTick } from '../../../../src/blocks/actors/reminders/plan-tick.ts';
import {
  reminderLayout,
  shardKeyOf,
  textOf,
  tickNameOf,
} from '../../../../src/blocks/actors/reminders/reminder-name.ts';
import { renderReminder, tickBody } from '../../../../src/blocks/actors/reminders/render-tick.ts';
import { retriesOf } from '../../../../src/timed/planning/policy.ts';
import { wireNames } from '../../../../src/wire.ts';

const NOW = Date.parse('2026-01-31T12:00:00Z');
const ALICE = { actorType: 'Cart', actorId: 'alice', name: 'expire' };
const periods = new Periods();
const WIRES = ['sidecar', 'dapr'] as const;

function plan(fields: Parameters<typeof planTick>[1], now = NOW): ReturnType<typeof planTick> {
  const refuse = (problem: string): Error => malformedTick('reminder', problem);
  return planTick(textOf(ALICE), fields, { periods, now, refuse });
}

/** The first instants after the first call. */
function ticks(period: string, count: number, from = NOW): readonly (string | undefined)[] {
  const { schedule } = parsePeriod(period);
  const found: (string | undefined)[] = [];
  for (let at: number | undefined = from; found.length < count; ) {
    at = schedule.next(at ?? 0, from);
    found.push(at === undefined ? undefined : new Date(at).toISOString());
    if (at === undefined) break;
  }
  return found;
}

describe('period', () => {
  test.each([
    ['1h30m', 5_400_000, undefined],
    ['500ms', 500, undefined],
    ['PT2H30M', 9_000_000, undefined],
    ['PT0.5S', 500, undefined],
    ['P1D', 86_400_000, undefined],
    ['P1W', 604_800_000, undefined],
    ['P1DT12H', 129_600_000, undefined],
    ['R5/PT10S', 10_000, 5],
    ['R1/PT1S', 1_000, 1],
    ['P1M', undefined, undefined],
    ['R3/P1Y2M', undefined, 3],
  ])('%s', (text, ms, repeats) => {
    expect(parsePeriod(text)).toMatchObject({ ms, repeats });
  });

  test.each([
    ...['0', '0s', '-5s', 'PT0S', '-PT5S', 'PT', 'P', 'P-1M', 'P1MT-1H', '500us', 'PT0.0001S'],
    ...['R0/PT1S', 'R/PT1S', 'R-1/PT1S', 'R5', 'R5/', 'R5/1s', 'R5PT1S', 'r5/PT1S', 'R5/PT0S', 'R1.5/PT1S'],
    ...['1', '1 s', 'one hour', '@every 1s', '@daily', '0 * * * * *', '2026-01-01T00:00:00Z', '1d', '293y'],
    ...['3000000h', 'R99999999999999999999/PT1S', `PT${'1'.repeat(100)}S`],
  ])('%s cannot be read', (text) => {
    expect(() => parsePeriod(text)).toThrow(/expected/);
  });

  test('months are counted from the first call: the 31st does not wander', () => {
    expect(ticks('P1M', 5)).toEqual([
      '2026-03-03T12:00:00.000Z',
      '2026-03-31T12:00:00.000Z',
      '2026-05-01T12:00:00.000Z',
      '2026-05-31T12:00:00.000Z',
      '2026-07-01T12:00:00.000Z',
    ]);
  });

  test('the next month is found at once, however long ago the first call was', () => {
    const { schedule } = parsePeriod('P1M');
    const anchor = Date.parse('1970-01-01T00:00:00Z');
    expect(schedule.next(Date.parse('2026-01-01T00:00:00Z') - 1, anchor)).toBe(Date.parse('2026-01-01T00:00:00Z'));
    expect(schedule.next(Date.parse('2026-01-01T00:00:00Z'), anchor)).toBe(Date.parse('2026-02-01T00:00:00Z'));
  });

  test('a period that leads beyond all dates has no second call', () => {
    expect(ticks('P9999999Y', 2)).toEqual([undefined]);
  });
});

describe('times', () => {
  test.each([
    [{}, NOW],
    [{ dueTime: '' }, NOW],
    [{ period: '1h' }, NOW],
    [{ dueTime: '5s' }, NOW + 5_000],
    [{ dueTime: 'PT1M' }, NOW + 60_000],
    [{ dueTime: '2026-01-31T13:00:00+01:00' }, NOW],
    [{ dueTime: '2026-01-31T12:00:01.5Z' }, NOW + 1_500],
    [{ dueTime: '2020-01-01T00:00:00Z' }, NOW],
    [{ dueTime: '-1h' }, NOW],
    [{ dueTime: '1s', period: '1s', ttl: '0s' }, NOW + 1_000],
  ])('%j is due first at %d', (fields, at) => {
    expect(plan(fields)).toMatchObject({ at, job: { tickAt: at, anchorAt: at } });
  });

  test('a ttl that is a duration counts from the first due instant', () => {
    expect(plan({ dueTime: '10s', period: '1s', ttl: '5s' }).job.expiresAt).toBe(NOW + 15_000);
    expect(plan({ dueTime: '2020-01-01T00:00:00Z', period: '1s', ttl: '5s' }).job.expiresAt).toBe(NOW + 5_000);
    expect(plan({ period: '1s', ttl: '2026-02-01T00:00:00Z' }).job.expiresAt).toBe(Date.parse('2026-02-01T00:00:00Z'));
  });

  test('without a period a ttl has no effect', () => {
    expect(plan({ dueTime: '10s', ttl: '1s' }).job.expiresAt).toBeUndefined();
  });

  test.each([
    [{ dueTime: 'soon' }, 'dueTime "soon" cannot be read'],
    [{ dueTime: '2026-02-30T00:00:00Z' }, 'dueTime'],
    [{ dueTime: '2026-02-01T00:00:00' }, 'dueTime'],
    [{ dueTime: 'PT' }, 'dueTime'],
    [{ dueTime: '99999-01-01T00:00:00Z' }, 'dueTime'],
    [{ period: 'R0/PT1S' }, 'period "R0/PT1S": the count of calls is 0'],
    [{ ttl: 'never' }, 'ttl "never" cannot be read'],
    [{ ttl: 'never', period: '1s' }, 'ttl'],
    [{ dueTime: '1h', period: '1s', ttl: '2026-01-31T12:30:00Z' }, 'not before the first due instant'],
    [{ period: '1s', ttl: '2020-01-01T00:00:00Z' }, 'not before the first due instant'],
    [{ period: '1s', ttl: '-1s' }, 'not before the first due instant'],
    [{ failurePolicy: { constant: { interval: 'often' } } }, 'failurePolicy.constant.interval is "often"'],
    [{ failurePolicy: { constant: { interval: '-1s' } } }, 'failurePolicy.constant.interval'],
  ])('%j is refused', (fields, problem) => {
    expect(() => plan(fields)).toThrow(expect.objectContaining({ code: 'ERR_MALFORMED_REQUEST', status: 400 }));
    expect(() => plan(fields)).toThrow(problem);
  });
});

describe.each(WIRES)('body on wire %s', (wireName) => {
  const parser = new TickParser(wireNames(wireName));
  const reminder = (body: string): ReturnType<typeof parser.reminder> => parser.reminder(Buffer.from(body));

  test('has all fields, and data as they were sent', () => {
    const text = '{"dueTime":"1s","period":"2s","ttl":"3s","data":{"n":12345678901234567890.10},"overwrite":false}';
    expect(reminder(text)).toMatchObject({
      dueTime: '1s',
      period: '2s',
      ttl: '3s',
      data: '{"n":12345678901234567890.10}',
      overwrite: false,
    });
    expect(parser.timer(Buffer.from('{"callback":"onTick","data":null}'))).toMatchObject({
      callback: 'onTick',
      data: 'null',
    });
  });

  test('is replaced by default; null is missing, and what is not known is ignored', () => {
    const fields = reminder('{"dueTime":null,"overwrite":null,"failure_policy":null,"other":5,"callback":7}');
    expect(fields).toMatchObject({ overwrite: true });
    expect(fields.dueTime).toBeUndefined();
    expect(fields.failurePolicy).toBeUndefined();
  });

  test('has a failure policy as that of a job', () => {
    const { failurePolicy } = reminder('{"failure_policy":{"constant":{"max_retries":2,"interval":"5s"}}}');
    expect(retriesOf(failurePolicy)).toMatchObject({ maxRetries: 2, initialDelayMs: 5_000 });
    expect(reminder('{"failure_policy":{"drop":{}}}').failurePolicy).toEqual({ drop: {} });
    expect(reminder('{"failurePolicy":{"drop":{}}}').failurePolicy).toEqual({ drop: {} });
  });

  test.each([
    ...['', '[]', '"text"', 'null', '5', '{', '{"dueTime":5}', '{"dueTime":{}}', '{"period":true}', '{"ttl":["1s"]}'],
    ...['{"overwrite":"false"}', '{"overwrite":0}', '{"failure_policy":"drop"}', '{"failure_policy":{"constant":5}}'],
    ...['{"failure_policy":{"constant":{"max_retries":-1}}}', '{"failure_policy":{"constant":{"interval":5}}}'],
    ...['{"failure_policy":{"constant":{},"drop":{}}}', '{"failure_policy":[]}'],
    '{"failure_policy":{"drop":{}},"failurePolicy":{"drop":{}}}',
  ])('%s is malformed', (body) => {
    expect(() => reminder(body)).toThrow(expect.objectContaining({ code: 'ERR_MALFORMED_REQUEST', status: 400 }));
  });

  test.each(['{"callback":5}', '{"dueTime":1}', 'no'])('%s is malformed for a timer', (body) => {
    expect(() => parser.timer(Buffer.from(body))).toThrow(expect.objectContaining({ code: 'ERR_MALFORMED_REQUEST' }));
  });

  test('names fields in any case only with the names of Dapr', () => {
    const fields = reminder('{"DueTime":"1s","PERIOD":"2s","Data":1.0,"OverWrite":false,"Failure_Policy":{"DROP":{}}}');
    const named = { dueTime: '1s', period: '2s', data: '1.0', overwrite: false, failurePolicy: { drop: {} } };
    expect(fields).toEqual(wireName === 'dapr' ? named : { overwrite: true, data: undefined });
  });

  test('members of all objects are no fields', () => {
    expect(reminder('{"__proto__":{"dueTime":5},"constructor":5,"toString":6}').dueTime).toBeUndefined();
  });
});

describe('answer of a read', () => {
  const render = (fields: Parameters<typeof planTick>[1], wire: (typeof WIRES)[number]): unknown => {
    const { job } = plan(fields);
    return JSON.parse(renderReminder(job, fields.data, wireNames(wire), periods).toString());
  };

  test('has what was set, and nothing else', () => {
    const all = { dueTime: '1s', period: 'R5/PT90S', ttl: '1h', data: '{"a":[1]}' };
    expect(render(all, 'sidecar')).toEqual({ ...all, data: { a: [1] } });
    expect(render({}, 'sidecar')).toEqual({});
    expect(render({ data: '5' }, 'sidecar')).toEqual({ data: 5 });
  });

  test('with the names of Dapr it names the actor, the period as it runs, and the end as an instant', () => {
    const actor = { actorID: 'alice', actorType: 'Cart' };
    const all = { dueTime: '1s', period: 'R5/PT90S', ttl: '1h', data: 'null' };
    expect(render(all, 'dapr')).toEqual({
      ...{ ...actor, dueTime: '1s', data: null, period: '@every 1m30s' },
      ttl: '2026-01-31T13:00:01.000Z',
    });
    expect(render({ period: 'P1M' }, 'dapr')).toEqual({ ...actor, period: 'P1M' });
    expect(render({}, 'dapr')).toEqual(actor);
  });

  test('the body of a call has data only if they were set, and the times as they were set', () => {
    expect(tickBody(plan({}).job, undefined).toString()).toBe('{"dueTime":"","period":""}');
    expect(tickBody(plan({ dueTime: '1s', period: '2s' }).job, '1.0').toString()).toBe(
      '{"data":1.0,"dueTime":"1s","period":"2s"}',
    );
    expect(JSON.parse(tickBody(plan({}).job, '"x"', 'on"Tick').toString())).toEqual({
      ...{ callback: 'on"Tick', data: 'x', dueTime: '', period: '' },
    });
  });
});

describe('names', () => {
  const long = (character: string, bytes: number): string => character.repeat(bytes);
  const NAMES = [
    ALICE,
    { actorType: '=', actorId: '=', name: '=' },
    { actorType: '#', actorId: '__proto__', name: '%2F ||' },
    { actorType: long('t', 256), actorId: long('i', 512), name: long('n', 256) },
    { actorType: 'T', actorId: 'é'.repeat(256), name: long('!', 256) },
    { actorType: 'T', actorId: 'i', name: long(' ', 150) },
  ];

  test.each(NAMES)('%j is found again, in the shard of its actor, and fits into a key', (name) => {
    const text = textOf(name);
    expect(tickNameOf(text)).toEqual(name);
    expect(shardKeyOf(text)).toBe(actorPart(name));
    const layout = reminderLayout(long('"', 64));
    const key = layout.due(NOW, text);
    expect(Buffer.byteLength(key)).toBeLessThanOrEqual(1_024);
    // The form in keys stands for the text.
    const inKey = layout.nameOf(key);
    expect(shardKeyOf(inKey)).toBe(actorPart(name));
    expect(layout.due(NOW, inKey)).toBe(key);
    expect(layout.nameOf(layout.job(text))).toBe(inKey);
  });

  test('no two names share a key', () => {
    const layout = reminderLayout('shop');
    const others = [
      { actorType: 'Cart', actorId: 'alice', name: '=expire' },
      { actorType: 'Cart', actorId: 'alice=', name: 'expire' },
      { actorType: '=Cart', actorId: 'alice', name: 'expire' },
    ];
    const keys = [...NAMES, ...others].map((name) => layout.job(textOf(name)));
    expect(new Set(keys).size).toBe(keys.length);
  });
});
