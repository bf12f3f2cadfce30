/**
 * Workflows written for Dapr's JavaScript SDK: generators that yield tasks, run by a sidecar in this process.
 *
 * @packageDocumentation
 */

export type { DaprWorkflowOptions } from './attach.ts';
export { DaprWorkflowClient } from './dapr-workflow-client.ts';
export type { RetryPolicy } from './retry-policy.ts';
export { Task, WhenAllTask, WhenAnyTask } from './task.ts';
export { EventTimeoutError, type FailureDetails, TaskFailedError } from './task-failed-error.ts';
export type { TInput, TOutput, TWorkflow, TWorkflowActivity } from './types.ts';
export { WorkflowActivityContext } from './workflow-activity-context.ts';
export { type CallOptions, type WaitOptions, WorkflowContext } from './workflow-context.ts';
export { WorkflowRuntime } from './workflow-runtime.ts';
export { WorkflowRuntimeStatus } from './workflow-runtime-status.ts';
export { WorkflowFailureDetails, WorkflowState } from './workflow-state.ts';
