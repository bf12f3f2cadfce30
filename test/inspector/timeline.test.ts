import { describe, expect, test } from 'vitest';
import type { RetryOptions, WorkflowStatus } from '../../src/index.ts';
import type { HistoryEventInfo } from '../../src/inspector/api/workflows.ts';
import { type Bar, type Row, rowsLike, type Timeline, timelineOf } from '../../src/inspector/page/timeline/model.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../support/workflow-world.ts';

/** The timeline of the instance `one` of a real sidecar. */
async function timelineIn(world: WorkflowWorld): Promise<Timeline> {
  const instance = await world.settle();
  return timelineOf(
    instance,
    (await world.history()).map((event, index) => {
      const { data: _data, ...shown } = { data: undefined, ...event };
      return { ...shown, index };
    }),
  );
}

async function run(register: Registering): Promise<WorkflowWorld> {
  const world = await workflowWorld(register);
  await world.run('flow');
  return world;
}

const retry: RetryOptions = { maxRetries: 2, delay: 1_000, factor: 2 };

/** Fails until the given attempt. */
function failing(until: number): () => string {
  let calls = 0;
  return () => {
    calls++;
    if (calls < until) throw new TypeError(`attempt ${calls}`);
    return 'paid';
  };
}

/** A row as one reads it: times are relative to the start. */
function read(timeline: Timeline): string[] {
  return timeline.rows.map((row) => `${row.kind} ${row.name}: ${row.state} ${row.bars.map(barIn(timeline)).join(' ')}`);
}

const barIn =
  ({ from }: Timeline) =>
  (bar: Bar): string =>
    `${bar.kind}[${bar.from - from},${bar.to === undefined ? '' : bar.to - from}]${bar.outcome}`;

function rowOf({ rows }: Timeline, name: string): Row {
  const row = rows.find((one) => one.name === name);
  if (row === undefined) throw new Error(`no row ${name}`);
  return row;
}

describe('rows of real histories', () => {
  test('a short workflow has a row of its own and one for its activity', async () => {
    await using world = await run(({ workflows }) => {
      workflows.registerActivity('charge', () => 'paid');
      workflows.register('flow', (ctx) => ctx.callActivity('charge', 12));
    });
    const timeline = await timelineIn(world);
    expect(read(timeline)).toEqual(['workflow flow: done run[0,0]done', 'activity charge: done run[0,0]done']);
    const charge = rowOf(timeline, 'charge');
    expect(charge.sequence).toBe(1);
    expect(charge.bars[0]?.events).toEqual([1, 2]);
    expect(rowOf(timeline, 'flow').events).toEqual([0]);
  });

  test('attempts of an activity are bars of one row, with the waits between them', async () => {
    await using world = await run(({ workflows }) => {
      workflows.registerActivity('charge', failing(3));
      workflows.register('flow', (ctx) => ctx.callActivity('charge', 12, { retry }));
    });
    await world.pass('10s');
    const timeline = await timelineIn(world);
    expect(read(timeline)).toEqual([
      'workflow flow: done run[0,3000]done',
      'activity charge: done run[0,0]failed wait[0,1000]done run[1000,1000]failed wait[1000,3000]done run[3000,3000]done',
    ]);
    const charge = rowOf(timeline, 'charge');
    expect(charge.bars.map(({ attempt }) => attempt)).toEqual([1, undefined, 2, undefined, 3]);
    expect(charge.hasFailure).toBe(true);
    expect(charge.attempts).toBe(3);
    expect(charge.sequence, 'where to run again from').toBe(1);
  });

  test('activities that fail in the same turn each keep their attempts', async () => {
    await using world = await run(({ workflows }) => {
      workflows.registerActivity('left', failing(2));
      workflows.registerActivity('right', failing(2));
      workflows.register('flow', (ctx) =>
        ctx.all([ctx.callActivity('left', 1, { retry }), ctx.callActivity('right', 2, { retry })]),
      );
    });
    await world.pass('10s');
    expect(read(await timelineIn(world)).slice(1)).toEqual([
      'activity left: done run[0,0]failed wait[0,1000]done run[1000,1000]done',
      'activity right: done run[0,0]failed wait[0,1000]done run[1000,1000]done',
    ]);
  });

  test('an activity that fails for good is failed, and a sleep after it is a row of its own', async () => {
    await using world = await run(({ workflows }) => {
      workflows.registerActivity('charge', failing(99));
      workflows.register('flow', async (ctx) => {
        await ctx.callActivity('charge').catch(() => undefined);
        await ctx.sleep('5s');
        await ctx.callActivity('charge');
      });
    });
    await world.pass('10s');
    expect(read(await timelineIn(world))).toEqual([
      'workflow flow: failed run[0,5000]failed',
      'activity charge: failed run[0,0]failed',
      'timer timer: done run[0,5000]done',
      'activity charge: failed run[5000,5000]failed',
    ]);
  });

  test('what has no result yet is open-ended', async () => {
    await using world = await run(({ workflows }) => {
      workflows.register('flow', async (ctx) => {
        void ctx.callActivity('an activity that nobody has registered');
        await ctx.sleep('1h');
      });
    });
    const timeline = await timelineIn(world);
    expect(read(timeline)).toEqual([
      'workflow flow: pending run[0,]pending',
      'activity an activity that nobody has registered: pending run[0,]pending',
      'timer timer: pending run[0,]pending',
    ]);
    expect(rowOf(timeline, 'timer').dueAt).toBe(timeline.from + 3_600_000);
  });

  test('what had no result when the workflow ended is unfinished, not pending', async () => {
    await using world = await run(({ workflows }) => {
      workflows.register('flow', async (ctx) => {
        await ctx.race([ctx.sleep('1h'), ctx.waitForEvent('approval')]);
      });
    });
    await world.pass('5s');
    await world.raise('approval', true);
    expect(read(await timelineIn(world))).toEqual([
      'workflow flow: done run[0,5000]done',
      'timer timer: unfinished run[0,5000]unfinished',
      'event approval: done instant[5000,5000]done',
    ]);
  });

  test('the limit of an event that came in time is not pending once it is over', async () => {
    await using world = await run(({ workflows }) => {
      workflows.register('flow', async (ctx) => {
        await ctx.waitForEvent('approval', { timeout: 10_000 });
        await ctx.sleep('1m');
        await ctx.sleep('1m');
      });
    });
    await world.raise('approval', true);
    await world.pass('70s');
    expect(read(await timelineIn(world)).slice(1)).toEqual([
      'timer timer: unfinished run[0,10000]unfinished',
      'event approval: done instant[0,0]done',
      'timer timer: done run[0,60000]done',
      'timer timer: pending run[60000,]pending',
    ]);
  });

  test('a child has a row that leads to it, a patch is an instant, and a pause is a bar of the workflow', async () => {
    await using world = await run(({ workflows }) => {
      workflows.register('ship', async (ctx) => {
        await ctx.sleep('2s');
        throw new Error('lost at sea');
      });
      workflows.register('flow', async (ctx) => {
        ctx.isPatched('by-air');
        await ctx.callChild('ship', undefined, { instanceId: 'ship-1' }).catch(() => undefined);
        await ctx.waitForEvent('never');
      });
    });
    await world.pass('4s');
    await world.sidecar.workflows.pause('one');
    await world.pass('3s');
    await world.sidecar.workflows.resume('one');
    await world.pass('1s');
    await world.sidecar.workflows.pause('one');
    await world.settle();
    const timeline = await timelineIn(world);
    expect(read(timeline)).toEqual([
      'workflow flow: pending run[0,]pending paused[4000,7000]done paused[8000,]pending',
      'patch by-air: done instant[0,0]done',
      'child ship: failed run[0,2000]failed',
    ]);
    expect(rowOf(timeline, 'ship').instanceId).toBe('ship-1');
  });

  test('a terminated workflow has ended, and what was under way with it', async () => {
    await using world = await run(({ workflows }) => {
      workflows.register('flow', (ctx) => ctx.sleep('1h'));
    });
    await world.pass('2s');
    await world.sidecar.workflows.terminate('one', 'enough');
    expect(read(await timelineIn(world))).toEqual([
      'workflow flow: unfinished run[0,2000]unfinished',
      'timer timer: unfinished run[0,2000]unfinished',
    ]);
  });

  test('the rows can be limited to those that failed at least once, and those that are pending', async () => {
    await using world = await run(({ workflows }) => {
      workflows.registerActivity('charge', failing(2));
      workflows.registerActivity('mail', () => 'sent');
      workflows.register('flow', async (ctx) => {
        await ctx.callActivity('charge', 1, { retry });
        await ctx.callActivity('mail');
        await ctx.sleep('1h');
      });
    });
    await world.pass('5s');
    const { rows } = await timelineIn(world);
    const names = (like: 'all' | 'failed' | 'pending'): string[] => rowsLike(rows, like).map(({ name }) => name);
    expect(names('all')).toEqual(['flow', 'charge', 'mail', 'timer']);
    expect(names('failed')).toEqual(['charge']);
    expect(names('pending')).toEqual(['flow', 'timer']);
  });
});

