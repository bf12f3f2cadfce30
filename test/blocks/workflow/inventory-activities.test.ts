/** What Dapr's own tests of activities show, shown here: order, concurrency, results, failures, repetition. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow } from '../../../src/index.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const noted = (world: WorkflowWorld) =>
  defineActivity('note', (text: string) => {
    world.seen.push(text);
    return text.length;
  });

describe('activities', () => {
  test('one after the other, each with the result of the one before', async () => {
    await using world = await workflowWorld((sidecar, at) => {
      sidecar.workflows.register(
        noted(at),
        defineWorkflow('order', async (ctx, first: string) => {
          const a = await ctx.callActivity<number>('note', first);
          const b = await ctx.callActivity<number>('note', `second ${a}`);
          return [a, b, await ctx.callActivity<number>('note', `third ${b}`)];
        }),
      );
    });
    expect(await world.run('order', 'first')).toMatchObject({ status: 'COMPLETED', output: [5, 8, 7] });
    expect(world.seen).toEqual(['first', 'second 5', 'third 8']);
  });

  test('a function is an activity under its own name', async () => {
    await using world = await workflowWorld((sidecar) => {
      async function addOne(value: number): Promise<number> {
        return value + 1;
      }
      sidecar.workflows.register(defineWorkflow('functions', (ctx, value: number) => ctx.callActivity(addOne, value)));
    });
    expect((await world.run('functions', 41)).output).toBe(42);
    expect(await world.history()).toContainEqual(
      expect.objectContaining({ type: 'activityScheduled', name: 'addOne' }),
    );
  });

  test.each([0, false, '', null, [], {}, 'text', 1.5, { a: [null] }])(
    '%j goes in and comes out as it is',
    async (value) => {
      await using world = await workflowWorld((sidecar) => {
        sidecar.workflows.register(
          defineActivity('same', (input: unknown) => input),
          defineWorkflow('through', async (ctx, input: unknown) => [input, await ctx.callActivity('same', input)]),
        );
      });
      expect((await world.run('through', value)).output).toEqual([value, value]);
    },
  );

  test('no input and no output are undefined', async () => {
    await using world = await workflowWorld((sidecar) => {
      sidecar.workflows.register(
        defineActivity('nothing', (input: unknown) => void (input === undefined || world.seen.push('input'))),
        defineWorkflow('empty', async (ctx, input: unknown) => [
          typeof input,
          typeof (await ctx.callActivity('nothing')),
        ]),
      );
    });
    expect((await world.run('empty')).output).toEqual(['undefined', 'undefined']);
    expect(world.seen).toEqual([]);
  });

  test.each([1, 3, 500])('%i of them side by side: every result in its place', async (count) => {
    let running = 0;
    let most = 0;
    await using world = await workflowWorld((sidecar) => {
      const square = defineActivity('square', async (value: number) => {
        running++;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return value * value;
      });
      sidecar.workflows.register(
        square,
        defineWorkflow('fanOut', (ctx, n: number) =>
          Promise.all(Array.from({ length: n }, (_, value) => ctx.callActivity(square, value))),
        ),
      );
    });
    const { output } = await world.run('fanOut', count);
    expect(output).toEqual(Array.from({ length: count }, (_, value) => value * value));
    expect(most).toBeGreaterThan(count === 1 ? 0 : 1);
  });

  test('three kinds side by side, and again after they are in', async () => {
    await using world = await workflowWorld((sidecar) => {
      const activities = ['a', 'b', 'c'].map((name) => defineActivity(name, (round: number) => `${name}${round}`));
      sidecar.workflows.register(
        ...activities,
        defineWorkflow('thrice', async (ctx) => {
          const rounds: string[] = [];
          for (const round of [1, 2, 3])
            rounds.push((await Promise.all(activities.map((activity) => ctx.callActivity(activity, round)))).join());
          return rounds;
        }),
      );
    });
    expect((await world.run('thrice')).output).toEqual(['a1,b1,c1', 'a2,b2,c2', 'a3,b3,c3']);
  });

  test('one that nobody waits for runs too', async () => {
    await using world = await workflowWorld((sidecar, at) => {
      sidecar.workflows.register(
        noted(at),
        defineActivity('break', () => {
          at.seen.push('broken');
          throw new Error('nobody hears of it');
        }),
        defineWorkflow('carefree', async (ctx) => {
          void ctx.callActivity('note', 'on the way');
          void ctx.callActivity('break');
          await ctx.callActivity('note', 'waited for');
          void ctx.callActivity('note', 'at the end');
          return 'done';
        }),
      );
    });
    expect(await world.run('carefree')).toMatchObject({ status: 'COMPLETED', output: 'done' });
    expect(world.seen.toSorted()).toEqual(['at the end', 'broken', 'on the way', 'waited for']);
  });

  test('a failure reaches the workflow with type and message; uncaught it fails the workflow', async () => {
    await using world = await workflowWorld((sidecar) => {
      class OutOfStock extends Error {}
      sidecar.workflows.register(
        defineActivity('reserve', () => {
          throw new OutOfStock('none left');
        }),
        defineWorkflow('caught', async (ctx) => {
          try {
            return await ctx.callActivity('reserve');
          } catch (error) {
            const { name, message, failure } = error as Error & { failure: { errorType: string; message: string } };
            return [name, message, failure.errorType, failure.message];
          }
        }),
        defineWorkflow('uncaught', (ctx) => ctx.callActivity('reserve')),
      );
    });
    expect((await world.run('caught')).output).toEqual([
      'TaskFailedError',
      'activity "reserve" failed: none left',
      'OutOfStock',
      'none left',
    ]);
    const { status, failure, output } = await world.run('uncaught', undefined, 'two');
    expect([status, failure?.errorType, failure?.message, output]).toEqual([
      'FAILED',
      'TaskFailedError',
      'activity "reserve" failed: none left',
      undefined,
    ]);
  });

  test('the number of a call is the same for every attempt, and differs between calls', async () => {
    const calls: string[] = [];
    await using world = await workflowWorld((sidecar) => {
      sidecar.workflows.register(
        defineActivity('pay', (_input, { instanceId, activityId, attempt }) => {
          calls.push(`${instanceId} ${activityId} ${attempt}`);
          if (attempt < 3) throw new Error('busy');
        }),
        defineWorkflow('twice', async (ctx) => {
          await ctx.callActivity('pay', undefined, { retry: { maxRetries: 2 } });
          await ctx.callActivity('pay', undefined, { retry: { maxRetries: 2 } });
        }),
      );
    });
    await world.run('twice');
    expect((await world.pass('1h')).status).toBe('COMPLETED');
    const ids = calls.map((call) => call.split(' ')[1]);
    expect(new Set(ids).size).toBe(2);
    expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]]);
    expect(calls.map((call) => call.split(' ')[2])).toEqual(['1', '2', '3', '1', '2', '3']);
  });
});

describe('activities over a restart', () => {
  test('what is done is not done again: results come from the history', async () => {
    const registering: Registering = (sidecar, world) => {
      sidecar.workflows.register(
        noted(world),
        defineWorkflow('steps', async (ctx) => {
          const results = [await ctx.callActivity<number>('note', 'before')];
          await ctx.waitForEvent('go');
          results.push(await ctx.callActivity<number>('note', 'afterwards'));
          return results;
        }),
      );
    };
    await using world = await workflowWorld(registering);
    await world.run('steps');
    for (const _ of [1, 2, 3]) await world.restart();
    expect(await world.raise('go')).toMatchObject({ status: 'COMPLETED', output: [6, 10] });
    expect(world.seen).toEqual(['before', 'afterwards']);
  });

  test('one that hung when the process ended runs again, and counts once', async () => {
    let hangs = true;
    await using world = await workflowWorld(
      (sidecar, at) => {
        sidecar.workflows.register(
          noted(at),
          defineActivity('slow', async (_input, { signal }) => {
            at.seen.push(hangs ? 'hanging' : 'done');
            if (hangs) await new Promise((resolve) => signal.addEventListener('abort', resolve));
            return signal.aborted ? 'too late' : 'result';
          }),
          defineWorkflow('patient', async (ctx) => [
            await ctx.callActivity('slow'),
            await ctx.callActivity('note', 'next'),
          ]),
        );
      },
      { stopTimeout: 0 },
    );
    await world.sidecar.workflows.start('patient', undefined, { instanceId: 'one' });
    await expect.poll(() => world.seen).toEqual(['hanging']);
    await world.stop();
    hangs = false;
    await world.restart();
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: ['result', 4] });
    expect(world.seen).toEqual(['hanging', 'done', 'next']);
    const completed = (await world.history()).filter(({ type }) => type === 'activityCompleted');
    expect(completed.length).toBe(2);
  });
});
