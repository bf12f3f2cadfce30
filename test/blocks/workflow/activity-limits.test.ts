/** Limits of activities over all processes, in one process: `globalConcurrency` and `rate`. */
import { describe, expect, test } from 'vitest';
import { type ActivityOptions, defineActivity, defineWorkflow, type RunLimits } from '../../../src/index.ts';
import { type LoggedRun, mostAtOnce, mostIn } from '../../support/run-log.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

interface LimitedWorld extends WorkflowWorld {
  readonly runs: LoggedRun[];
}

/** A workflow that calls an activity so many times at once; each call lasts some time, by default a second. */
async function limitedWorld(options: ActivityOptions<number>, lastsMs = 1_000): Promise<LimitedWorld> {
  const runs: { beganAt: number; endedAt?: number }[] = [];
  const world = await workflowWorld(({ workflows }, { clock }) => {
    const work = defineActivity('work', options, async (index: number) => {
      const run: { beganAt: number; endedAt?: number } = { beganAt: clock.now() };
      runs.push(run);
      if (lastsMs > 0) await new Promise<void>((resolve) => void clock.setTimeout(resolve, lastsMs));
      run.endedAt = clock.now();
      return index;
    });
    const many = defineWorkflow('many', (ctx, count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => ctx.callActivity(work, index))),
    );
    workflows.register(work, many);
  });
  return Object.assign(world, { runs });
}

async function start({ sidecar, clock }: WorkflowWorld, instanceId: string, count: number): Promise<void> {
  await sidecar.workflows.start('many', count, { instanceId });
  await clock.advance(0);
}

async function statusOf({ sidecar }: WorkflowWorld, instanceId = 'one'): Promise<string | undefined> {
  return (await sidecar.workflows.get(instanceId))?.status;
}

describe('an activity with globalConcurrency', () => {
  test('runs so many times at once, and all of them in the end', async () => {
    await using world = await limitedWorld({ globalConcurrency: 3 });
    await start(world, 'one', 10);
    expect(world.runs).toHaveLength(3);
    const { status, output } = await world.pass('4s');
    expect(status).toBe('COMPLETED');
    expect(output).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(mostAtOnce(world.runs)).toBe(3);
  });

  test('counts the runs of all instances together, which take turns', async () => {
    await using world = await limitedWorld({ globalConcurrency: 1 });
    await start(world, 'one', 5);
    await start(world, 'two', 1);
    await world.clock.advance('3s');
    expect([await statusOf(world), await statusOf(world, 'two')]).toEqual(['RUNNING', 'COMPLETED']);
    await world.clock.advance('3s');
    expect(await statusOf(world)).toBe('COMPLETED');
    expect(mostAtOnce(world.runs)).toBe(1);
  });

  test('does not count the wait against its time limit', async () => {
    await using world = await limitedWorld({ globalConcurrency: 1, timeout: '1500ms' });
    await start(world, 'one', 5);
    expect((await world.pass('6s')).status).toBe('COMPLETED');
  });

  test('does not hold up the end of a workflow that waits for it', async () => {
    await using world = await limitedWorld({ globalConcurrency: 1 });
    await start(world, 'first', 1);
    await start(world, 'waiting', 3);
    await start(world, 'last', 1);
    await world.sidecar.workflows.terminate('waiting');
    await world.clock.advance(0);
    expect([await statusOf(world, 'first'), await statusOf(world, 'waiting')]).toEqual(['RUNNING', 'TERMINATED']);
    await world.clock.advance('2s');
    expect(await statusOf(world, 'last')).toBe('COMPLETED');
    expect(world.runs).toHaveLength(2);
  });

  test('runs less of it than other activities at a time, and holds up none of them', async () => {
    await using world = await limitedWorld({ globalConcurrency: 1 });
    world.sidecar.workflows.register(
      defineWorkflow('free', (ctx) => ctx.callActivity(defineActivity('other', () => 'done'))),
    );
    await start(world, 'one', 50);
    await world.sidecar.workflows.start('free', undefined, { instanceId: 'free' });
    await world.clock.advance(0);
    expect([await statusOf(world), await statusOf(world, 'free')]).toEqual(['RUNNING', 'COMPLETED']);
    await world.sidecar.workflows.terminate('one');
    await world.clock.advance('1s');
  });

  test('writes twice for all of its runs, and leaves nothing in the store after a stop', async () => {
    await using world = await limitedWorld({ globalConcurrency: 2 }, 0);
    const isLimit = ({ key }: { readonly key: string }): boolean => key.includes('limit');
    let writes = 0;
    const watch = world.store.memory.watch('', (keys) => {
      if (keys.some((key) => isLimit({ key }))) writes++;
    });
    await start(world, 'one', 100);
    expect([await statusOf(world), writes]).toEqual(['COMPLETED', 1]);
    expect((await world.store.memory.scan({ from: '' })).filter(isLimit)).toHaveLength(1);
    await world.sidecar.stop();
    expect((await world.store.memory.scan({ from: '' })).filter(isLimit)).toEqual([]);
    expect(writes).toBe(2);
    watch[Symbol.dispose]();
  });
});

