import { expect, test } from 'vitest';
import { jobsWorld } from '../../support/jobs-world.ts';

test.each<[name: unknown, message: string]>([
  [5, 'job name is a number: expected text'],
  [undefined, 'job name is undefined: expected text'],
  [['report'], 'job name is an array: expected text'],
  ['a\ud800', 'contains an unpaired surrogate'],
])('a job named %j is refused', async (name, message) => {
  await using world = await jobsWorld();
  const { jobs } = world.sidecar;
  await expect(jobs.schedule(name as string, { dueTime: '1h' })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(message),
  });
  await expect(jobs.get(name as string)).rejects.toThrow(message);
  await expect(jobs.delete(name as string)).rejects.toThrow(message);
});
