import { describe, expect, test } from 'vitest';
import {
  defineJob,
  type JobDefinition,
  type JobHandler,
  type JobOptions,
  type JobRegistration,
  type RecurringJobOptions,
} from '../../../src/index.ts';
import { Fleet } from '../../support/fleet.ts';
import type { Answer } from '../../support/http.ts';
import { JobsWorld, jobsWorld } from '../../support/jobs-world.ts';
import { startWorld } from '../../support/world.ts';

/** A definition of the job `report` whose options the compiler does not know. */
function report(options: RecurringJobOptions, handler: JobHandler = () => undefined): JobDefinition {
  return defineJob('report', { data: undefined, ...options }, handler);
}

/** An application that is deployed again and again, each time with one definition of the job `report`. */
class Deployed extends JobsWorld {
  /** The definition of the code that is deployed next; without one, nothing defines the job. */
  definition: RecurringJobOptions | undefined;

  async deploy(definition: RecurringJobOptions | undefined): Promise<void> {
    this.definition = definition;
    await this.restart('0s', false);
  }

  override async start(): Promise<this> {
    if (this.definition !== undefined) this.sidecar.register(report(this.definition, this.record));
    return super.start();
  }

  get hours(): readonly string[] {
    return this.times.map((time) => time.slice(5, 16));
  }
}

const deployed = (definition: RecurringJobOptions | undefined, options = {}): Promise<Deployed> => {
  const world = new Deployed(options);
  world.definition = definition;
  return world.start();
};

