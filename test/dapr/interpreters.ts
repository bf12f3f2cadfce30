/** The same programs, run by an async function and by a generator. */
import {
  type CallOptions,
  type WorkflowContext as DaprContext,
  type Task as DaprTask,
  WorkflowRuntime,
} from '../../src/dapr/index.ts';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowContext } from '../../src/index.ts';
import type { Leaf, Program, Step } from './programs.ts';

const RETRY = { delay: 1_000, factor: 2 };

interface ActivityInput {
  readonly value: number;
}

const ACTIVITIES = {
  double: ({ value }: ActivityInput) => value * 2,
  break: ({ value }: ActivityInput) => {
    throw new RangeError(`broken by ${value}`);
  },
  flaky: ({ value }: ActivityInput, attempt: number) => {
    if (attempt < 2) throw new TypeError(`not at attempt ${attempt}`);
    return value;
  },
};

/** What a program tells of an error. */
function told(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `odd: ${String(error)}`;
}

type Log = unknown[];

function beginAsync(ctx: WorkflowContext, leaf: Leaf): Promise<unknown> {
  switch (leaf.kind) {
    case 'activity':
      return ctx.callActivity(leaf.name, { value: leaf.value }, optionsOf(leaf));
    case 'sleep':
      return ctx.sleep(leaf.seconds * 1000).then(() => null);
    case 'event':
      return ctx.waitForEvent(leaf.name, { timeout: leaf.timeoutSeconds * 1000 });
    case 'child':
      return ctx.callChild('program', { steps: leaf.steps, rounds: 0 });
  }
}

function beginDapr(ctx: DaprContext, leaf: Leaf): DaprTask<unknown> {
  switch (leaf.kind) {
    case 'activity':
      return ctx.callActivity(leaf.name, { value: leaf.value }, daprOptionsOf(leaf));
    case 'sleep':
      return ctx.createTimer(leaf.seconds);
    case 'event':
      return ctx.waitForExternalEvent(leaf.name, { timeoutMs: leaf.timeoutSeconds * 1000 });
    case 'child':
      return ctx.callChildWorkflow('program', { steps: leaf.steps, rounds: 0 });
  }
}

function optionsOf({ retry }: Leaf & { kind: 'activity' }): { retry?: typeof RETRY & { maxRetries: number } } {
  return retry === undefined ? {} : { retry: { ...RETRY, maxRetries: retry - 1 } };
}

function daprOptionsOf({ retry }: Leaf & { kind: 'activity' }): CallOptions {
  if (retry === undefined) return {};
  return { retryPolicy: { firstRetryInterval: 1, backoffCoefficient: 2, maxNumberOfAttempts: retry } };
}

async function stepsAsync(ctx: WorkflowContext, steps: readonly Step[], log: Log): Promise<void> {
  for (const step of steps) {
    switch (step.kind) {
      case 'all':
        log.push(await Promise.all(step.leaves.map((leaf) => beginAsync(ctx, leaf))));
        break;
      case 'any': {
        const begun = step.leaves.map((leaf) => beginAsync(ctx, leaf));
        const first = begun.map((one, index) =>
          one.then(
            (value) => [index, value ?? null],
            (error: unknown) => [index, told(error)],
          ),
        );
        log.push(await Promise.race(first));
        break;
      }
      case 'unawaited':
        void beginAsync(ctx, step.leaf).catch(() => undefined);
        break;
      case 'attempt':
        try {
          await stepsAsync(ctx, step.steps, log);
        } catch (error) {
          log.push(told(error));
        }
        break;
      case 'status':
        ctx.setCustomStatus(step.text);
        break;
      case 'look':
        log.push([ctx.now(), ctx.instanceId, ctx.isPatched('p')]);
        break;
      default:
        log.push((await beginAsync(ctx, step)) ?? null);
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a yield gives is as in programs for Dapr's SDK
function* stepsDapr(ctx: DaprContext, steps: readonly Step[], log: Log): Generator<DaprTask<any>, void, any> {
  for (const step of steps) {
    switch (step.kind) {
      case 'all':
        log.push(yield ctx.whenAll(step.leaves.map((leaf) => beginDapr(ctx, leaf))));
        break;
      case 'any': {
        const begun = step.leaves.map((leaf) => beginDapr(ctx, leaf));
        const winner: DaprTask<unknown> = yield ctx.whenAny(begun);
        const result = winner.isFailed ? told(winner.getException()) : (winner.getResult() ?? null);
        log.push([begun.indexOf(winner), result]);
        break;
      }
      case 'unawaited':
        beginDapr(ctx, step.leaf);
        break;
      case 'attempt':
        try {
          yield* stepsDapr(ctx, step.steps, log);
        } catch (error) {
          log.push(told(error));
        }
        break;
      case 'status':
        ctx.setCustomStatus(step.text);
        break;
      case 'look':
        log.push([ctx.getCurrentUtcDateTime().getTime(), ctx.getWorkflowInstanceId(), ctx.isPatched('p')]);
        break;
      default:
        log.push((yield beginDapr(ctx, step)) ?? null);
    }
  }
}

/** Registers the interpreter that is an async function. */
export function registerAsync(sidecar: Sidecar): void {
  for (const [name, work] of Object.entries(ACTIVITIES))
    sidecar.workflows.register(defineActivity(name, (input: ActivityInput, { attempt }) => work(input, attempt)));
  sidecar.workflows.register(
    defineWorkflow('program', async (ctx, { steps, rounds }: Program) => {
      const log: Log = [];
      await stepsAsync(ctx, steps, log);
      return rounds > 0 ? ctx.continueAsNew({ steps, rounds: rounds - 1 }, { keepEvents: true }) : log;
    }),
  );
}

/** Registers the interpreter that is a generator, `function*` or `async function*`. */
export function registerDapr(sidecar: Sidecar, isAsync: boolean): void {
  const runtime = new WorkflowRuntime({ sidecar });
  for (const [name, work] of Object.entries(ACTIVITIES))
    runtime.registerActivityWithName(name, (context, input: ActivityInput) => work(input, context.getAttempt()));
  // biome-ignore lint/suspicious/noExplicitAny: as above
  function* program(ctx: DaprContext, { steps, rounds }: Program): Generator<DaprTask<any>, Log, any> {
    const log: Log = [];
    yield* stepsDapr(ctx, steps, log);
    if (rounds > 0) ctx.continueAsNew({ steps, rounds: rounds - 1 }, true);
    return log;
  }
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async function* asyncProgram(ctx: DaprContext, input: Program): AsyncGenerator<DaprTask<any>, unknown, any> {
    return yield* program(ctx, input);
  }
  runtime.registerWorkflowWithName('program', isAsync ? asyncProgram : program);
}
