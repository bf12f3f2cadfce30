/** The types that programs get: what JSON leaves of values, and every form of handler. Checked by the compiler. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  defineActivity,
  defineEvent,
  defineJob,
  defineTopic,
  defineWorkflow,
  type Jsonify,
  memoryPubSub,
  Sidecar,
  type WorkflowContext,
} from '../src/index.ts';

class Order {
  readonly id: number = 1;
  readonly at: Date = new Date(0);
  total(): number {
    return this.id;
  }
}
interface Sent {
  readonly id: number;
  readonly at: string;
}

/** `any`, as `JSON.parse` answers. */
type Anything = ReturnType<typeof JSON.parse>;

/** Each is one case of the compiler; nothing is run. */
function compiles(_program: (sidecar: Sidecar, ctx: WorkflowContext) => unknown): void {
  expect(_program).toBeTypeOf('function');
}

describe('what JSON leaves of a type', () => {
  test('dates are texts, methods and symbols are gone, undefined in a list is null', () => {
    expectTypeOf<Jsonify<Order>>().toEqualTypeOf<Sent>();
    expectTypeOf<Jsonify<[Date, () => void, undefined?]>>().toEqualTypeOf<[string, never, null?]>();
    expectTypeOf<Jsonify<(number | undefined)[]>>().toEqualTypeOf<(number | null)[]>();
    expectTypeOf<Jsonify<{ a?: Date; b: number | undefined; [Symbol.iterator]: 1 }>>().toEqualTypeOf<{
      a?: string;
      b: number | undefined;
    }>();
    expectTypeOf<Jsonify<{ by: { toJSON(): { at: Date } } }>>().toEqualTypeOf<{ by: { at: string } }>();
  });

  test('values that are refused have no type', () => {
    expectTypeOf<Jsonify<Map<string, number> | 5>>().toEqualTypeOf<5>();
    expectTypeOf<Jsonify<bigint | symbol | Uint8Array | Promise<1> | Set<1> | (() => 1)>>().toBeNever();
  });

  test('texts, unions, anything and types that contain themselves stay', () => {
    interface Tree {
      readonly name: 'a' | 'b';
      readonly children: readonly Tree[];
    }
    expectTypeOf<Jsonify<'a' | 1 | null | undefined>>().toEqualTypeOf<'a' | 1 | null | undefined>();
    expectTypeOf<Jsonify<unknown>>().toBeUnknown();
    expectTypeOf<Jsonify<{ a: Anything; b: unknown }>>().toEqualTypeOf<{ a: Anything; b: unknown }>();
    expectTypeOf<Jsonify<Tree>>().toExtend<Tree>();
    expectTypeOf<Tree>().toExtend<Jsonify<Tree>>();
  });
});

const find = defineActivity('find', async (_id: number) => new Order());
const checkout = defineWorkflow('checkout', async (ctx, _order: Sent) => {
  expectTypeOf(await ctx.callActivity(find, 1)).toEqualTypeOf<Sent>();
  return new Order();
});

