import type { ActivityContext } from '../blocks/workflow/model/definition.ts';

/** The context of an activity. @public */
export class WorkflowActivityContext {
  readonly #context: ActivityContext;

  /** Made by the runtime. @internal */
  constructor(context: ActivityContext) {
    this.#context = context;
  }

  /** The ID of the workflow that called it. */
  getWorkflowInstanceId(): string {
    return this.#context.instanceId;
  }

  /** The number of the call within the workflow, the same in every run: usable as an idempotency key. */
  getWorkflowActivityId(): number {
    return this.#context.activityId;
  }

  /** The number of the attempt, from 1. Not in Dapr's SDK. */
  getAttempt(): number {
    return this.#context.attempt;
  }
}
