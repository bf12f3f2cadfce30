// biome-ignore-all lint/suspicious/noExplicitAny: programs for Dapr's SDK are annotated like this
// biome-ignore-all lint/correctness/useYield: some of them wait for nothing
/** Programs as they are written for Dapr's JavaScript SDK, and what that SDK gets wrong with them. */
import { describe, expect, test } from 'vitest';
import {
  DaprWorkflowClient,
  type Task,
  TaskFailedError,
  type TWorkflow,
  type WorkflowActivityContext,
  type WorkflowContext,
  WorkflowRuntime,
  WorkflowRuntimeStatus,
  type WorkflowState,
} from '../../src/dapr/index.ts';
import { type WorkflowWorld, workflowWorld } from '../support/workflow-world.ts';

interface Order {
  readonly cost: number;
  readonly product: string;
}

/** A world with these workflows and activities, registered under their own names. */
function daprWorld(...functions: readonly TWorkflow[]): Promise<WorkflowWorld> {
  return workflowWorld((sidecar, world) => {
    const runtime = new WorkflowRuntime({ sidecar });
    for (const one of functions) runtime.registerWorkflow(one);
    runtime
      .registerActivity(addOne)
      .registerActivity(breakDown)
      .registerActivityWithName(
        'note',
        (_context: WorkflowActivityContext, text: string) => void world.seen.push(text),
      );
  });
}

async function addOne(_context: WorkflowActivityContext, value: number): Promise<number> {
  return value + 1;
}

function breakDown(_context: WorkflowActivityContext, value: unknown): never {
  throw new RangeError(`broken by ${JSON.stringify(value)}`);
}

const run = async (world: WorkflowWorld, name: string, input?: unknown) => world.run(name, input);