describe('an activity with a rate', () => {
  test('begins so many runs in any span of the time', async () => {
    await using world = await limitedWorld({ rate: { max: 3, per: '10s' } });
    await start(world, 'one', 9);
    expect(world.runs).toHaveLength(3);
    await world.clock.advance('9s');
    expect(world.runs).toHaveLength(3);
    await world.clock.advance('12s');
    expect(await statusOf(world)).toBe('COMPLETED');
    expect(mostIn(world.runs, 10_000)).toBe(3);
  });

  test.each([
    ['10s', 10_000],
    ['1h', 3_600_000],
  ] as const)('goes on with what is left of it after a stop: 40 in %s', async (per, perMs) => {
    await using world = await limitedWorld({ rate: { max: 40, per } }, 0);
    await start(world, 'one', 30);
    await world.clock.advance('2s');
    await world.restart();
    await start(world, 'two', 30);
    expect(world.runs).toHaveLength(40);
    await world.clock.advance(perMs - 2_001);
    expect(world.runs).toHaveLength(40);
    await world.clock.advance('1s');
    expect(world.runs).toHaveLength(60);
    expect(mostIn(world.runs, perMs)).toBe(40);
  });

  test.each([
    ['10s', 10_000, 0],
    ['1h', 3_600_000, 36],
  ] as const)('counts all that it was granted as used after a crash: 40 in %s', async (per, perMs, left) => {
    await using world = await limitedWorld({ rate: { max: 40, per } }, 0);
    await start(world, 'one', 1);
    // As after a crash, the process has not given anything back.
    world.store.interfere = ({ delete: keys = [], put = [] }, commit) =>
      [...keys, ...put.map(({ key }) => key)].some((key) => key.includes('limit'))
        ? Promise.reject(new Error('the process has ended'))
        : commit();
    await world.sidecar.stop();
    world.store.interfere = (_batch, commit) => commit();
    await world.restart();
    await start(world, 'two', 40);
    expect(world.runs).toHaveLength(1 + left);
    await world.clock.advance(perMs);
    expect(await statusOf(world, 'two')).toBe('COMPLETED');
    expect(mostIn(world.runs, perMs)).toBeLessThanOrEqual(40);
  });

  test('holds together with globalConcurrency', async () => {
    await using world = await limitedWorld({ globalConcurrency: 2, rate: { max: 3, per: '10s' } });
    await start(world, 'one', 7);
    await world.clock.advance('30s');
    expect(await statusOf(world)).toBe('COMPLETED');
    expect([mostAtOnce(world.runs), mostIn(world.runs, 10_000)]).toEqual([2, 3]);
  });
});

test('An activity that is not registered has the limits of the definition that is called', async () => {
  await using world = await limitedWorld({});
  const runs: LoggedRun[] = [];
  const other = defineActivity('other', { rate: { max: 2, per: '1m' } }, () => {
    runs.push({ beganAt: world.clock.now() });
  });
  world.sidecar.workflows.register(
    defineWorkflow('four', (ctx) => Promise.all([1, 2, 3, 4].map(() => ctx.callActivity(other)))),
  );
  await world.sidecar.workflows.start('four', undefined, { instanceId: 'one' });
  await world.clock.advance('59s');
  expect(runs).toHaveLength(2);
  await world.clock.advance('2s');
  expect(await statusOf(world)).toBe('COMPLETED');
});

describe('wrong limits', () => {
  test.each<[object, string, string]>([
    [
      { globalConcurrency: 0 },
      'options.globalConcurrency',
      'globalConcurrency in options of activity "work" is 0: expected a whole number from 1 to 1000000',
    ],
    [
      { globalConcurrency: '5' },
      'options.globalConcurrency',
      'globalConcurrency in options of activity "work" is "5": expected a whole number from 1 to 1000000',
    ],
    [
      { rate: 50 },
      'options.rate',
      'rate in options of activity "work" is 50: expected an object such as { max: 50, per: \'1s\' }',
    ],
    [
      { rate: { max: 0, per: '1s' } },
      'options.rate.max',
      'max in rate in options of activity "work" is 0: expected a whole number from 1 to 1000000',
    ],
    [{ rate: { max: 5 } }, 'options.rate.per', 'per in rate in options of activity "work" is undefined: expected'],
    [
      { rate: { max: 5, per: '1s', key: 'a' } },
      'options.rate.key',
      'rate in options of activity "work": unknown field "key"',
    ],
    [
      { concurrency: 5 },
      'options.concurrency',
      'options of activity "work": unknown field "concurrency": expected retry, timeout, input, output, globalConcurrency, rate',
    ],
  ])('are refused: %j', (limits, argument, message) => {
    const define = (): unknown => defineActivity('work', limits as RunLimits, () => undefined);
    expect(define).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', argument }));
    expect(define).toThrow(message);
  });
});
