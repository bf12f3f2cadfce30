import { SidecarError } from '../../errors.ts';
import { invalidArgument } from '../../util/option-fields.ts';
import { inCode } from '../in-code.ts';
import {
  type EventData,
  type EventDefinition,
  type EventOrName,
  nameOfEvent,
  textOfEvent,
} from './model/define-event.ts';
import { errorOfFailure, type WorkflowFailure } from './model/failure.ts';
import type { InstanceView, WorkflowState, WorkflowStatus } from './model/instance.ts';
import { checkIsText } from './model/instance-id.ts';
import { textOfValue } from './model/payload.ts';
import type { WorkflowWaitOptions } from './operations/completions.ts';
import { stateOf } from './storage/render-instance.ts';
import type { WorkflowService } from './workflow-service.ts';

/** Why an instance has no result. */
type FailedCode = 'ERR_WORKFLOW_FAILED' | 'ERR_WORKFLOW_CANCELED' | 'ERR_WORKFLOW_TERMINATED';

const CODES: Readonly<Partial<Record<WorkflowStatus, FailedCode>>> = {
  CANCELED: 'ERR_WORKFLOW_CANCELED',
  TERMINATED: 'ERR_WORKFLOW_TERMINATED',
};

/**
 * The rejection of {@link WorkflowRun.result}: the instance is over and has not completed. Its `code` is
 * `ERR_WORKFLOW_FAILED`, `ERR_WORKFLOW_CANCELED` or `ERR_WORKFLOW_TERMINATED`. If it has failed, `cause` is an error with
 * the type, message and stack of what the workflow has thrown.
 *
 * @public
 */
export class WorkflowFailedError extends SidecarError {
  /** `WorkflowFailedError`. */
  override readonly name: string = 'WorkflowFailedError';
  /** The instance. */
  readonly instanceId: string;
  /** Why the workflow failed, for `ERR_WORKFLOW_FAILED`. */
  readonly failure: WorkflowFailure | undefined;

  /** @internal */
  constructor({ instanceId, name, failure, status }: Pick<InstanceView, 'instanceId' | 'name' | 'failure' | 'status'>) {
    const code = CODES[status] ?? 'ERR_WORKFLOW_FAILED';
    const reason = failure === undefined ? `was ${status.toLowerCase()}` : `failed: ${failure.message}`;
    super(
      code,
      `workflow ${JSON.stringify(name)} with the ID ${JSON.stringify(instanceId)} ${reason}`,
      failure && { cause: errorOfFailure(failure) },
    );
    this.instanceId = instanceId;
    this.failure = failure;
  }
}

/**
 * An instance of a workflow, of this process or any other. `start` answers it, and `workflows.run` makes it of an
 * instance ID. The run holds nothing: it can be dropped, and made again, at any time.
 *
 * @example
 * ```ts
 * const run = await sidecar.workflows.start('checkout', { orderId: 1 });
 * await run.raise('approved', { by: 'Ada' });
 * console.log(run.instanceId, await run.result());
 * ```
 * @public
 */
export class WorkflowRun<Input = unknown, Output = unknown, Status = unknown> {
  /** The ID of the instance. */
  readonly instanceId: string;
  readonly #service: WorkflowService;
  readonly #name: string | undefined;

  /**
   * @param name - the workflow that has the types; `undefined` if they are not known
   * @internal
   */
  constructor(service: WorkflowService, instanceId: string, name: string | undefined) {
    checkIsText(instanceId);
    this.instanceId = instanceId;
    this.#service = service;
    this.#name = name;
  }

  /**
   * Waits until the instance is over, and answers its output.
   *
   * @throws WorkflowFailedError if it has failed, or was canceled or terminated.
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_WORKFLOW_TIMEOUT` when it took longer; `ERR_INVALID_ARGUMENT` if
   * the instance runs another workflow; the signal's reason.
   * @example
   * ```ts
   * const checkout = defineWorkflow('checkout', async (_ctx, order: { id: string }) => `receipt of ${order.id}`);
   * const receipt = await sidecar.workflows.run(checkout, 'order-1').result({ timeout: 60_000 });
   * console.log(receipt);
   * ```
   */
  async result(options?: WorkflowWaitOptions): Promise<Output> {
    const state = await this.ended(options);
    if (state.status !== 'COMPLETED') throw new WorkflowFailedError(state);
    return state.output;
  }

  /**
   * Waits until the instance is over, and answers how it ended: other than {@link WorkflowRun.result}, it does not reject
   * if the workflow failed.
   *
   * @throws SidecarError as `result`.
   */
  async ended(options?: WorkflowWaitOptions): Promise<WorkflowState<Input, Output, Status>> {
    try {
      return this.#stateOf(await this.#service.waitForCompletion(this.instanceId, options));
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * The state of the instance now.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_INVALID_ARGUMENT` if the instance runs another workflow.
   */
  async state(): Promise<WorkflowState<Input, Output, Status>> {
    return this.#stateOf(await this.#service.view(this.instanceId));
  }

  #stateOf(view: InstanceView): WorkflowState<Input, Output, Status> {
    if (this.#name === undefined || view.name === this.#name) return stateOf(view);
    const [id, name, expected] = [this.instanceId, view.name, this.#name].map((text) => JSON.stringify(text));
    throw invalidArgument(`the instance ${id} runs the workflow ${name}: expected ${expected}`, 'workflow');
  }

  /**
   * Gives an event to the instance; see `Workflows.raiseEvent`.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_INVALID_DATA` for data that do not fit the schema of the event.
   */
  raise<Data>(event: EventDefinition<Data, unknown>, ...data: EventData<NoInfer<Data>>): Promise<void>;
  /** Gives the event of a name to the instance. */
  raise(event: string, data?: unknown): Promise<void>;
  async raise(event: EventOrName, data?: unknown): Promise<void> {
    try {
      return await this.#service.raiseEvent(this.instanceId, nameOfEvent(event), await textOfEvent(event, data));
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * Has the instance and its children clean up and end; see {@link Workflows.cancel}. `result` rejects then, unless the
   * workflow returns a result all the same.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`.
   */
  async cancel(): Promise<void> {
    return this.#service.cancel(this.instanceId);
  }

  /**
   * Ends the instance and its children at once: no code of theirs runs any more. See {@link Workflows.terminate}.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`.
   */
  async terminate(output?: unknown): Promise<void> {
    return this.#service.terminate(this.instanceId, textOfValue(output, 'the output'));
  }
}
