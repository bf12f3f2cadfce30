import { checkName } from '../blocks/workflow/model/definition.ts';
import type { Workflows } from '../blocks/workflow/workflows.ts';
import { activityFunction } from './activity-function.ts';
import { type DaprWorkflowOptions, workflowsOf } from './attach.ts';
import { Names } from './names.ts';
import { programOfWorkflow } from './run-workflow.ts';
import type { TInput, TOutput, TWorkflow, TWorkflowActivity } from './types.ts';

/**
 * Registers workflows and activities written for Dapr's SDK with a sidecar in this process.
 *
 * @example
 * ```ts
 * async function charge(_ctx: WorkflowActivityContext, id: number): Promise<string> {
 *   return `receipt of order ${id}`;
 * }
 * async function* order(ctx: WorkflowContext, id: number): any {
 *   return yield ctx.callActivity(charge, id);
 * }
 *
 * const runtime = new WorkflowRuntime({ sidecar });
 * runtime.registerWorkflow(order).registerActivity(charge);
 * await sidecar.start();
 * await runtime.start();
 * ```
 * @public
 */
export class WorkflowRuntime {
  readonly #workflows: Workflows;
  readonly #names = new Names();

  /** @throws SidecarError `ERR_CONFIGURATION` without a sidecar. */
  constructor(options: DaprWorkflowOptions) {
    this.#workflows = workflowsOf('WorkflowRuntime', options);
  }

  /** Registers a workflow under the name of its function. */
  registerWorkflow(workflow: TWorkflow): this {
    return this.registerWorkflowWithName(workflow.name, workflow);
  }

  /**
   * Registers a workflow.
   *
   * @throws SidecarError `ERR_CONFIGURATION` if the name is taken, empty or too long.
   */
  registerWorkflowWithName(name: string, workflow: TWorkflow): this {
    checkName('workflow', name);
    this.#workflows.service.registry.addProgram(name, programOfWorkflow(workflow, this.#names));
    this.#names.add(workflow, name);
    return this;
  }

  /** Registers an activity under the name of its function. */
  registerActivity(fn: TWorkflowActivity<TInput, TOutput>): this {
    return this.registerActivityWithName(fn.name, fn);
  }

  /**
   * Registers an activity.
   *
   * @throws SidecarError `ERR_CONFIGURATION` if the name is taken, empty or too long.
   */
  registerActivityWithName(name: string, fn: TWorkflowActivity<TInput, TOutput>): this {
    checkName('activity', name);
    this.#workflows.registerActivity(name, activityFunction(fn));
    this.#names.add(fn, name);
    return this;
  }

  /** Does nothing: registered workflows run as soon as the sidecar does. Warns if the sidecar is not started. */
  async start(): Promise<void> {
    const problem =
      'WorkflowRuntime.start() was called before sidecar.start(): workflows run when that has been called';
    this.#workflows.service.warnUnlessRunning(problem);
  }

  /** Does nothing: `sidecar.stop()` waits for running work. */
  async stop(): Promise<void> {}
}
