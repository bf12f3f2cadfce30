import type { WorkflowActivityContext } from './workflow-activity-context.ts';
import type { WorkflowContext } from './workflow-context.ts';

/** What a workflow or an activity is given. @public */
// biome-ignore lint/suspicious/noExplicitAny: programs for Dapr's SDK are written against this very type
export type TInput = any;

/** What a workflow or an activity answers. @public */
// biome-ignore lint/suspicious/noExplicitAny: programs for Dapr's SDK are written against this very type
export type TOutput = any;

/**
 * A workflow: `async function*` or `function*` that yields tasks, or a plain function that has nothing to wait for.
 *
 * @public
 */
export type TWorkflow = (context: WorkflowContext, input: TInput) => TOutput;

/** An activity; it may be asynchronous. @public */
export type TWorkflowActivity<Input, Output> = (context: WorkflowActivityContext, input: Input) => Output;
