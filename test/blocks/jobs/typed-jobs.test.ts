import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineJob, type JobDefinition } from '../../../src/index.ts';
import { JobsWorld } from '../../support/jobs-world.ts';

interface Invoice {
  readonly invoice: number;
}

/** A sidecar with jobs that their definitions run, and what they were given. */
async function running(...definitions: readonly JobDefinition[]): Promise<JobsWorld> {
  const world = new JobsWorld();
  world.sidecar.register(...definitions);
  return world.start();
}

describe('a job that is scheduled by its definition', () => {
  test('is named by its id, and its function gets the data and the context', async () => {
    const seen: unknown[] = [];
    const reminder = defineJob('reminder-*', ({ invoice }: Invoice, { name, attempt, dueAt, signal }) => {
      seen.push([name, invoice, attempt, new Date(dueAt).toISOString(), signal.aborted]);
    });
    await using world = await running(reminder);
    const { jobs } = world.sidecar;
    expect(await jobs.schedule(reminder, { id: '4711', dueTime: '3d', data: { invoice: 4711 } })).toBe(true);
    const job = await jobs.get(reminder, '4711');
    expectTypeOf(job?.data).toEqualTypeOf<Invoice | undefined>();
    expect(job).toMatchObject({ name: 'reminder-4711', data: { invoice: 4711 } });
    await world.clock.advance('3d');
    expect(seen).toEqual([['reminder-4711', 4711, 1, '2026-01-04T00:00:00.000Z', false]]);
  });

  test('is paused, resumed, run and deleted by its definition', async () => {
    let runs = 0;
    const cleanup = defineJob('cleanup', () => void runs++);
    const report = defineJob('report-*', () => void runs++);
    await using world = await running(cleanup, report);
    const { jobs } = world.sidecar;
    await jobs.schedule(cleanup, { schedule: '@daily' });
    await jobs.schedule(report, { id: 'board', schedule: '@daily' });
    expect([await jobs.pause(cleanup), await jobs.pause(report, 'board')]).toEqual([true, true]);
    expect([await jobs.resume(cleanup), await jobs.resume(report, 'board')]).toEqual([true, true]);
    expect([await jobs.run(cleanup), await jobs.run(report, 'board')]).toEqual([true, true]);
    await world.clock.settled();
    expect(runs).toBe(2);
    expect([await jobs.delete(cleanup), await jobs.delete(report, 'board')]).toEqual([true, true]);
    expect((await jobs.listPage()).jobs).toEqual([]);
  });

  test('has the retries of its definition, unless it is given one', async () => {
    const fail = defineJob('fail-*', { retry: { maxRetries: 0 } }, () => {
      throw new Error('no');
    });
    await using world = await running(fail);
    const { jobs } = world.sidecar;
    await jobs.schedule(fail, { id: 'once', dueTime: '1s' });
    await jobs.schedule(fail, { id: 'twice', dueTime: '1s', retry: { maxRetries: 1, delay: 0, factor: 1 } });
    await world.clock.advance('1m');
    expect(world.lines.filter((line) => /jobRetrying|jobDropped|jobFailed/.test(line))).toEqual([
      'jobFailed fail-once 1',
      'jobRetrying fail-twice 1',
      'jobFailed fail-twice 2',
    ]);
  });

  test.each<[what: string, id: string | undefined, name: string, message: string]>([
    ['no id', undefined, 'a-*', 'jobs "a-*" have the id undefined: expected a text for the * in the name'],
    ['an empty id', '', 'a-*', 'jobs "a-*" have the id "": expected a text for the * in the name'],
    ['an id without a place', '1', 'a', 'jobs "a" have the id "1": expected none, as the name has no *'],
    ['several places', '1', '*-*', 'jobs "*-*" have more than one *: expected the name of the job instead'],
  ])('is refused with %s', async (_what, id, name, message) => {
    const job = defineJob(name, () => undefined);
    await using world = await running(job);
    const { jobs } = world.sidecar;
    await expect(jobs.schedule(job, { id, dueTime: '1s' })).rejects.toThrow(message);
    await expect(jobs.get(job, id)).rejects.toThrow(message);
    await expect(jobs.run(job, id)).rejects.toThrow(message);
  });

  test('is refused if its definition sets it', async () => {
    const report = defineJob('report', { schedule: '@daily' }, () => undefined);
    await using world = await running(report);
    await expect(world.sidecar.jobs.schedule(report, { dueTime: '1s' })).rejects.toThrow(
      'job "report" has a schedule of its own: run() runs it now',
    );
  });
});

