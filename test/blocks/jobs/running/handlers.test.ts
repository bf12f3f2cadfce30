import { describe, expect, test } from 'vitest';
import { type HandledJob, JobHandlers } from '../../../../src/blocks/jobs/running/handlers.ts';

const named = (name: string): HandledJob => ({
  handler: () => name,
  schema: undefined,
  timeLimitMs: 0,
  retryIf: undefined,
  limits: [],
});

describe('handlers of jobs', () => {
  test.each<[job: string, handler: string | undefined]>([
    ['report', 'report'],
    ['report-a', 'report-*'],
    ['report-', 'report-*'],
    ['report-daily-a', 'report-daily-*'],
    ['xy', 'x*y'],
    ['x-y-y', 'x*y'],
    ['a1b2c', 'a*b*c'],
    ['abc', 'a*b*c'],
    ['acb', undefined],
    ['ab', undefined],
    ['reports', undefined],
    ['.*', undefined],
    ['constructor', undefined],
  ])('%s is for %s', (job, expected) => {
    const handlers = new JobHandlers();
    for (const pattern of ['report-*', 'report', 'report-daily-*', 'x*y', 'a*b*c'])
      handlers.add(pattern, named(pattern));
    const run = handlers.find(job)?.handler as (() => string) | undefined;
    expect(run?.()).toBe(expected);
  });

  test('overlapping ends do not match twice', () => {
    const handlers = new JobHandlers();
    handlers.add('ab*ba', named('it'));
    expect(handlers.find('aba')).toBe(undefined);
    expect(handlers.find('abba')).toBeDefined();
  });

  test('a pattern has one handler, and may be taken back', () => {
    const handlers = new JobHandlers();
    for (const pattern of ['a', 'a*']) {
      handlers.add(pattern, named('first'));
      expect(() => handlers.add(pattern, named('second'))).toThrow('handler already');
      handlers.remove(pattern);
      expect(handlers.find('a')).toBe(undefined);
    }
  });
});