describe('rows of any history', () => {
  const instance = (status: WorkflowStatus, lastUpdatedAt: number) => ({
    name: 'flow',
    status,
    createdAt: 0,
    lastUpdatedAt,
  });

  test('a history of 10,000 events has a row for each of its calls', () => {
    const history: HistoryEventInfo[] = [{ index: 0, type: 'started', at: 0 }];
    for (let call = 1; history.length < 10_000; call++) {
      const of = { sequence: call, activityId: call };
      history.push({ index: history.length, type: 'activityScheduled', at: call, name: `step ${call}`, ...of });
      history.push({ index: history.length, type: 'activityCompleted', at: call + 1, ...of });
    }
    const { rows, to } = timelineOf(instance('COMPLETED', 5_001), history);
    expect(rows).toHaveLength(1 + 5_000);
    expect(rows.at(-1)).toMatchObject({ name: 'step 5000', state: 'done', sequence: 5_000 });
    expect(to).toBe(5_001);
  });

  test('an instance whose code has not begun has the row of the workflow only', () => {
    const { rows, from, to } = timelineOf(instance('PENDING', 7), []);
    expect(rows).toMatchObject([{ kind: 'workflow', name: 'flow', state: 'pending', events: [] }]);
    expect([from, to]).toEqual([0, 7]);
  });

  test('results without their beginning, as in a history that was cut, are left out', () => {
    const history: HistoryEventInfo[] = [
      { index: 0, type: 'activityCompleted', at: 3, sequence: 9 },
      { index: 1, type: 'timerFired', at: 4, sequence: 10 },
    ];
    expect(timelineOf(instance('RUNNING', 4), history).rows).toHaveLength(1);
  });

  test('names such as __proto__ are ordinary names', () => {
    const history: HistoryEventInfo[] = [
      { index: 0, type: 'activityScheduled', at: 1, sequence: 1, activityId: 1, name: '__proto__', attempt: 1 },
    ];
    expect(timelineOf(instance('RUNNING', 1), history).rows[1]).toMatchObject({ name: '__proto__', state: 'pending' });
  });
});
