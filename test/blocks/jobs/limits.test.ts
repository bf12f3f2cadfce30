/** Limits of jobs over all processes, `globalConcurrency` and `rate`, in one process and in a fleet. */
import { describe, expect, test } from 'vitest';
import { defineJob, type RunLimits } from '../../../src/index.ts';
import { Fleet, type Member } from '../../support/fleet.ts';
import { JobsWorld } from '../../support/jobs-world.ts';
import { type LoggedRun, mostAtOnce, mostIn } from '../../support/run-log.ts';
import type { TestSidecar } from '../../support/sidecar.ts';

interface Run {
  readonly beganAt: number;
  endedAt?: number;
}

/** Registers jobs `work-*`, whose runs last some time. */
function limit(
  { sidecar, clock }: TestSidecar,
  limits: RunLimits,
  lastsMs: number,
  runs: Run[] = [],
): readonly LoggedRun[] {
  const work = defineJob('work-*', limits, async () => {
    const run: Run = { beganAt: clock.now() };
    runs.push(run);
    if (lastsMs > 0) await new Promise<void>((resolve) => void clock.setTimeout(resolve, lastsMs));
    run.endedAt = clock.now();
  });
  void sidecar.jobs.register(work);
  return runs;
}

async function schedule({ sidecar }: TestSidecar, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await sidecar.jobs.schedule(`work-${index}`, { dueTime: '0s' });
}

async function left({ sidecar }: TestSidecar): Promise<number> {
  return (await sidecar.jobs.listPage({ limit: 1_000 })).jobs.length;
}

describe('jobs with globalConcurrency', () => {
  test('run so many at once, all of a pattern together, and all of them in the end', async () => {
    await using world = new JobsWorld();
    const runs = limit(world, { globalConcurrency: 3 }, 1_000);
    await world.start();
    await schedule(world, 10);
    await world.clock.advance(0);
    expect(runs).toHaveLength(3);
    await world.clock.advance('5s');
    expect([runs.length, mostAtOnce(runs), await left(world)]).toEqual([10, 3, 0]);
  });

  test('hold up no other jobs', async () => {
    await using world = new JobsWorld();
    limit(world, { globalConcurrency: 1 }, 1_000);
    world.handleAll('other');
    await world.start();
    await schedule(world, 120);
    await world.sidecar.jobs.schedule('other', { dueTime: '0s' });
    await world.clock.advance(0);
    expect(world.seen.map(({ name }) => name)).toEqual(['other']);
  });

  test('keep no more than a thousand in memory, and all of them run', async () => {
    await using world = new JobsWorld();
    const runs = limit(world, { globalConcurrency: 5 }, 0);
    await world.start();
    await Promise.all(
      Array.from({ length: 2_500 }, (_, index) => world.sidecar.jobs.schedule(`work-${index}`, { dueTime: '1s' })),
    );
    await world.clock.advance('10s');
    expect([runs.length, await left(world)]).toEqual([2_500, 0]);
  });

  test('do not run any more once they are deleted while they wait, and once with a new definition', async () => {
    await using world = new JobsWorld();
    const runs = limit(world, { globalConcurrency: 1 }, 1_000);
    await world.start();
    await schedule(world, 4);
    await world.clock.advance(0);
    await world.sidecar.jobs.delete('work-2');
    await world.sidecar.jobs.schedule('work-3', { dueTime: '10s', ifExists: 'replace' });
    await world.clock.advance('5s');
    expect(runs).toHaveLength(2);
    await world.clock.advance('10s');
    expect(runs).toHaveLength(3);
  });
});

test('Jobs with a rate begin so many runs in any span of the time, retries too', async () => {
  await using world = new JobsWorld();
  const runs: Run[] = [];
  const work = defineJob(
    'work-*',
    { rate: { max: 3, per: '10s' }, retry: { maxRetries: 1, delay: '1s' } },
    (_, run) => {
      runs.push({ beganAt: world.clock.now() });
      if (run.attempt === 1) throw new Error('not yet');
    },
  );
  void world.sidecar.jobs.register(work);
  await world.start();
  await schedule(world, 3);
  await world.clock.advance('9s');
  expect(runs).toHaveLength(3);
  await world.clock.advance('9s');
  expect([runs.length, mostIn(runs, 10_000), await left(world)]).toEqual([6, 3, 0]);
});

describe('jobs with limits, in a fleet', () => {
  async function fleetOf(fleet: Fleet, limits: RunLimits, lastsMs: number, runs: Run[]): Promise<readonly Member[]> {
    const members: Member[] = [];
    for (let index = 0; index < 3; index++) {
      const member = await fleet.join({ isApart: true, runsJobs: '' });
      limit(member, limits, lastsMs, runs);
      members.push(member);
    }
    await fleet.pass(3);
    return members;
  }

  test('begin no more than the rate allows, in all hosts together', async () => {
    await using fleet = new Fleet();
    const runs: Run[] = [];
    const [first] = await fleetOf(fleet, { rate: { max: 5, per: '1m' } }, 0, runs);
    await schedule(first as Member, 20);
    await fleet.pass(50);
    expect(runs).toHaveLength(5);
    await fleet.pass(200);
    // The clocks of a fleet go on one after the other: to the second.
    expect([runs.length, mostIn(runs, 59_000)]).toEqual([20, 5]);
  });

  test('go on with the slots of a host that has died', async () => {
    await using fleet = new Fleet();
    const runs: Run[] = [];
    const members = await fleetOf(fleet, { globalConcurrency: 2 }, 0, runs);
    const [dying, ...others] = members as [Member, ...Member[]];
    await schedule(dying, 30);
    await fleet.pass(1);
    dying.store.pause();
    await schedule(others[0] as Member, 30);
    await fleet.pass(60, others);
    expect(await left(others[0] as Member)).toBe(0);
  });
});

test('Wrong limits of jobs are refused', () => {
  const define = (limits: object) => (): unknown => defineJob('work', limits as RunLimits, () => undefined);
  expect(define({ globalConcurrency: 1.5 })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', argument: 'options.globalConcurrency' }),
  );
  expect(define({ rate: { max: 5, per: '0s' } })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', argument: 'options.rate.per' }),
  );
});