describe('a job that is defined in code', () => {
  test('is created at the start when it is missing, and runs in its function', async () => {
    await using world = await deployed({ schedule: '@every 1h', data: { to: 'board' } });
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ schedule: '@every 1h', data: { to: 'board' } });
    await world.clock.advance('2h');
    expect(world.seen.map(({ at, data }) => [at.slice(11), data])).toEqual([
      ['01:00:00', { to: 'board' }],
      ['02:00:00', { to: 'board' }],
    ]);
  });

  test('is left alone when unchanged: @every 4h, deployed every three hours, runs every four', async () => {
    const code = (): RecurringJobOptions => ({ schedule: '@every 4h', data: { to: 'board', all: true } });
    await using world = await deployed(code());
    for (let deploy = 0; deploy < 5; deploy++) {
      await world.clock.advance('3h');
      await world.deploy(code());
    }
    expect(world.hours).toEqual(['01-01T04:00', '01-01T08:00', '01-01T12:00']);
    expect(world.lines.filter((told) => told.startsWith('jobScheduled'))).toEqual(['jobScheduled report']);
  });

  test.each<[what: string, changed: RecurringJobOptions]>([
    ['keys in another order', { schedule: '@every 4h', data: { all: true, to: 'board' }, dueTime: '2h' }],
    [
      'members that are undefined',
      { schedule: '@every 4h', data: { to: 'board', all: true, x: undefined }, dueTime: '2h' },
    ],
  ])('is unchanged with %s', async (_what, changed) => {
    await using world = await deployed({ schedule: '@every 4h', data: { to: 'board', all: true }, dueTime: '2h' });
    await world.clock.advance('1h');
    await world.deploy(changed);
    await world.clock.advance('2h');
    expect(world.hours).toEqual(['01-01T02:00']);
    expect(world.lines.filter((told) => told.startsWith('jobScheduled')).length).toBe(1);
  });

  test.each<[what: string, changed: RecurringJobOptions, hours: string[]]>([
    ['a schedule', { schedule: '@every 2h' }, ['01-01T05:00', '01-01T07:00']],
    ['a dueTime', { schedule: '@every 4h', dueTime: '30m' }, ['01-01T03:30', '01-01T07:30']],
  ])('is replaced by a changed definition, with its next instant: %s', async (_what, changed, hours) => {
    await using world = await deployed({ schedule: '@every 4h' });
    await world.clock.advance('3h');
    await world.deploy(changed);
    await world.clock.advance('5h');
    expect(world.hours).toEqual(hours);
  });

  const long = 'x'.repeat(10_000);
  test.each<[what: string, from: unknown, to: unknown]>([
    ['short', 'v1', 'v2'],
    ['longer', 'v1', long],
    ['shorter', long, 'v2'],
    ['none', long, undefined],
  ])('keeps its next instant when only its data is changed: %s', async (_what, from, to) => {
    await using world = await deployed({ schedule: '@every 4h', data: from });
    await world.clock.advance('5h');
    await world.deploy({ schedule: '@every 4h', data: to });
    await world.clock.advance('4h');
    expect(world.seen.map(({ at, data }) => [at.slice(11, 16), data])).toEqual([
      ['04:00', from],
      ['08:00', to],
    ]);
    // Its pointer, its entry, and its data when it lies apart: nothing of before.
    expect((await world.store.memory.scan({ from: 'jobs!', to: 'jobs"' })).length).toBe(to === long ? 3 : 2);
  });

  test('keeps its next instant when only its retries are changed', async () => {
    await using world = await deployed({ schedule: '@every 4h' });
    world.run = () => {
      throw new Error('no');
    };
    await world.clock.advance('3h');
    await world.deploy({ schedule: '@every 4h', retry: { maxRetries: 0 } });
    await world.clock.advance('2h');
    expect(world.hours).toEqual(['01-01T04:00']);
    expect(world.lines).toContain('jobFailed report 1');
  });

  test('a run that was missed while the process was down has the data of the code that runs it', async () => {
    await using world = await deployed({ schedule: '@every 1h', data: 'v1' });
    await world.stop();
    await world.clock.advance('90m');
    await world.deploy({ schedule: '@every 1h', data: 'v2' });
    expect(world.seen.map(({ dueAt, data }) => [dueAt.slice(11), data])).toEqual([['01:00:00', 'v2']]);
  });

  test('data that is changed while a run is under way: that run ends and counts, and the next one has them', async () => {
    await using world = await deployed(undefined);
    let [running, most] = [0, 0];
    const work = async (data: string): Promise<void> => {
      most = Math.max(most, ++running);
      world.seen.push({ name: 'report', at: '', dueAt: '', attempt: 1, data });
      if (data === 'v1') await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 10_000));
      running--;
    };
    await world.sidecar.jobs.register(defineJob('report', { schedule: '@every 1h', data: 'v1' }, work));
    await world.clock.advance('1h5s');
    await world.sidecar.jobs.schedule('report', { schedule: '@every 1h', data: 'v2', ifExists: 'update' });
    await world.clock.advance('30s');
    expect(world.seen.map(({ data }) => data)).toEqual(['v1']);
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ runs: 1, data: 'v2' });
    await world.clock.advance('1h');
    expect([most, world.seen.map(({ data }) => data)]).toEqual([1, ['v1', 'v2']]);
  });

  test('what others made of the job at run time ends with the next start', async () => {
    await using world = await deployed({ schedule: '@every 1h' });
    await world.sidecar.jobs.schedule('report', { schedule: '@every 5m', ifExists: 'replace' });
    await world.deploy({ schedule: '@every 1h' });
    expect((await world.sidecar.jobs.get('report'))?.schedule).toBe('@every 1h');
    await world.sidecar.jobs.delete('report');
    await world.deploy({ schedule: '@every 1h' });
    expect((await world.sidecar.jobs.get('report'))?.schedule).toBe('@every 1h');
  });

  test('stays when its definition is taken out of the code, until it is deleted', async () => {
    await using world = await deployed({ schedule: '@every 1h' });
    await world.deploy(undefined);
    expect((await world.sidecar.jobs.get('report'))?.schedule).toBe('@every 1h');
    expect(await world.sidecar.jobs.delete('report')).toBe(true);
  });

  test('after the start it is there at once', async () => {
    await using world = await deployed(undefined);
    await world.sidecar.jobs.register(defineJob('report', { schedule: '@every 1h' }, () => undefined));
    expect((await world.sidecar.jobs.get('report'))?.schedule).toBe('@every 1h');
  });

  test('while the sidecar starts it is not lost', async () => {
    const world = new Deployed();
    const starting = world.sidecar.start();
    const defined: Promise<JobRegistration>[] = [];
    for (let turn = 0; turn < 50; turn++) {
      defined.push(world.sidecar.jobs.register(defineJob(`job-${turn}`, { schedule: '@every 1h' }, () => undefined)));
      await Promise.resolve();
    }
    await Promise.all([starting, ...defined]);
    const jobs = await Promise.all(defined.map((_, turn) => world.sidecar.jobs.get(`job-${turn}`)));
    expect(jobs.filter((job) => job === undefined)).toEqual([]);
    await world.clock.advance('1h');
    expect(world.lines.filter((told) => told.startsWith('jobCompleted')).length).toBe(50);
    await world.stop();
  });

  test('a store that does not take it fails the start', async () => {
    const world = new Deployed();
    await world.sidecar.jobs.register(defineJob('report', { schedule: '@every 1h' }, () => undefined));
    world.store.interfere = (batch, commit) =>
      batch.put?.some(({ key }) => key.startsWith('jobs!'))
        ? Promise.reject(new Error('the disk is on fire'))
        : commit();
    await expect(world.sidecar.start()).rejects.toThrow('the disk is on fire');
  });

  test('after the start, a store that does not take it leaves no handler behind', async () => {
    await using world = await deployed(undefined);
    const define = (): Promise<JobRegistration> =>
      world.sidecar.jobs.register(defineJob('report', { schedule: '@every 1h' }, () => undefined));
    world.store.interfere = () => Promise.reject(new Error('the disk is on fire'));
    await expect(define()).rejects.toThrow('the disk is on fire');
    world.store.interfere = (_batch, commit) => commit();
    await define();
    expect((await world.sidecar.jobs.get('report'))?.schedule).toBe('@every 1h');
  });

  test('two hosts that start at the same time make one job of it, and no error', async () => {
    await using fleet = new Fleet();
    const define = ({ sidecar }: { sidecar: JobsWorld['sidecar'] }): Promise<JobRegistration> =>
      sidecar.jobs.register(defineJob('report', { schedule: '@every 10s', data: 1 }, () => undefined));
    const [a, b] = await Promise.all([fleet.join(), fleet.join()]);
    await Promise.all([define(a), define(b)]);
    await fleet.pass(2);
    expect((await fleet.memory.scan({ from: 'jobs!', to: 'jobs"' })).length).toBe(2);
    expect([...a.logger.at('error'), ...b.logger.at('error')]).toEqual([]);
  });

  test('hosts of two releases: the one that started last counts, and the other does not write its own back', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.sidecar.jobs.register(defineJob('report', { schedule: '@every 1h' }, () => undefined));
    await b.sidecar.jobs.register(defineJob('report', { schedule: '@every 2h' }, () => undefined));
    await fleet.pass(5);
    expect((await a.sidecar.jobs.get('report'))?.schedule).toBe('@every 2h');
  });
});

