import { expect, test } from 'vitest';
import { defineJob, type JobContext, type SidecarOptions } from '../../../../src/index.ts';
import { forever, type LifeOfProcess, Lives, untilLength } from '../../../support/lives.ts';

/** Processes that run the jobs of one store. `seen` has `<life> <job> <attempt>` of every run. */
class JobLives extends Lives {
  readonly seen: string[];
  readonly events: string[];

  constructor(run: (run: JobContext, life: number) => unknown, options: Partial<SidecarOptions> = {}) {
    const [seen, events]: [string[], string[]] = [[], []];
    super(({ sidecar, number }) => {
      sidecar.register(
        defineJob('*', (_, one) => {
          seen.push(`${number} ${one.name} ${one.attempt}`);
          return run(one, number);
        }),
      );
      for (const name of ['jobRetrying', 'jobFailed', 'jobDropped'] as const)
        sidecar.events.on(name, (event) => events.push(`${number} ${name} ${event.jobName}: ${event.reason}`));
      for (const name of ['jobCompleted', 'jobEnded'] as const)
        sidecar.events.on(name, (event) => events.push(`${number} ${name} ${event.jobName}`));
    }, options);
    this.seen = seen;
    this.events = events;
  }

  /** The next process, once there were so many runs. */
  async after(runs: number): Promise<LifeOfProcess> {
    await untilLength(this.seen, runs);
    return this.next();
  }
}

const NOW = { dueTime: '0s' };

test('a job that ends the process fails after 3 runs that are known to have done so, with a reason that says so', async () => {
  const lives = new JobLives(forever);
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', { ...NOW, retry: { maxRetries: 0 } });
  for (const runs of [1, 2, 3, 4]) await lives.after(runs);
  await untilLength(lives.events, 1);
  expect(lives.events).toEqual(['5 jobFailed poison: the process ended 3 times in a row while it ran']);
  expect(lives.seen).toEqual([1, 2, 3, 4].map((life) => `${life} poison 1`));
});

test('the retries that its policy grants may each end the process once more', async () => {
  const lives = new JobLives(forever);
  const { sidecar } = await lives.next();
  const retry = { maxRetries: 2, delay: '10ms', factor: 1 } as const;
  await sidecar.jobs.schedule('poison', { ...NOW, retry });
  for (const runs of [1, 2, 3, 4, 5, 6]) await lives.after(runs);
  await untilLength(lives.events, 3);
  expect(lives.events).toEqual([
    '5 jobRetrying poison: the process ended 3 times in a row while it ran',
    '6 jobRetrying poison: the process ended 4 times in a row while it ran',
    '7 jobFailed poison: the process ended 5 times in a row while it ran',
  ]);
  expect(lives.seen.slice(3)).toEqual(['4 poison 1', '5 poison 2', '6 poison 3']);
});

test('without a limit of retries it fails for good after twice as many', async () => {
  const lives = new JobLives(forever, { jobs: { maxCrashes: 2 } });
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', { ...NOW, retry: { maxRetries: 'unlimited', delay: 0, factor: 1 } });
  for (const runs of [1, 2, 3, 4, 5]) await lives.after(runs);
  await untilLength(lives.events, 3);
  expect(lives.events.slice(2)).toEqual(['6 jobFailed poison: the process ended 4 times in a row while it ran']);
});

test('a job that repeats ends the process once for each tick after that, until a run of it ends', async () => {
  const lives = new JobLives((_run, life) => (life < 6 ? forever() : undefined), { jobs: { maxCrashes: 1 } });
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', { ...NOW, schedule: '@every 50ms', retry: { maxRetries: 0 } });
  for (const runs of [1, 2, 3, 4, 5]) await lives.after(runs);
  await expect.poll(() => lives.events.length).toBeGreaterThan(4);
  expect(lives.events.slice(0, 5)).toEqual([
    '3 jobFailed poison: the process ended while it ran',
    '4 jobFailed poison: the process ended 2 times in a row while it ran',
    '5 jobFailed poison: the process ended 3 times in a row while it ran',
    '6 jobFailed poison: the process ended 4 times in a row while it ran',
    '6 jobCompleted poison',
  ]);
  lives.kill();
});

