import type { InstanceView } from '../blocks/workflow/model/instance.ts';
import { textOfValue } from '../blocks/workflow/model/payload.ts';
import type { Workflows } from '../blocks/workflow/workflows.ts';
import { isApiError } from '../errors.ts';
import { type DaprWorkflowOptions, workflowsOf } from './attach.ts';
import type { TInput, TOutput, TWorkflow } from './types.ts';
import { WorkflowState } from './workflow-state.ts';

const DEFAULT_WAIT_SECONDS = 60;

/** Starts, reads and controls workflows of a sidecar in this process. @public */
export class DaprWorkflowClient {
  readonly #workflows: Workflows;

  /** @throws SidecarError `ERR_CONFIGURATION` without a sidecar. */
  constructor(options: DaprWorkflowOptions) {
    this.#workflows = workflowsOf('DaprWorkflowClient', options);
  }

  /**
   * Starts a workflow; returns the ID of the instance. A function is identified by its name: if it is registered under
   * another one, pass that name.
   *
   * @throws SidecarError `ERR_START_WORKFLOW` if an instance with this ID has not finished. One that has is replaced, as in
   * Dapr.
   */
  async scheduleNewWorkflow(
    workflow: TWorkflow | string,
    input?: TInput,
    instanceId?: string,
    startAt?: Date,
  ): Promise<string> {
    const name = typeof workflow === 'string' ? workflow : workflow.name;
    const run = await this.#workflows.start(name, input, {
      ...(instanceId === undefined ? undefined : { instanceId, ifExists: 'replace' }),
      ...(startAt === undefined ? undefined : { startAt }),
    });
    return run.instanceId;
  }

  /** Terminates an instance and its children. */
  async terminateWorkflow(workflowInstanceId: string, output?: TOutput): Promise<void> {
    return this.#workflows.service.terminate(workflowInstanceId, textOfValue(output, 'the output'));
  }

  /** Reads an instance, with or without input, output, failure and custom status; `undefined` if it does not exist. */
  getWorkflowState(workflowInstanceId: string, getInputsAndOutputs: boolean): Promise<WorkflowState | undefined> {
    return stateOf(this.#workflows.service.find(workflowInstanceId), getInputsAndOutputs);
  }

  /**
   * Waits until an instance has started.
   *
   * @throws SidecarError on timeout.
   */
  waitForWorkflowStart(
    workflowInstanceId: string,
    fetchPayloads = true,
    timeoutInSeconds: number = DEFAULT_WAIT_SECONDS,
  ): Promise<WorkflowState | undefined> {
    const started = this.#workflows.service.waitForStart(workflowInstanceId, { timeout: timeoutInSeconds * 1000 });
    return stateOf(started, fetchPayloads);
  }

  /**
   * Waits until an instance has finished.
   *
   * @throws SidecarError on timeout.
   */
  waitForWorkflowCompletion(
    workflowInstanceId: string,
    fetchPayloads = true,
    timeoutInSeconds: number = DEFAULT_WAIT_SECONDS,
  ): Promise<WorkflowState | undefined> {
    const finished = this.#workflows.service.waitForCompletion(workflowInstanceId, {
      timeout: timeoutInSeconds * 1000,
    });
    return stateOf(finished, fetchPayloads);
  }

  /** Raises an event for an instance. Names are case-insensitive. */
  raiseEvent(workflowInstanceId: string, eventName: string, eventPayload?: TInput): Promise<void> {
    return this.#workflows.raiseEvent(workflowInstanceId, eventName, eventPayload);
  }

  /**
   * Purges an instance and its children; returns whether it existed.
   *
   * @throws SidecarError `ERR_PURGE_WORKFLOW` if it has not finished.
   */
  async purgeWorkflow(workflowInstanceId: string): Promise<boolean> {
    return this.#workflows.purge(workflowInstanceId);
  }

  /** Pauses an instance. */
  suspendWorkflow(workflowInstanceId: string): Promise<void> {
    return this.#workflows.service.pause(workflowInstanceId);
  }

  /** Resumes an instance. */
  resumeWorkflow(workflowInstanceId: string): Promise<void> {
    return this.#workflows.service.resume(workflowInstanceId);
  }

  /** Does nothing: there is no connection. */
  async stop(): Promise<void> {}
}

async function stateOf(
  found: Promise<InstanceView | undefined>,
  hasPayloads: boolean,
): Promise<WorkflowState | undefined> {
  const view = await unlessMissing(found);
  return view === undefined ? undefined : new WorkflowState(view, hasPayloads);
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isApiError(error) && error.code === 'ERR_INSTANCE_ID_NOT_FOUND') return undefined;
    throw error;
  }
}