describe('programs', () => {
  test('a sequence, in an async generator', async () => {
    const sequence: TWorkflow = async function* sequence(ctx: WorkflowContext): any {
      const numbers = [0];
      for (let i = 0; i < 10; i++) numbers.push(yield ctx.callActivity(addOne, numbers[i]));
      return numbers;
    };
    await using world = await daprWorld(sequence);
    expect((await run(world, 'sequence')).output).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('fan-out and fan-in', async () => {
    const fanOut: TWorkflow = async function* fanOut(ctx: WorkflowContext, count: number): any {
      const tasks: Task<number>[] = [];
      for (let i = 0; i < count; i++) tasks.push(ctx.callActivity(addOne, i));
      const results: number[] = yield ctx.whenAll(tasks);
      return results.reduce((sum, value) => sum + value, 0);
    };
    await using world = await daprWorld(fanOut);
    expect((await run(world, 'fanOut', 100)).output).toBe(5_050);
  });

  test('that is canceled cleans up', async () => {
    const saga: TWorkflow = async function* saga(ctx: WorkflowContext): any {
      try {
        yield ctx.waitForExternalEvent('never');
      } catch (error) {
        yield ctx.callActivity('note', (error as Error).name);
        throw error;
      }
    };
    await using world = await daprWorld(saga);
    await run(world, 'saga');
    await world.sidecar.workflows.cancel('one');
    expect([(await world.settle()).status, world.seen]).toEqual(['CANCELED', ['CanceledError']]);
    const client = new DaprWorkflowClient({ sidecar: world.sidecar });
    const state = await client.getWorkflowState('one', true);
    expect(state?.runtimeStatus).toBe(WorkflowRuntimeStatus.CANCELED);
  });

  const approval: TWorkflow = async function* approval(ctx: WorkflowContext, order: Order): any {
    if (order.cost < 1000) return 'Auto-approved';
    yield ctx.callActivity('note', `approve ${order.product}`);
    const approved = ctx.waitForExternalEvent('approval_received');
    const timeout = ctx.createTimer(24 * 60 * 60);
    const winner: Task<unknown> = yield ctx.whenAny([approved, timeout]);
    if (winner === timeout) return 'Cancelled';
    yield ctx.callActivity('note', `place ${order.product}`);
    return `Approved by ${approved.getResult().approver}`;
  };

  test.each([
    ['auto', { cost: 10, product: 'pen' }, undefined, 'Auto-approved', []],
    ['in time', { cost: 2000, product: 'car' }, { approver: 'Ada' }, 'Approved by Ada', ['approve car', 'place car']],
    ['too late', { cost: 2000, product: 'car' }, 'never', 'Cancelled', ['approve car']],
  ])('human interaction: %s', async (_what, order, event, output, seen) => {
    await using world = await daprWorld(approval);
    await run(world, 'approval', order);
    if (typeof event === 'object') await world.raise('Approval_Received', event);
    expect((await world.pass('25h')).output).toBe(output);
    expect(world.seen).toEqual(seen);
  });

  test('children: by function, by name, with an ID, with one of its own', async () => {
    const child: TWorkflow = async function* child(ctx: WorkflowContext, n: number): any {
      return [ctx.getWorkflowInstanceId(), yield ctx.callActivity(addOne, n)];
    };
    const parent: TWorkflow = async function* parent(ctx: WorkflowContext): any {
      const first = yield ctx.callChildWorkflow(child, 1, 'kid');
      const second = yield ctx.callSubWorkflow('child', 2);
      return [first, second];
    };
    await using world = await daprWorld(child, parent);
    expect((await run(world, 'parent')).output).toEqual([
      ['kid', 2],
      ['one-0002', 3],
    ]);
  });

  test('timers take seconds and dates, and are never early', async () => {
    const timers: TWorkflow = async function* timers(ctx: WorkflowContext): any {
      yield ctx.createTimer(1.5);
      const then = ctx.getCurrentUtcDateTime();
      yield ctx.createTimer(new Date(then.getTime() + 1000));
      return [then.toISOString(), ctx.getCurrentUtcDateTime().toISOString()];
    };
    await using world = await daprWorld(timers);
    await run(world, 'timers');
    expect((await world.pass(2_499)).status).toBe('RUNNING');
    expect((await world.pass(1)).output).toEqual(['2026-01-01T00:00:01.500Z', '2026-01-01T00:00:02.500Z']);
  });

  test('a failure can be caught; its details tell the type', async () => {
    const careful: TWorkflow = async function* careful(ctx: WorkflowContext): any {
      try {
        yield ctx.callActivity(breakDown, 0);
      } catch (error) {
        if (error instanceof TaskFailedError) return error.details;
      }
    };
    await using world = await daprWorld(careful);
    expect((await run(world, 'careful')).output).toMatchObject({
      errorType: 'RangeError',
      message: 'broken by 0',
      stackTrace: expect.stringContaining('breakDown'),
    });
  });

  test('a task that failed, looked at without a throw', async () => {
    const looking: TWorkflow = function* looking(ctx: WorkflowContext): any {
      const task = ctx.callActivity(breakDown, 1);
      const timer = ctx.createTimer(1);
      const winner: Task<unknown> = yield ctx.whenAny([task, timer]);
      return [winner === task, task.isComplete, task.isFailed, task.getException().details.errorType, timer.isComplete];
    };
    await using world = await daprWorld(looking);
    expect((await run(world, 'looking')).output).toEqual([true, true, true, 'RangeError', false]);
  });

  test('continue-as-new keeps events when that is asked for', async () => {
    const chat: TWorkflow = async function* chat(ctx: WorkflowContext, said: string[]): any {
      const message = yield ctx.waitForExternalEvent('message');
      const next = [...said, message];
      if (next.length === 3) return next;
      ctx.continueAsNew(next, true);
    };
    await using world = await daprWorld(chat);
    await world.sidecar.workflows.start('chat', [], { instanceId: 'one' });
    for (const message of ['a', 'b', 'c']) await world.sidecar.workflows.raiseEvent('one', 'MESSAGE', message);
    expect((await world.settle()).output).toEqual(['a', 'b', 'c']);
  });

  test('code after continue-as-new is without effect', async () => {
    const restless: TWorkflow = async function* restless(ctx: WorkflowContext, round: number): any {
      if (round === 2) return 'second round';
      ctx.continueAsNew(2, false);
      yield ctx.callActivity('note', 'after it');
      return 'first round';
    };
    await using world = await daprWorld(restless);
    expect(await run(world, 'restless', 1)).toMatchObject({ status: 'COMPLETED', output: 'second round' });
    expect(world.seen).toEqual([]);
  });

  test('what Dapr’s SDK lacks: retries, limits for events, UUIDs, patches', async () => {
    const extras: TWorkflow = async function* extras(ctx: WorkflowContext): any {
      const id = ctx.newGuid();
      const retryPolicy = { firstRetryInterval: 1, maxNumberOfAttempts: 3, backoffCoefficient: 2 };
      const tried: Task<unknown> = yield ctx.whenAny([ctx.callActivity(breakDown, 1, { retryPolicy })]);
      const late: Task<unknown> = yield ctx.whenAny([ctx.waitForExternalEvent('never', { timeoutMs: 5000 })]);
      return [id, ctx.isPatched('p'), tried.isFailed, late.getException().name];
    };
    await using world = await daprWorld(extras);
    await run(world, 'extras');
    const { output } = await world.pass('1m');
    expect(output).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), true, true, 'EventTimeoutError']);
    const attempts = (await world.history()).filter((event) => event.type === 'activityScheduled');
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test('an event that a child did not get in time is no timeout of its parent', async () => {
    const hasty: TWorkflow = async function* hasty(ctx: WorkflowContext): any {
      yield ctx.waitForExternalEvent('never', { timeoutMs: 1000 });
    };
    const caught: TWorkflow = async function* caught(ctx: WorkflowContext): any {
      try {
        yield ctx.callChildWorkflow(hasty);
      } catch (error) {
        const { name, failure } = error as TaskFailedError;
        return [name, failure.errorType];
      }
    };
    await using world = await daprWorld(hasty, caught);
    await run(world, 'caught');
    expect((await world.pass('1s')).output).toEqual(['TaskFailedError', 'EventTimeoutError']);
  });

  test.each([
    ['constant, when nothing else is said', { firstRetryInterval: 2, maxNumberOfAttempts: 4 }, [0, 2, 4, 6]],
    ['backing off', { firstRetryInterval: 1, maxNumberOfAttempts: 4, backoffCoefficient: 3 }, [0, 1, 4, 13]],
    [
      'at most so long',
      { firstRetryInterval: 1, maxNumberOfAttempts: 4, backoffCoefficient: 3, maxRetryInterval: 2 },
      [0, 1, 3, 5],
    ],
    ['not for ever', { firstRetryInterval: 2, maxNumberOfAttempts: 9, retryTimeout: 5 }, [0, 2, 4]],
    ['not for this', { firstRetryInterval: 1, maxNumberOfAttempts: 9, handle: () => false }, [0]],
  ])('retries of activities and children: %s', async (_what, retryPolicy, seconds) => {
    function* child(ctx: WorkflowContext): any {
      yield ctx.callActivity('note', String(ctx.getCurrentUtcDateTime().getTime()));
      throw new Error('no');
    }
    function* retrying(ctx: WorkflowContext): any {
      yield ctx.callChildWorkflow(child, undefined, undefined, { retryPolicy });
    }
    await using world = await daprWorld(child, retrying);
    const begin = world.clock.now();
    await run(world, 'retrying');
    expect((await world.pass('1m')).status).toBe('FAILED');
    expect(world.seen.map((at) => (Number(at) - begin) / 1000)).toEqual(seconds);
  });

  test('a plain function that continues as new', async () => {
    const counting: TWorkflow = async (ctx: WorkflowContext, input: number) => {
      if (input < 10) ctx.continueAsNew(input + 1, true);
      return input;
    };
    await using world = await daprWorld(counting);
    expect((await run(world, 'counting', 1)).output).toBe(10);
  });

  test('they go on after a restart', async () => {
    const steps: TWorkflow = function* steps(ctx: WorkflowContext): any {
      yield ctx.callActivity('note', 'first');
      const isReplayed = ctx.isReplaying();
      const event = yield ctx.waitForExternalEvent('go');
      yield ctx.callActivity('note', 'second');
      return [isReplayed, event];
    };
    await using world = await daprWorld(steps);
    await run(world, 'steps');
    await world.restart();
    expect((await world.raise('go', 7)).output).toEqual([true, 7]);
    expect(world.seen).toEqual(['first', 'second']);
  });
});

describe('what Dapr’s SDK 3.18 gets wrong', () => {
  test('1: a plain function* runs, and so do functions without anything to wait for', async () => {
    function* plain(ctx: WorkflowContext, n: number): any {
      return yield ctx.callActivity(addOne, n);
    }
    const direct: TWorkflow = function direct(_ctx: WorkflowContext, n: number) {
      return n + 1;
    };
    const asynchronous: TWorkflow = async function asynchronous(_ctx: WorkflowContext, n: number) {
      return n + 1;
    };
    await using world = await daprWorld(plain, direct, asynchronous);
    for (const name of ['plain', 'direct', 'asynchronous'])
      expect([name, (await run(world, name, 1)).output]).toEqual([name, 2]);
  });

  test.each([0, false, '', null])(
    '2: the falsy input %j arrives: start, activity, child, continue-as-new',
    async (value) => {
      const child: TWorkflow = function* child(ctx: WorkflowContext, input: unknown): any {
        return [input, yield ctx.callActivity('same', input)];
      };
      const falsy: TWorkflow = async function* falsy(ctx: WorkflowContext, input: unknown): any {
        if (typeof input === 'object' && input !== null) {
          ctx.continueAsNew(value, false);
          return;
        }
        return [input, yield ctx.callActivity('same', input), yield ctx.callChildWorkflow(child, input)];
      };
      await using world = await workflowWorld((sidecar) => {
        new WorkflowRuntime({ sidecar })
          .registerWorkflow(child)
          .registerWorkflow(falsy)
          .registerActivityWithName('same', (_context: WorkflowActivityContext, input: unknown) => input);
      });
      const expected = [value, value, [value, value]];
      expect((await run(world, 'falsy', value)).output).toEqual(expected);
      expect((await run(world, 'falsy', {})).output).toEqual(expected);
    },
  );

  test('3: whenAll of nothing completes', async () => {
    const empty: TWorkflow = async function* empty(ctx: WorkflowContext): any {
      return yield ctx.whenAll([]);
    };
    await using world = await daprWorld(empty);
    expect((await run(world, 'empty')).output).toEqual([]);
  });

  test('3: whenAll and whenAny over tasks that are complete already', async () => {
    const late: TWorkflow = async function* late(ctx: WorkflowContext): any {
      const first = ctx.callActivity(addOne, 1);
      const second = ctx.callActivity(addOne, 2);
      yield first;
      yield second;
      const all = yield ctx.whenAll([first, second]);
      const any: Task<unknown> = yield ctx.whenAny([second, first]);
      return [all, any === second, yield first];
    };
    await using world = await daprWorld(late);
    expect((await run(world, 'late')).output).toEqual([[2, 3], true, 2]);
  });

  test('3: whenAll with a failure, and completions after it', async () => {
    const failing: TWorkflow = async function* failing(ctx: WorkflowContext): any {
      const others = [ctx.createTimer(1), ctx.createTimer(2)];
      const broken = ctx.callActivity(breakDown, 1);
      let message = '';
      try {
        yield ctx.whenAll([...others, broken]);
      } catch (error) {
        message = (error as Error).message;
      }
      yield ctx.createTimer(5);
      return [message, others.map((task) => task.isComplete)];
    };
    await using world = await daprWorld(failing);
    await run(world, 'failing');
    const { status, output } = await world.pass('1m');
    expect([status, output]).toEqual(['COMPLETED', ['activity "breakDown" failed: broken by 1', [true, true]]]);
  });

  test('4: a yield that was left out before whenAny: the failure says so', async () => {
    const forgetful: TWorkflow = async function* forgetful(ctx: WorkflowContext): any {
      const approved = ctx.waitForExternalEvent('approval');
      const timeout = ctx.createTimer(60);
      const winner: unknown = ctx.whenAny([approved, timeout]);
      if (winner === timeout) return 'Cancelled';
      return approved.getResult();
    };
    await using world = await daprWorld(forgetful);
    const { status, failure } = await run(world, 'forgetful');
    expect(status).toBe('FAILED');
    expect(failure?.message).toMatch(
      /^event "approval" is not complete: yield it .* whenAny of 2 tasks .* never yielded$/,
    );
  });

  test('5: an input that is no JSON is text', async () => {
    const textual: TWorkflow = async function* textual(ctx: WorkflowContext, input: unknown): any {
      return [input, yield ctx.waitForExternalEvent('more')];
    };
    await using world = await daprWorld(textual);
    await world.sidecar.workflows.service.startInstance('textual', 'not {JSON', { instanceId: 'one' });
    await world.sidecar.workflows.service.raiseEvent('one', 'more', '<xml/>');
    expect((await world.settle()).output).toEqual(['not {JSON', '<xml/>']);
  });

  test.each<[what: string, workflow: TWorkflow]>([
    [
      'an async generator',
      async function* impatient(): any {
        await new Promise((resolve) => setTimeout(resolve, 1));
      },
    ],
    [
      'an async generator, after a task',
      async function* impatient(ctx: WorkflowContext): any {
        yield ctx.callActivity(addOne, 1);
        await new Promise((resolve) => setTimeout(resolve, 1));
      },
    ],
    [
      'an async function',
      async function impatient() {
        await new Promise((resolve) => setTimeout(resolve, 1));
      },
    ],
  ])('5: waiting for a promise that is no task is found out: %s', async (_what, workflow) => {
    await using world = await daprWorld(workflow);
    expect(await run(world, 'impatient')).toMatchObject({
      status: 'FAILED',
      failure: { errorType: 'WorkflowAwaitError', message: expect.stringContaining('activities') },
    });
  });
});

describe('mistakes are explained', () => {
  test.each<[what: string, workflow: TWorkflow, message: string]>([
    [
      'yield of a value',
      function* wrong(): any {
        yield 5;
      },
      'the workflow yielded 5 (number)',
    ],
    [
      'yield of nothing',
      function* wrong(): any {
        yield;
      },
      'the workflow yielded undefined',
    ],
    [
      'yield of a promise',
      function* wrong(): any {
        yield Promise.resolve(1);
      },
      'belongs into an activity',
    ],
    [
      'yield of an object',
      function* wrong(): any {
        yield {};
      },
      'the workflow yielded an object',
    ],
    [
      'return of a task',
      function wrong(ctx: WorkflowContext) {
        return ctx.createTimer(1);
      },
      'returned timer',
    ],
    [
      'whenAny of nothing',
      function* wrong(ctx: WorkflowContext): any {
        yield ctx.whenAny([]);
      },
      'at least one task',
    ],
    [
      'a timer for no time',
      function* wrong(ctx: WorkflowContext): any {
        yield ctx.createTimer(Number.NaN);
      },
      'NaN',
    ],
    [
      'no failure',
      function* wrong(ctx: WorkflowContext): any {
        ctx.createTimer(1).getException();
      },
      'has not failed',
    ],
    [
      'a nameless activity',
      function* wrong(ctx: WorkflowContext): any {
        yield ctx.callActivity(() => 1);
      },
      'name',
    ],
  ])('%s', async (_what, workflow, message) => {
    await using world = await daprWorld(workflow);
    expect(await run(world, 'wrong')).toMatchObject({
      status: 'FAILED',
      failure: { message: expect.stringContaining(message) },
    });
  });

  test('a yield of no task can be caught', async () => {
    function* forgiving(ctx: WorkflowContext): any {
      try {
        yield 1;
      } catch {
        return yield ctx.callActivity(addOne, 1);
      }
    }
    await using world = await daprWorld(forgiving);
    expect((await run(world, 'forgiving')).output).toBe(2);
  });
});

describe('runtime', () => {
  test('without a sidecar: told', () => {
    const options = { daprHost: '127.0.0.1', daprPort: '50001' } as never;
    for (const make of [() => new WorkflowRuntime(options), () => new DaprWorkflowClient(undefined as never)])
      expect(make).toThrow(/has no sidecar: expected new \w+\(\{ sidecar \}\)/);
  });

  test('names: those of functions, those that are given, each once', async () => {
    await using world = await workflowWorld((sidecar) => {
      const runtime = new WorkflowRuntime({ sidecar });
      function* flow(ctx: WorkflowContext): any {
        return yield ctx.callActivity(addOne, 1);
      }
      runtime.registerWorkflowWithName('renamed', flow).registerActivityWithName('plus', addOne);
      expect(() => runtime.registerWorkflowWithName('renamed', flow)).toThrow(/renamed/);
      expect(() => runtime.registerActivityWithName('plus', addOne)).toThrow(/plus/);
      expect(() => runtime.registerWorkflow(() => undefined)).toThrow(/name/);
    });
    expect((await run(world, 'renamed')).output).toBe(2);
    expect(await world.history()).toContainEqual(expect.objectContaining({ type: 'activityScheduled', name: 'plus' }));
  });

  test('an activity that is not registered runs when it is called as a function', async () => {
    const local = (_context: WorkflowActivityContext, text: string): string => text.toUpperCase();
    function* calling(ctx: WorkflowContext): any {
      return yield ctx.callActivity(local, 'x');
    }
    await using world = await daprWorld(calling);
    expect((await run(world, 'calling')).output).toBe('X');
  });

  test('activities know who calls them', async () => {
    function* calling(ctx: WorkflowContext): any {
      return yield ctx.callActivity('who');
    }
    await using world = await workflowWorld((sidecar) => {
      new WorkflowRuntime({ sidecar })
        .registerWorkflow(calling)
        .registerActivityWithName('who', (context) => [
          context.getWorkflowInstanceId(),
          context.getWorkflowActivityId(),
        ]);
    });
    expect((await run(world, 'calling')).output).toEqual(['one', 1]);
  });

  test('its start and stop leave the sidecar as it is', async () => {
    async function* quick(): any {
      return 'done';
    }
    await using world = await daprWorld(quick);
    const runtime = new WorkflowRuntime({ sidecar: world.sidecar });
    await runtime.start();
    await runtime.stop();
    expect((await run(world, 'quick')).output).toBe('done');
  });
});

describe('client', () => {
  function* waiting(ctx: WorkflowContext, input: unknown): any {
    ctx.setCustomStatus('waiting');
    return [input, yield ctx.waitForExternalEvent('go')];
  }
  function* failing(): any {
    throw new TypeError('no');
  }
  const clientWorld = async (): Promise<WorkflowWorld & { client: DaprWorkflowClient }> => {
    const world = await daprWorld(waiting, failing);
    return Object.assign(world, { client: new DaprWorkflowClient({ sidecar: world.sidecar }) });
  };
  const facts = (state: WorkflowState | undefined): unknown =>
    state && [state.instanceId, state.name, WorkflowRuntimeStatus[state.runtimeStatus]];

  test('from the start to the end', async () => {
    await using world = await clientWorld();
    const { client } = world;
    const id = await client.scheduleNewWorkflow(waiting, 0, 'one');
    expect(id).toBe('one');
    const started = await client.waitForWorkflowStart(id);
    expect(facts(started)).toEqual(['one', 'waiting', 'RUNNING']);
    expect([started?.serializedInput, started?.customStatus]).toEqual(['0', 'waiting']);
    await client.suspendWorkflow(id);
    await world.settle();
    expect(facts(await client.getWorkflowState(id, true))).toEqual(['one', 'waiting', 'SUSPENDED']);
    await client.resumeWorkflow(id);
    await client.raiseEvent(id, 'Go', false);
    const finished = await client.waitForWorkflowCompletion(id, true, 30);
    expect(facts(finished)).toEqual(['one', 'waiting', 'COMPLETED']);
    expect(finished?.runtimeStatus).toBe(WorkflowRuntimeStatus.COMPLETED);
    expect(finished?.serializedOutput).toBe('[0,false]');
    expect(finished?.createdAt).toEqual(new Date('2026-01-01T00:00:00Z'));
    expect(finished?.lastUpdatedAt).toBeInstanceOf(Date);
    expect(await client.purgeWorkflow(id)).toBe(true);
    expect(await client.getWorkflowState(id, true)).toBeUndefined();
  });

  test('an ID of its own, a start later, a termination with an output', async () => {
    await using world = await clientWorld();
    const { client } = world;
    const id = await client.scheduleNewWorkflow('waiting', undefined, undefined, new Date(world.clock.now() + 60_000));
    expect(facts(await client.getWorkflowState(id, true))).toEqual([id, 'waiting', 'PENDING']);
    await world.clock.advance('1m');
    expect(facts(await client.waitForWorkflowStart(id))).toEqual([id, 'waiting', 'RUNNING']);
    await client.terminateWorkflow(id, { why: 0 });
    await world.clock.settled();
    const state = await client.getWorkflowState(id, true);
    expect([facts(state), state?.serializedOutput]).toEqual([[id, 'waiting', 'TERMINATED'], '{"why":0}']);
  });

  test('payloads only when they are asked for', async () => {
    await using world = await clientWorld();
    await world.client.scheduleNewWorkflow(failing, 'input', 'one');
    await world.clock.settled();
    const bare = await world.client.getWorkflowState('one', false);
    expect([bare?.serializedInput, bare?.workflowFailureDetails, bare?.customStatus]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const full = await world.client.waitForWorkflowCompletion('one');
    expect(full?.serializedInput).toBe('"input"');
    const details = full?.workflowFailureDetails;
    expect([details?.getErrorType(), details?.getErrorMessage()]).toEqual(['TypeError', 'no']);
    expect(details?.getStackTrace()).toContain('failing');
  });

  test('what is not there', async () => {
    await using world = await clientWorld();
    const { client } = world;
    expect(await client.getWorkflowState('none', true)).toBeUndefined();
    expect(await client.waitForWorkflowStart('none')).toBeUndefined();
    expect(await client.waitForWorkflowCompletion('none')).toBeUndefined();
    expect(await client.purgeWorkflow('none')).toBe(false);
    const code = 'ERR_INSTANCE_ID_NOT_FOUND';
    await expect(client.raiseEvent('none', 'x')).rejects.toMatchObject({ code });
    await expect(client.suspendWorkflow('none')).rejects.toMatchObject({ code });
    await expect(client.resumeWorkflow('none')).rejects.toMatchObject({ code });
    await expect(client.terminateWorkflow('none', undefined)).rejects.toMatchObject({ code });
    await client.stop();
  });

  test('a wait ends with its time, by the clock', async () => {
    await using world = await clientWorld();
    await world.client.scheduleNewWorkflow(waiting, undefined, 'one');
    const waited = expect(world.client.waitForWorkflowCompletion('one', true, 5)).rejects.toThrow(/5/);
    await world.clock.advance('5s');
    await waited;
  });
});