describe('workflows', () => {
  test('a result is what JSON leaves of it, in the workflow and outside', () => {
    compiles(async ({ workflows }, ctx) => {
      expectTypeOf(await ctx.callChild(checkout, { id: 1, at: '' })).toEqualTypeOf<Sent>();
      const run = await workflows.start(checkout, { id: 1, at: '' });
      expectTypeOf(await run.result()).toEqualTypeOf<Sent>();
      expectTypeOf(await workflows.run(checkout, 'order-1').result()).toEqualTypeOf<Sent>();
    });
  });

  test('a call of code that takes what JSON cannot hand on does not compile', () => {
    const when = defineActivity('when', async (at: Date) => at.getTime());
    const flow = defineWorkflow('when', async (_ctx, { at }: { at: Date }) => at.getTime());
    const job = defineJob('when', ({ at }: Order) => at.getTime());
    compiles(({ workflows, jobs }, ctx) => [
      // @ts-expect-error: it would get a text
      ctx.callActivity(when, new Date()),
      // @ts-expect-error: it would get a text
      workflows.start(flow, { at: new Date() }),
      // @ts-expect-error: it would get a text
      jobs.schedule(job, { dueTime: '1s', data: new Order() }),
    ]);
  });

  test('code that defines for others may be generic', () => {
    const step = <Input, Output>(name: string, work: (input: Input) => Output) =>
      defineActivity(name, async (input: Input) => work(input));
    const half = step('half', (count: number) => count / 2);
    compiles(async (_sidecar, ctx) => expectTypeOf(await ctx.callActivity(half, 4)).toBeNumber());
  });

  test('the status of an instance tells what it has, and the type of an event what that has', () => {
    compiles(async ({ workflows }) => {
      const state = await workflows.run(checkout, 'order-1').ended();
      if (state.status === 'COMPLETED') expectTypeOf(state.output).toEqualTypeOf<Sent>();
      if (state.status === 'FAILED') expectTypeOf(state.failure.message).toBeString();
      const { status, output, failure } = state;
      if (status === 'RUNNING') expectTypeOf(output).toEqualTypeOf<undefined>();
      if (status === 'FAILED') expectTypeOf(failure.errorType).toBeString();
      // @ts-expect-error: it may not have completed
      state.output.id;
      for (const event of await workflows.history('order-1')) {
        if (event.type === 'timerCreated') expectTypeOf(event.dueAt).toBeNumber();
        if (event.type === 'activityFailed') expectTypeOf(event.failure.message).toBeString();
        // @ts-expect-error: not every event has a name
        event.name;
      }
    });
  });

  test('a custom status has the type of the context', () => {
    const steps = defineWorkflow('steps', async (ctx: WorkflowContext<{ done: number; at: Date }>, total: number) => {
      ctx.setCustomStatus({ done: total, at: new Date(ctx.now()) });
      // @ts-expect-error: not of the type
      ctx.setCustomStatus('half');
      return total;
    });
    compiles(async ({ workflows }) => {
      const { customStatus } = await (await workflows.start(steps, 3)).state();
      expectTypeOf(customStatus).toEqualTypeOf<{ done: number; at: string } | undefined>();
      expectTypeOf((await workflows.run(checkout, 'order-1').state()).customStatus).toBeUnknown();
    });
  });

  test('a schema makes of an input what the code takes', () => {
    const input = z.object({ at: z.coerce.date() });
    const when = defineActivity('when', { input }, async ({ at }) => at);
    compiles(async (_sidecar, ctx) => expectTypeOf(await ctx.callActivity(when, { at: '2026-01-01' })).toBeString());
  });
});

describe('events, topics and jobs', () => {
  test('data come as JSON leaves them', () => {
    const placed = defineEvent<Order>('placed');
    const orders = defineTopic<Order>('orders');
    const data = new Order();
    compiles(async ({ pubsub, jobs, workflows }, ctx) => {
      expectTypeOf(await ctx.waitForEvent(placed)).toEqualTypeOf<Sent>();
      await workflows.raiseEvent('order-1', placed, new Order());
      await pubsub.publish(orders, new Order());
      await pubsub.subscribe(orders, (order) => expectTypeOf(order).toEqualTypeOf<Sent>());
      const daily = defineJob('daily', { schedule: '@daily', data }, (order) => {
        expectTypeOf(order).toEqualTypeOf<Sent>();
      });
      expectTypeOf((await jobs.get(daily))?.data).toEqualTypeOf<Sent | undefined>();
      const once = defineJob('once', { timeout: '1m' }, (order: Sent) => order.id);
      await jobs.schedule(once, { dueTime: '1s', data: { id: 1, at: '' } });
      // @ts-expect-error: an order has a date
      await jobs.schedule(once, { dueTime: '1s', data });
      const dated = defineJob('dated', { schema: z.coerce.date() }, (at) => expectTypeOf(at).toEqualTypeOf<Date>());
      return dated;
    });
  });
});

describe('functions for messages', () => {
  const counts = defineTopic<number>('counts');

  test('may return anything, and what they return may mean something', async () => {
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
    const { pubsub } = sidecar;
    const wait = Promise.resolve();
    const subscribed = [
      pubsub.subscribe('pubsub', '1', async () => 'DROP'),
      pubsub.subscribe('pubsub', '2', async (_event) => 'RETRY'),
      pubsub.subscribe('pubsub', '3', (event) => {
        return event.data === undefined ? 'DROP' : 'SUCCESS';
      }),
      pubsub.subscribe<number>('pubsub', '4', async ({ data }) => {
        if (data) return 'RETRY';
        return 'DROP';
      }),
      pubsub.subscribe<number>('pubsub', '5', async ({ data }) => {
        if (data) return 'DROP';
        return undefined;
      }),
      pubsub.subscribe('pubsub', '6', async (event) => {
        await wait;
        return event.data ? 'RETRY' : 'SUCCESS';
      }),
      pubsub.subscribe('pubsub', '7', async ({ data }) => {
        const value: unknown = data;
        void value;
        return 'DROP';
      }),
      pubsub.subscribe('pubsub', '8', ({ data }) => ({ saved: data })),
      pubsub.subscribe(counts, (count, { event }) => (count > 0 ? event.id : 'DROP')),
      pubsub.subscribe(counts, async (count) => void count, { group: 'other' }),
    ];
    expect(await Promise.all(subscribed)).toHaveLength(10);
  });
});