test('jobs that ran beside it go on, and are not taken for it', async () => {
  const work = async ({ name }: JobContext): Promise<void> => {
    if (name === 'poison') return forever();
    // Longer than the process lives, unless the job that ends it does not run.
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  const lives = new JobLives(work);
  const { sidecar } = await lives.next();
  for (const name of ['a', 'poison', 'z']) await sidecar.jobs.schedule(name, { ...NOW, retry: { maxRetries: 0 } });
  for (const runs of [3, 6, 9]) await lives.after(runs);
  // From now on one after the other.
  await expect.poll(() => lives.seen.includes('4 poison 1')).toBe(true);
  expect(lives.seen.slice(9)).toEqual(['4 a 1', '4 poison 1']);
  await lives.next();
  await expect.poll(() => lives.events.includes('5 jobCompleted z')).toBe(true);
  expect(lives.events.filter((line) => /^[45]/.test(line) && !line.includes('jobEnded'))).toEqual([
    '4 jobCompleted a',
    '5 jobFailed poison: the process ended 3 times in a row while it ran',
    '5 jobCompleted z',
  ]);
});

test('a stop in order is no crash, however long the run would take', async () => {
  const lives = new JobLives(forever, { stopTimeout: 20, jobs: { maxCrashes: 1 } });
  let life = await lives.next();
  await life.sidecar.jobs.schedule('long', { ...NOW, retry: { maxRetries: 0 } });
  for (const runs of [1, 2, 3, 4]) {
    await untilLength(lives.seen, runs);
    await life.sidecar.stop();
    life = await lives.next();
  }
  await untilLength(lives.seen, 5);
  expect(lives.events).toEqual([]);
});

test('a run that ends begins the count anew, and a failure is one', async () => {
  const lives = new JobLives(
    ({ attempt }, life) => (life === 3 && attempt === 1 ? Promise.reject(new Error('no')) : forever()),
    {
      jobs: { maxCrashes: 2 },
    },
  );
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', { ...NOW, retry: { maxRetries: 9, delay: '10ms', factor: 1 } });
  // The second run of the third process is the first one that ends the process without being known.
  for (const runs of [1, 2, 4, 5, 6]) await lives.after(runs);
  await untilLength(lives.events, 2);
  expect(lives.events).toEqual([
    '3 jobRetrying poison: no',
    '6 jobRetrying poison: the process ended 2 times in a row while it ran',
  ]);
});

test('maxCrashes 0 switches it off', async () => {
  const lives = new JobLives(forever, { jobs: { maxCrashes: 0 } });
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', { ...NOW, retry: { maxRetries: 0 } });
  for (const runs of [1, 2, 3, 4, 5, 6, 7]) await lives.after(runs);
  await untilLength(lives.seen, 8);
  expect(lives.events).toEqual([]);
});

test('a job costs one commit for a run, unless it was due when the process began', async () => {
  const lives = new JobLives((_run, life) => (life === 1 ? forever() : undefined));
  const first = await lives.next();
  await first.sidecar.jobs.schedule('old', NOW);
  const second = await lives.after(1);
  await untilLength(lives.events, 2);
  // The begin and the end.
  expect(second.commits).toBe(2);
  await second.sidecar.jobs.schedule('new', NOW);
  await untilLength(lives.events, 4);
  expect(second.commits).toBe(4);
});

test('the log tells which job runs again', async () => {
  const lives = new JobLives(forever);
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', NOW);
  await lives.after(1);
  const { logger } = await lives.after(2);
  await untilLength(lives.seen, 3);
  expect(logger.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', message: 'a job runs again: the process ended during its last run' }),
  );
});

test('a pause during a counted run leaves the count as it is', async () => {
  const lives = new JobLives(forever, { jobs: { maxCrashes: 1 } });
  const { sidecar } = await lives.next();
  await sidecar.jobs.schedule('poison', { ...NOW, retry: { maxRetries: 0 } });
  const second = await lives.after(1);
  await untilLength(lives.seen, 2);
  await second.sidecar.jobs.pause('poison');
  const third = await lives.next();
  await third.sidecar.jobs.resume('poison');
  await untilLength(lives.events, 1);
  expect(lives.events[0]).toBe('3 jobFailed poison: the process ended while it ran');
});