describe('a definition that is refused', () => {
  const define = (name: string, options: unknown): void =>
    new Deployed().sidecar.register(defineJob(name, options as { schedule: string }, () => undefined));
  test.each<[name: string, definition: unknown, message: string]>([
    ['report', { dueTime: '1h' }, 'job "report" has no schedule: its data and dueTime are those of jobs.schedule'],
    [
      'report',
      { schedule: '@daily', repeats: 3 },
      'unknown field "repeats": expected schedule, dueTime, data, schema, retry',
    ],
    ['report', { schedule: '@daily', ttl: '1h' }, 'unknown field "ttl": expected schedule'],
    ['report', { schedule: '@daily', ifExists: 'keep' }, 'unknown field "ifExists"'],
    ['report', { schedule: '@daily', overwrite: true }, 'unknown field "overwrite"'],
    ['report', { schedule: 'never' }, 'schedule "never"'],
    ['report', { schedule: '0 0 0 30 2 *' }, 'never comes due'],
    [
      'report',
      { schedule: '@daily', dueTime: 'soon' },
      'dueTime in the job is "soon": expected a duration from now on, such as 3d',
    ],
    ['report', undefined, 'expected an object, actual is undefined'],
    ['report', null, 'expected an object, actual is null'],
    ['report-*', { schedule: '@daily' }, 'job "report-*" has a schedule: expected the name of one job, without *'],
    ['a/b', { schedule: '@daily' }, 'contains one of'],
    ['', { schedule: '@daily' }, 'the name of a job is "": expected a text that is not empty'],
  ])('%j with %j', (name, definition, message) => {
    expect(() => define(name, definition)).toThrow(message);
  });

  test('a second one of the same name', () => {
    const { sidecar } = new Deployed();
    sidecar.register(defineJob('a', { schedule: '@daily' }, () => undefined));
    for (const second of [defineJob('a', { schedule: '@hourly' }, () => undefined), defineJob('a', () => undefined)])
      expect(() => sidecar.register(second)).toThrow('jobs "a" have a handler already');
  });

  test('is thrown by jobs.register too, and not the rejection of a promise that no code waits for', () => {
    const { jobs } = new Deployed().sidecar;
    expect(() => jobs.register(defineJob('a', { schedule: '30 2 * * *' }, () => undefined))).toThrow(
      'expected 6 fields',
    );
    expect(() => jobs.register('a' as never)).toThrow('register was given a string: expected what defineJob returns');
  });
});

