import { describe, expect, test } from 'vitest';
import { type Duration, defineJob, type JobContext, Sidecar } from '../../../../src/index.ts';
import { patientClock } from '../../../support/clock.ts';
import { listen } from '../../../support/http.ts';
import { JobsWorld, jobsWorld, timeOf } from '../../../support/jobs-world.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { type LogLine, RecordingLogger } from '../../../support/logger.ts';

/** A function that runs until it is told how to end. */
class Gate {
  readonly runs: { readonly run: JobContext; readonly end: (error?: Error) => void }[] = [];
  running = 0;
  most = 0;

  readonly pass = async (_: unknown, run: JobContext): Promise<void> => {
    this.most = Math.max(this.most, ++this.running);
    try {
      await new Promise<void>((resolve, reject) => {
        this.runs.push({ run, end: (error) => (error === undefined ? resolve() : reject(error)) });
      });
    } finally {
      this.running--;
    }
  };
}

function warnings(lines: readonly LogLine[]): readonly unknown[] {
  return lines.filter(({ level }) => level === 'warn').map(({ message, details }) => [message.slice(0, 43), details]);
}

describe('a run in code that takes long', () => {
  test('has no time-out by default: the next tick waits for its end, and it is a success', async () => {
    await using world = await jobsWorld({ jobs: { timeout: 5_000 } });
    const gate = new Gate();
    world.run = gate.pass;
    await world.sidecar.jobs.schedule('slow', { schedule: '@every 1m' });
    await world.clock.advance('1h');
    expect([world.seen.length, gate.runs[0]?.run.signal.aborted]).toEqual([1, false]);
    gate.runs[0]?.end();
    await world.clock.advance('1s');
    expect([world.seen.map(({ attempt }) => attempt), gate.most]).toEqual([[1, 1], 1]);
    expect(world.lines.slice(0, 3)).toEqual(['jobScheduled slow', 'jobStarted slow 1', 'jobCompleted slow 1']);
    gate.runs[1]?.end();
  });

  test('outlives its time-out: its signal fires, it keeps its place, and what comes in the end counts', async () => {
    await using world = await new JobsWorld().start();
    const gate = new Gate();
    await world.sidecar.jobs.register(defineJob('slow', { timeout: 5_000 }, gate.pass));
    await world.sidecar.jobs.schedule('slow', { schedule: '@every 1m' });
    await world.clock.advance('64999ms');
    expect(gate.runs[0]?.run.signal.aborted).toBe(false);
    await world.clock.advance(1);
    expect(gate.runs[0]?.run.signal.reason).toMatchObject({ message: 'no result within 5000 ms' });
    await world.clock.advance('10m');
    expect([gate.runs.length, warnings(world.logger.lines)]).toEqual([
      1,
      [['a function has not returned within its time', { job: 'slow', attempt: 1, timeoutMs: 5_000 }]],
    ]);
    gate.runs[0]?.end();
    await world.clock.advance(0);
    expect(world.lines.slice(0, 3)).toEqual(['jobScheduled slow', 'jobStarted slow 1', 'jobCompleted slow 1']);
    expect([gate.runs.length, gate.most]).toEqual([2, 1]);
    gate.runs[1]?.end();
  });

  test('fails after its time-out: it is tried again as any other that fails', async () => {
    await using world = await new JobsWorld().start();
    const gate = new Gate();
    await world.sidecar.jobs.register(defineJob('*', { timeout: 1_000 }, gate.pass));
    const retry = { maxRetries: 1, delay: '10s', factor: 1 } as const;
    await world.sidecar.jobs.schedule('slow', { dueTime: '1s', retry });
    await world.clock.advance('1m');
    gate.runs[0]?.end(new Error('too late'));
    await world.clock.advance('9s');
    expect(gate.runs.map(({ run }) => run.attempt)).toEqual([1]);
    await world.clock.advance('1s');
    expect([gate.runs.map(({ run }) => run.attempt), gate.most]).toEqual([[1, 2], 1]);
    gate.runs[1]?.end();
    await world.clock.settled();
    expect(world.lines.slice(-2)).toEqual(['jobCompleted slow 2', 'jobEnded slow finished']);
  });

  test('keeps its place among those that run at a time', async () => {
    await using world = await new JobsWorld({ jobs: { concurrency: 1 } }).start();
    const gate = new Gate();
    await world.sidecar.jobs.register(defineJob('slow', { timeout: 1_000 }, gate.pass));
    world.handleAll('other');
    await world.sidecar.jobs.schedule('slow', { dueTime: '1s' });
    await world.sidecar.jobs.schedule('other', { dueTime: '2s' });
    await world.clock.advance('1m');
    expect(world.seen).toEqual([]);
    gate.runs[0]?.end();
    await world.clock.settled();
    expect(world.times).toEqual([timeOf(world.clock.now())]);
  });

  test('a run of a job that is replaced meanwhile keeps the new one waiting', async () => {
    await using world = await jobsWorld();
    const gate = new Gate();
    world.run = gate.pass;
    await world.sidecar.jobs.schedule('slow', { dueTime: '1s' });
    await world.clock.advance('2s');
    await world.sidecar.jobs.schedule('slow', { dueTime: '1s', ifExists: 'replace' });
    await world.clock.advance('10m');
    expect(gate.runs.length).toBe(1);
    gate.runs[0]?.end();
    await world.clock.advance('1s');
    expect([gate.runs.length, gate.most]).toEqual([2, 1]);
    gate.runs[1]?.end();
  });

  test('is warned of once, after five minutes, with its name', async () => {
    await using world = await jobsWorld();
    const gate = new Gate();
    world.run = gate.pass;
    await world.sidecar.jobs.schedule('first', { dueTime: '1s' });
    await world.sidecar.jobs.schedule('second', { dueTime: '61s' });
    await world.clock.advance('300999ms');
    expect(warnings(world.logger.lines)).toEqual([]);
    await world.clock.advance('1h');
    const text = 'a function has not returned for five minute';
    expect(warnings(world.logger.lines)).toEqual([
      [text, { job: 'first', attempt: 1, runningMs: 300_000 }],
      [text, { job: 'second', attempt: 1, runningMs: 300_000 }],
    ]);
    for (const { end } of gate.runs) end();
  });

  test('is watched by no timer once it has ended', async () => {
    await using world = await jobsWorld();
    const gate = new Gate();
    world.run = gate.pass;
    await world.sidecar.jobs.schedule('short', { dueTime: '1s' });
    await world.clock.advance('1s');
    expect(world.clock.pendingTimers).toBe(1);
    gate.runs[0]?.end();
    await world.clock.settled();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test('the time-out of a job that is declared is that of its function', async () => {
    const clock = patientClock();
    await using sidecar = new Sidecar({ appId: 'shop', clock, logger: new RecordingLogger() });
    const gate = new Gate();
    await sidecar.jobs.register(defineJob('slow', { schedule: '@every 1m', timeout: 2_000 }, gate.pass));
    await sidecar.start();
    await clock.advance('62s');
    expect(gate.runs[0]?.run.signal.aborted).toBe(true);
    gate.runs[0]?.end();
    expect(await sidecar.jobs.get('slow')).not.toHaveProperty('timeout');
  });

  test.each([-1, '5 s', Number.POSITIVE_INFINITY, '-5s', Number.NaN])('a time-out of %s is refused', (timeout) => {
    const options = { timeout: timeout as Duration };
    const refused = expect.objectContaining({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringMatching(
        /^timeout in options of job "a" is .+: expected a duration: a number of milliseconds, or a text such as/,
      ),
    });
    expect(() => defineJob('a', options, () => undefined)).toThrow(refused);
    expect(() => defineJob('a', { schedule: '@daily', ...options }, () => undefined)).toThrow(refused);
  });

  test('an unknown option is refused', () => {
    const options = { timeoutMs: 5 } as object;
    expect(() => defineJob('a', options, () => undefined)).toThrow(/"timeoutMs"/);
  });
});

describe('a run that is under way at a stop', () => {
  test('is told after half of the time; when it throws then, that is no failure: it comes again at the next start', async () => {
    const store = new KeptStore();
    await using world = await jobsWorld({ store });
    const aborted: string[] = [];
    world.run = (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(timeOf(world.clock.now()));
          reject(signal.reason);
        });
      });
    await world.sidecar.jobs.schedule('slow', { dueTime: '1s', retry: { maxRetries: 0 } });
    await world.clock.advance('1s');
    const stopped = world.sidecar.stop();
    await world.clock.advance('4999ms');
    expect(aborted).toEqual([]);
    await world.clock.advance(1);
    await stopped;
    expect(aborted).toEqual(['2026-01-01T00:00:06']);
    expect(world.lines).toEqual(['jobScheduled slow', 'jobStarted slow 1']);
    world.run = () => undefined;
    await world.restart('1s');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(world.lines.slice(-2)).toEqual(['jobCompleted slow 1', 'jobEnded slow finished']);
  });

  test('is no failure when the application has it and is broken off: it comes again at the next start', async () => {
    const runs: string[] = [];
    await using app = await listen(({ url = '' }, res) => {
      const isRun = url.startsWith('/job/');
      if (isRun) runs.push(url);
      if (!isRun || runs.length > 1) res.end();
    });
    const { port } = app;
    const state = new KeptStore();
    const nameResolution = { static: { other: `http://127.0.0.1:${port}` } };
    const make = (): Sidecar =>
      new Sidecar({
        appId: 'shop',
        app: { port },
        state,
        stopTimeout: 100,
        logger: new RecordingLogger(),
        nameResolution,
      });
    const sidecar = make();
    const failed: unknown[] = [];
    for (const name of ['jobFailed', 'jobDropped', 'jobRetrying'] as const)
      sidecar.events.on(name, (info: unknown) => failed.push(info));
    await sidecar.start();
    await sidecar.ready();
    // An open connection makes the stop wait for its end.
    await sidecar.invocation.invoke('other', 'other', { method: 'POST' });
    await sidecar.jobs.schedule('bill', { dueTime: '0s', retry: { maxRetries: 0 } });
    await expect.poll(() => runs).toEqual(['/job/bill']);
    await sidecar.stop();
    expect(failed).toEqual([]);
    await using next = make();
    await next.start();
    await expect.poll(() => runs).toEqual(['/job/bill', '/job/bill']);
  });

  test('counts when it returns after its signal', async () => {
    await using world = await jobsWorld();
    world.run = (_, { signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    await world.sidecar.jobs.schedule('slow', { dueTime: '1s' });
    await world.clock.advance('1s');
    await world.stop();
    expect(world.lines.slice(-2)).toEqual(['jobCompleted slow 1', 'jobEnded slow finished']);
  });
});
