import type { WorkflowActivityContext } from './workflow-activity-context.ts';
import type { WorkflowContext } from './workflow-context.ts';

/** The input of a workflow or an activity. @public */
// biome-ignore lint/suspicious/noExplicitAny: programs for Dapr's SDK are written against this very type
export type TInput = any;

/** The output of a workflow or an activity. @public */
// biome-ignore lint/suspicious/noExplicitAny: programs for Dapr's SDK are written against this very type
export type TOutput = any;

/**
 * A workflow: an `async function*` or `function*` that yields tasks, or a plain function if it waits for nothing.
 *
 * @public
 */
export type TWorkflow = (context: WorkflowContext, input: TInput) => TOutput;

/** An activity, synchronous or asynchronous. @public */
export type TWorkflowActivity<Input, Output> = (context: WorkflowActivityContext, input: Input) => Output;
