import type { ActivityContext } from '../blocks/workflow/model/definition.ts';

/** What an activity is told. @public */
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

  /** The number of the call within the workflow, the same when it is run again: a key for idempotence. */
  getWorkflowActivityId(): number {
    return this.#context.activityId;
  }

  /** 1 for the first attempt of a retry policy. Dapr's SDK does not have it. */
  getAttempt(): number {
    return this.#context.attempt;
  }
}