describe('the schema of a job', () => {
  const schema = z.object({ invoice: z.number(), at: z.coerce.date() });

  test('makes what the function gets, and refuses data that do not fit', async () => {
    const seen: unknown[] = [];
    const reminder = defineJob('reminder-*', { schema }, ({ invoice, at }) => {
      expectTypeOf(at).toEqualTypeOf<Date>();
      seen.push([invoice, at]);
    });
    await using world = await running(reminder);
    const { jobs } = world.sidecar;
    await jobs.schedule(reminder, { id: '1', dueTime: '1s', data: { invoice: 1, at: '2026-05-01' } });
    await expect(
      jobs.schedule(reminder, { id: '2', dueTime: '1s', data: { invoice: '2' as never, at: '2026-05-01' } }),
    ).rejects.toMatchObject({
      code: 'ERR_INVALID_DATA',
      message: expect.stringMatching(/^the data of job "reminder-2" does not fit the schema: invoice: /),
    });
    await world.clock.advance('1s');
    expect(seen).toEqual([[1, new Date('2026-05-01')]]);
    expect(await jobs.get(reminder, '2')).toBeUndefined();
  });

  test('fails the run of a job whose data came by its name', async () => {
    const reminder = defineJob('reminder-*', { schema, retry: { maxRetries: 0 } }, () => undefined);
    await using world = await running(reminder);
    await world.sidecar.jobs.schedule('reminder-1', { dueTime: '1s', data: {}, retry: { maxRetries: 0 } });
    await world.clock.advance('1s');
    expect(world.lines).toContain('jobFailed reminder-1 1');
    expect(world.events.at(-1)?.info['reason']).toMatch(
      /the data of job "reminder-1" does not fit the schema: invoice: /,
    );
  });

  test('of a recurring job refuses its data where they are written', () => {
    expect(() => defineJob('a', { schedule: '@daily', schema, data: {} as never }, () => undefined)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_DATA' }),
    );
  });

  test('may be asynchronous', async () => {
    const positive = z.number().refine(async (value) => value > 0);
    const seen: number[] = [];
    const count = defineJob('count-*', { schema: positive }, (value) => void seen.push(value));
    await using world = await running(count);
    await world.sidecar.jobs.schedule(count, { id: '1', dueTime: '1s', data: 1 });
    await expect(world.sidecar.jobs.schedule(count, { id: '2', dueTime: '1s', data: -1 })).rejects.toThrow('schema');
    await world.clock.advance('1s');
    expect(seen).toEqual([1]);
  });
});

test('the types of jobs refuse what would be undefined or wrong when the job runs', () => {
  const daily = { schedule: '@daily' } as const;
  defineJob('a', { ...daily, data: { to: 'board' } }, (data) => expectTypeOf(data).toEqualTypeOf<{ to: string }>());
  defineJob('a', daily, (data) => expectTypeOf(data).toBeUndefined());
  defineJob<Invoice>('a-*', (data) => expectTypeOf(data).toEqualTypeOf<Invoice>());
  defineJob('a-*', (data) => expectTypeOf(data).toBeUnknown());
  // @ts-expect-error: there is no data
  defineJob<{ to: string }>('a', daily, ({ to }) => to);
  // @ts-expect-error: data of another type
  defineJob('a', { ...daily, data: { to: 'board' } }, ({ to }: { to: number }) => to);
  const { jobs } = new JobsWorld().sidecar;
  const reminder = defineJob('reminder-*', (_: Invoice) => undefined);
  // @ts-expect-error: data are missing
  const missing = (): unknown => jobs.schedule(reminder, { id: '1', dueTime: '1s' });
  // @ts-expect-error: data of another type
  const wrong = (): unknown => jobs.schedule(reminder, { id: '1', dueTime: '1s', data: { invoice: '1' } });
  expect([missing, wrong]).toHaveLength(2);
});