describe('schedule with ifExists', () => {
  const present: JobOptions = { schedule: '@every 4h', data: 1, repeats: 5, ttl: '100h' };

  test.each<[ifExists: JobOptions['ifExists'], options: JobOptions, written: boolean, next: string, data: unknown]>([
    ['keep', { ...present, schedule: '@every 1h', data: 2 }, false, '04:00', 1],
    ['update', present, false, '04:00', 1],
    ['update', { ...present, data: 2 }, true, '04:00', 2],
    ['update', { ...present, schedule: '@every 1h' }, true, '02:00', 1],
    ['update', { ...present, repeats: 6 }, true, '05:00', 1],
    ['update', { ...present, ttl: '99h' }, true, '05:00', 1],
    ['replace', present, true, '05:00', 1],
    ['replace', { ...present, data: 2 }, true, '05:00', 2],
  ])('%s of %j', async (ifExists, options, written, next, data) => {
    await using world = await deployed(undefined);
    const { jobs } = world.sidecar;
    expect(await jobs.schedule('job', { ...present, ...(ifExists === undefined ? {} : { ifExists }) })).toBe(true);
    await world.clock.advance('1h');
    expect(await jobs.schedule('job', { ...options, ...(ifExists === undefined ? {} : { ifExists }) })).toBe(written);
    const job = await jobs.get('job');
    expect([new Date(job?.nextRunAt ?? 0).toISOString().slice(11, 16), job?.data]).toEqual([next, data]);
  });

  test('update keeps the runs that count towards repeats', async () => {
    await using world = await deployed(undefined);
    const options: JobOptions = { schedule: '@every 1h', repeats: 3, ifExists: 'update' };
    await world.sidecar.jobs.schedule('job', { ...options, data: 1 });
    await world.sidecar.jobs.register(defineJob('job', () => undefined));
    await world.clock.advance('2h');
    await world.sidecar.jobs.schedule('job', { ...options, data: 2 });
    await world.clock.advance('5h');
    expect(world.lines.filter((told) => told.startsWith('jobCompleted')).length).toBe(3);
  });

  test.each<JobOptions>([{ ifExists: 'fail' }, {}])('refuses with %j: 409', async (options) => {
    await using world = await deployed(undefined);
    await world.sidecar.jobs.schedule('job', present);
    await expect(world.sidecar.jobs.schedule('job', { ...present, ...options })).rejects.toMatchObject({ status: 409 });
  });

  test.each<[options: object, message: string]>([
    [{ overwrite: true }, 'unknown field "overwrite"'],
    [{ ifExists: 'merge' }, 'ifExists must be "fail" or "keep" or "replace" or "update": actual is "merge"'],
  ])('%j is an error', async (options, message) => {
    await using world = await deployed(undefined);
    await expect(world.sidecar.jobs.schedule('job', { ...present, ...options })).rejects.toThrow(message);
  });

  test('is no word of the HTTP API', async () => {
    await using world = await startWorld({ discovery: [] });
    const send = (body: object): Promise<Answer> =>
      world.send('POST', '/v1.0-alpha1/jobs/job', { headers: { 'content-type': 'application/json' }, body });
    expect((await send({ dueTime: '1h' })).status).toBe(204);
    expect((await send({ dueTime: '1h', ifExists: 'replace' })).status).toBe(409);
  });
});

test('a function that is taken away twice does not take the one with it that has its place', async () => {
  await using world = await jobsWorld();
  const first = await world.sidecar.jobs.register(defineJob('report', () => undefined));
  await first.close();
  let runs = 0;
  await world.sidecar.jobs.register(defineJob('report', () => void runs++));
  await first.close();
  await world.sidecar.jobs.schedule('report', { dueTime: '1s' });
  await world.pass('1s');
  expect(runs).toBe(1);
});
