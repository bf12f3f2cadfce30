/** The times of a job in code: every form of a duration and of an instant, kept as the API has them. */
import { describe, expect, test } from 'vitest';
import type { JobOptions } from '../../../src/index.ts';
import { JobsWorld } from '../../support/jobs-world.ts';

const BEGIN = Date.parse('2026-01-01T00:00:00Z');

describe('the due time of a job in code', () => {
  test.each<[given: NonNullable<JobOptions['dueTime']>, kept: string, afterMs: number]>([
    ['3d', '72h0m0s', 259_200_000],
    ['1w1d', '192h0m0s', 691_200_000],
    ['PT1.5H', '1h30m0s', 5_400_000],
    [90_000, '1m30s', 90_000],
    ['90m', '90m', 5_400_000],
    ['P1D', 'P1D', 86_400_000],
    ['P1M', 'P1M', 31 * 86_400_000],
    [new Date(BEGIN + 5_000), '2026-01-01T00:00:05.000Z', 5_000],
    ['2026-01-01T00:00:05Z', '2026-01-01T00:00:05Z', 5_000],
  ])('%j', async (dueTime, kept, afterMs) => {
    await using world = await new JobsWorld().start();
    await world.sidecar.jobs.schedule('job', { dueTime });
    expect(await world.sidecar.jobs.get('job')).toMatchObject({ dueTime: kept, nextRunAt: BEGIN + afterMs });
  });

  test('in milliseconds since 1970 is refused: it would be a duration', async () => {
    await using world = await new JobsWorld().start();
    await expect(world.sidecar.jobs.schedule('job', { dueTime: BEGIN })).rejects.toThrow(
      `dueTime in the job is ${BEGIN}: expected a duration from now on, such as 3d or a number of milliseconds; a valid Date`,
    );
  });
});

test('an interval and an expiry may have days', async () => {
  await using world = await new JobsWorld().start();
  await world.sidecar.jobs.schedule('job', { schedule: '@every 1d', ttl: '2w' });
  const job = await world.sidecar.jobs.get('job');
  expect(job).toMatchObject({ schedule: '@every 24h0m0s', ttl: '336h0m0s', nextRunAt: BEGIN + 86_400_000 });
});
