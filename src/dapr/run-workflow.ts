import { failureOf } from '../blocks/workflow/model/failure.ts';
import { textOfValue, valueOfText } from '../blocks/workflow/model/payload.ts';
import type { Execution, Program } from '../blocks/workflow/replay/execution.ts';
import type { Names } from './names.ts';
import { Task } from './task.ts';
import type { TWorkflow } from './types.ts';
import { WorkflowContext } from './workflow-context.ts';

/** A generator, synchronous or asynchronous. */
interface Steps {
  next(value?: unknown): Step | Promise<Step>;
  throw(error: unknown): Step | Promise<Step>;
}

interface Step {
  readonly done?: boolean | undefined;
  readonly value: unknown;
}

/** Adapts a workflow to the engine. */
export function programOfWorkflow(workflow: TWorkflow, names: Names): Program {
  return (execution) => {
    const context = new WorkflowContext(execution, names);
    run(workflow, context, execution).catch((error: unknown) => {
      if (!context.hasEnded) execution.fail(failureOf(error));
    });
  };
}

async function run(workflow: TWorkflow, context: WorkflowContext, execution: Execution): Promise<void> {
  const begun: unknown = workflow(context, valueOfText(execution.input));
  const output = isSteps(begun) ? await runSteps(begun, context) : await begun;
  if (context.hasEnded) return;
  if (output instanceof Task)
    throw new TypeError(`the workflow returned ${output.source.what}: expected its result ("return yield …")`);
  execution.complete(textOfValue(output, 'the output'));
}

/** Runs a generator to its end: waits for each yielded task and continues with its result. */
async function runSteps(steps: Steps, context: WorkflowContext): Promise<unknown> {
  let step = await steps.next();
  while (step.done !== true && !context.hasEnded) step = await goOn(steps, step.value);
  return step.value;
}

async function goOn(steps: Steps, yielded: unknown): Promise<Step> {
  if (!(yielded instanceof Task)) return steps.throw(new TypeError(notATask(yielded)));
  yielded.isAwaited = true;
  if (!yielded.isComplete) await new Promise<void>((resolve) => yielded.source.onSettled(resolve));
  return yielded.isFailed ? steps.throw(yielded.getException()) : steps.next(yielded.getResult());
}

function notATask(yielded: unknown): string {
  const help = isThenable(yielded) ? '; waiting for timers, input or output belongs into an activity' : '';
  return `the workflow yielded ${kindOf(yielded)}: expected a task of its context${help}`;
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${String(value)} (${typeof value})`;
  return isThenable(value) ? 'a promise' : 'an object';
}

function isSteps(value: unknown): value is Steps {
  if (typeof value !== 'object' || value === null) return false;
  if (!(Symbol.iterator in value || Symbol.asyncIterator in value)) return false;
  return 'next' in value && typeof value.next === 'function' && 'throw' in value && typeof value.throw === 'function';
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
