/** `ctx.map`: results in order, a limit, failures, replays. */
import { describe, expect, test } from 'vitest';
import {
  defineActivity,
  defineWorkflow,
  type MapOptions,
  type Sidecar,
  type WorkflowContext,
} from '../../../../src/index.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

interface Gauge {
  running: number;
  most: number;
  readonly begun: number[];
}

function register(
  sidecar: Sidecar,
  gauge: Gauge,
  run: (ctx: WorkflowContext, items: number[]) => Promise<unknown>,
): void {
  const square = defineActivity('square', async (value: number) => {
    gauge.begun.push(value);
    gauge.most = Math.max(gauge.most, ++gauge.running);
    // The later ones of a batch end first.
    for (let turn = 0; turn < 50 - value; turn++) await new Promise((resolve) => setImmediate(resolve));
    gauge.running--;
    if (value === 13) throw new Error('thirteen');
    return value * value;
  });
  sidecar.workflows.register(square, defineWorkflow('mapped', run));
}

const gauge = (): Gauge => ({ running: 0, most: 0, begun: [] });
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const squares = (ctx: WorkflowContext, items: number[], options?: MapOptions): Promise<number[]> =>
  ctx.map(items, (item) => ctx.callActivity<number>('square', item), options);

describe('map', () => {
  test.each([
    [{ concurrency: 1 }, 1],
    [{ concurrency: 3 }, 3],
    [{}, 10],
    [{ concurrency: undefined }, 10],
    [undefined, 10],
    [{ concurrency: 1_000 }, 12],
    [{ concurrency: Number.POSITIVE_INFINITY }, 12],
  ] as const)('with %j, %i at the same time, and the results in the order of the items', async (options, most) => {
    const at = gauge();
    await using world = await workflowWorld((sidecar) =>
      register(sidecar, at, (ctx, items) => squares(ctx, items, options)),
    );
    const items = upTo(12);
    expect(await world.run('mapped', items)).toMatchObject({ output: items.map((item) => item * item) });
    expect(at.most).toBe(most);
    expect(at.begun).toEqual(items);
  });

  test('no items', async () => {
    await using world = await workflowWorld((sidecar) => register(sidecar, gauge(), squares));
    expect(await world.run('mapped', [])).toMatchObject({ status: 'COMPLETED', output: [] });
  });

  test('after a failure no item begins, and it rejects when those that run have ended', async () => {
    const at = gauge();
    let ended = -1;
    await using world = await workflowWorld((sidecar) =>
      register(sidecar, at, async (ctx, items) => {
        try {
          await squares(ctx, items, { concurrency: 2 });
        } catch (error) {
          ended = at.running;
          throw error;
        }
      }),
    );
    const state = await world.run('mapped', [0, 13, 1, 2]);
    expect(state).toMatchObject({
      status: 'FAILED',
      failure: { message: expect.stringContaining('thirteen') as string },
    });
    expect(ended).toBe(0);
    expect(at.begun).toEqual([0, 13]);
  });

  test('the first of several failures counts; a function may throw by itself', async () => {
    await using world = await workflowWorld((sidecar) =>
      sidecar.workflows.register(
        defineWorkflow('mapped', async (ctx) =>
          ctx.map(['late', 'early'], (text) => {
            if (text === 'early') throw new Error('early');
            return ctx.sleep('1s').then(() => {
              throw new Error('late');
            });
          }),
        ),
      ),
    );
    expect((await world.run('mapped')).status).toBe('RUNNING');
    expect(await world.pass('1s')).toMatchObject({ failure: { message: 'early' } });
  });

  test('a failure that no code waits for fails no instance', async () => {
    await using world = await workflowWorld((sidecar) =>
      register(sidecar, gauge(), async (ctx, items) => {
        void squares(ctx, items);
        await ctx.sleep('1s');
        return 'done';
      }),
    );
    await world.run('mapped', [13]);
    expect(await world.pass('1s')).toMatchObject({ status: 'COMPLETED', output: 'done' });
  });

  test('steps of several items go on side by side, and in another process where they were', async () => {
    const seen: string[] = [];
    const registering = (sidecar: Sidecar): void => {
      const note = defineActivity('note', (text: string) => void seen.push(text));
      sidecar.workflows.register(
        note,
        defineWorkflow('steps', (ctx, items: string[]) =>
          ctx.map(
            items,
            async (item, index) => {
              await ctx.callActivity(note, `${item}1`);
              await ctx.sleep(`${index + 1}s`);
              await ctx.callActivity(note, `${item}2`);
              return `${item}${index}`;
            },
            { concurrency: 2 },
          ),
        ),
      );
    };
    await using world = await workflowWorld(registering);
    await world.run('steps', ['a', 'b', 'c']);
    expect(seen).toEqual(['a1', 'b1']);
    await world.restart();
    await world.pass('1s');
    expect(seen).toEqual(['a1', 'b1', 'a2', 'c1']);
    await world.restart();
    await world.pass('1s');
    expect(seen).toEqual(['a1', 'b1', 'a2', 'c1', 'b2']);
    expect(await world.pass('2s')).toMatchObject({ status: 'COMPLETED', output: ['a0', 'b1', 'c2'] });
    expect(seen).toEqual(['a1', 'b1', 'a2', 'c1', 'b2', 'c2']);
  });

  test('the array may change meanwhile', async () => {
    await using world = await workflowWorld((sidecar) =>
      register(sidecar, gauge(), (ctx, items) => {
        const mapped = squares(ctx, items, { concurrency: 1 });
        items.length = 0;
        return mapped;
      }),
    );
    expect((await world.run('mapped', [1, 2, 3])).output).toEqual([1, 4, 9]);
  });

  test.each([
    ['text', (item: unknown) => item, {}, 'the items of map are a string: expected an array'],
    [[1], 'fn', {}, 'the function of map is a string: expected a function'],
    [
      [1],
      String,
      { concurrency: 0 },
      'concurrency in options of map is 0: expected a whole number of 1 or more, or Infinity',
    ],
    [[1], String, { concurrency: 1.5 }, 'concurrency in options of map is 1.5'],
    [[1], String, { concurrency: '3' }, 'concurrency in options of map is "3"'],
    [[1], String, { concurency: 3 }, 'unknown field "concurency": expected concurrency'],
    [[1], String, null, 'options of map: expected an object, actual is null'],
  ])('map(%j, %s, %j) is an error', async (items, fn, options, message) => {
    await using world = await workflowWorld((sidecar) =>
      sidecar.workflows.register(
        defineWorkflow('mapped', async (ctx) => ctx.map(items as [], fn as () => void, options as MapOptions)),
      ),
    );
    const { failure } = await world.run('mapped');
    expect(failure).toMatchObject({
      errorType: 'SidecarError',
      message: expect.stringContaining(message) as string,
    });
  });
});
