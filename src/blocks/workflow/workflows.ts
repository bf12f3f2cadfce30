import { isApiError } from '../../errors.ts';
import { eachOf } from '../../util/each-of.ts';
import type { Jsonify } from '../../util/jsonify.ts';
import { checkOptions, invalidArgument } from '../../util/option-fields.ts';
import { inCode } from '../in-code.ts';
import {
  type EventData,
  type EventDefinition,
  type EventOrName,
  nameOfEvent,
  textOfEvent,
} from './model/define-event.ts';
import type {
  ActivityDefinition,
  ActivityFunction,
  ActivityLike,
  Replacement,
  WorkflowDefinition,
  WorkflowFunction,
  WorkflowLike,
  WorkflowStartOptions,
} from './model/definition.ts';
import type { WorkflowHistoryEvent, WorkflowState } from './model/instance.ts';
import { textOfValue } from './model/payload.ts';
import { EACH_FIELDS, type WorkflowListOptions, type WorkflowPage } from './operations/list.ts';
import type { WorkflowRerunOptions } from './operations/rerun.ts';
import { stateOf } from './storage/render-instance.ts';
import { WorkflowBulk } from './workflow-bulk.ts';
import { WorkflowRun } from './workflow-run.ts';

/**
 * Workflows: code whose progress is kept in the state store. With a durable one it survives the process, and goes on
 * where it was.
 *
 * @example
 * ```ts
 * const checkout = defineWorkflow('checkout', async (_ctx, { orderId }: { orderId: number }) => orderId);
 * sidecar.workflows.register(checkout);
 * const run = await sidecar.workflows.start(checkout, { orderId: 1 });
 * console.log(await run.result());
 * ```
 * @public
 */
export class Workflows extends WorkflowBulk {
  /**
   * Registers workflows and activities. Every call of a name runs the code that is registered under it, by name,
   * definition or function. Register before the start: instances of the life before wait for their code.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when a name is taken by other code; see `replaceActivity` and
   * `replaceWorkflow`.
   */
  register(...definitions: readonly (WorkflowDefinition<never> | ActivityDefinition<never>)[]): void;
  /** Registers a workflow under a name. */
  register<Input, Output>(name: string, run: WorkflowFunction<Input, Output>): void;
  register(...given: readonly unknown[]): void {
    const [first, second] = given;
    if (typeof first === 'string') return this.service.registry.addWorkflow(first, second as WorkflowFunction);
    for (const one of given) this.service.registry.add(one as WorkflowDefinition | ActivityDefinition);
  }

  /** Registers an activity under a name: needed for those that workflows call by name. */
  registerActivity<Input, Output>(name: string, run: ActivityFunction<Input, Output>): void {
    this.service.registry.addActivity(name, run as ActivityFunction);
  }

  /**
   * The name under which an activity is registered.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when it is not.
   */
  registeredActivity(activity: ActivityLike | string): string {
    return this.service.registry.registeredActivity(activity);
  }

  /**
   * Has an activity run other code, until the answer is restored: whatever is registered under its name, now or later,
   * and however workflows call it. For tests.
   *
   * @example
   * ```ts
   * const charge = defineActivity('charge', async (order: { id: number }) => `charged ${order.id}`);
   * using _ = sidecar.workflows.replaceActivity(charge, (order) => `receipt of ${order.id}`);
   * ```
   */
  replaceActivity<Input, Output>(
    activity: ActivityLike<Input, Output>,
    run: ActivityFunction<Input, NoInfer<Output>>,
  ): Replacement;
  /** Has the activity of a name run other code. */
  replaceActivity(name: string, run: ActivityFunction): Replacement;
  replaceActivity(activity: ActivityLike | string, run: ActivityFunction): Replacement {
    const name = typeof activity === 'string' ? activity : this.service.registry.nameOfActivity(activity);
    return this.service.registry.replace({ kind: 'activity', name, run });
  }

  /**
   * Has a workflow run other code, as a child or when it is started, until the answer is restored. Instances that have
   * begun keep the code that they have. For tests.
   */
  replaceWorkflow<Input, Output>(
    workflow: WorkflowLike<Input, Output>,
    run: WorkflowFunction<Input, NoInfer<Output>>,
  ): Replacement;
  /** Has the workflow of a name run other code. */
  replaceWorkflow(name: string, run: WorkflowFunction): Replacement;
  replaceWorkflow(workflow: WorkflowLike | string, run: WorkflowFunction): Replacement {
    const name = typeof workflow === 'string' ? workflow : this.service.registry.nameOfWorkflow(workflow);
    return this.service.registry.replace({ kind: 'workflow', name, run });
  }

  /**
   * Starts an instance. When this resolves the start is kept, on disk if the state store is durable.
   *
   * With `ifExists: 'keep'`, an instance of this ID that exists already is left as it is, and its run answered.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_INVALID` for an ID that cannot be used, `ERR_START_WORKFLOW` when it is that
   * of another instance and `ifExists` does not say otherwise, or the store fails.
   * @example
   * ```ts
   * const checkout = defineWorkflow('checkout', async (_ctx, order: { id: string }) => `receipt of ${order.id}`);
   * const run = await sidecar.workflows.start(checkout, { id: 'o-1' });
   * console.log(run.instanceId, await run.result());
   * ```
   */
  async start<Input, Output, Status>(
    workflow: WorkflowLike<Input, Output, Status>,
    ...rest: undefined extends Input
      ? [input?: Input, options?: WorkflowStartOptions]
      : [input: Input, options?: WorkflowStartOptions]
  ): Promise<WorkflowRun<Jsonify<Input>, Jsonify<Output>, Jsonify<Status>>>;
  /** Starts an instance of the workflow that is registered under a name. */
  async start(name: string, input?: unknown, options?: WorkflowStartOptions): Promise<WorkflowRun>;
  async start(workflow: WorkflowLike | string, input?: unknown, options?: WorkflowStartOptions): Promise<WorkflowRun> {
    const typed = typeof workflow === 'string' ? undefined : this.service.registry.workflow(workflow);
    const name = typed ?? (workflow as string);
    try {
      const id = await this.service.startInstance(name, textOfValue(input, 'the input of the workflow'), options);
      return new WorkflowRun(this.service, id, typed);
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * An instance that exists, by its ID: to wait for its result, or to steer it. Nothing is read before a method of the
   * run is called. The workflow provides the types; a run of an instance of another workflow rejects.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_INVALID` for an ID that is not a string.
   * @example
   * ```ts
   * const checkout = defineWorkflow('checkout', async (_ctx, order: { id: string }) => `receipt of ${order.id}`);
   * const receipt = await sidecar.workflows.run(checkout, 'order-1').result({ timeout: 60_000 });
   * console.log(receipt);
   * ```
   */
  run<Input, Output, Status>(
    workflow: WorkflowLike<Input, Output, Status>,
    instanceId: string,
  ): WorkflowRun<Jsonify<Input>, Jsonify<Output>, Jsonify<Status>>;
  /** An instance of any workflow. */
  run(instanceId: string): WorkflowRun;
  run(first: WorkflowLike | string, instanceId?: string): WorkflowRun {
    // In JavaScript an ID may be missing: then what is there is no ID, and the error says so.
    if (instanceId === undefined) return new WorkflowRun(this.service, first as string, undefined);
    return new WorkflowRun(this.service, instanceId, this.service.registry.nameOfWorkflow(first as WorkflowLike));
  }

  /**
   * The instance of an ID; `undefined` when it does not exist.
   *
   * @example
   * ```ts
   * const state = await sidecar.workflows.get('order-1');
   * if (state?.status === 'COMPLETED') console.log(state.output);
   * ```
   */
  async get(instanceId: string): Promise<WorkflowState | undefined> {
    const view = await this.service.find(instanceId);
    return view && stateOf(view);
  }

  /**
   * Gives an event to an instance. Events wait for the workflow as the workflow waits for them, in order.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_INVALID_DATA` for data that do not fit the schema of the event.
   * For an instance that is over nothing happens.
   * @example
   * ```ts
   * const approved = defineEvent<{ by: string }>('approved');
   * await sidecar.workflows.raiseEvent('order-1', approved, { by: 'Ada' });
   * ```
   */
  raiseEvent<Data>(
    instanceId: string,
    event: EventDefinition<Data, unknown>,
    ...data: EventData<NoInfer<Data>>
  ): Promise<void>;
  /** Gives the event of a name to an instance. */
  raiseEvent(instanceId: string, event: string, data?: unknown): Promise<void>;
  async raiseEvent(instanceId: string, event: EventOrName, data?: unknown): Promise<void> {
    return this.service.raiseEvent(instanceId, nameOfEvent(event), await textOfEvent(event, data));
  }

  /**
   * Cancels an instance, and the children that it has not waited for to the end: everything that its code waits for rejects
   * with {@link CanceledError}, so that `catch` and `finally` run; the call of a child rejects once the child is over. Calls
   * that the code makes from then on are made as always, those that undo what was done. The instance is `CANCELED` when the
   * code ends with that error; code that returns has completed, and code that throws another error has failed. Signals of
   * activities under way fire, and their results are not used.
   *
   * An instance that has not begun ends without running. One that is paused goes on when it is resumed. A second
   * cancellation has no effect, nor has one of an instance that is over: {@link Workflows.terminate} ends code that does
   * not come to its end.
   *
   * @returns whether there is such an instance
   * @throws SidecarError `ERR_CANCEL_WORKFLOW` when the store fails.
   * @example
   * ```ts
   * await sidecar.workflows.cancel('order-1');
   * ```
   */
  cancel(instanceId: string): Promise<boolean> {
    return ifThere(this.service.cancel(instanceId));
  }

  /**
   * Ends an instance and its children at once, wherever they are: no code of theirs runs any more. Activities
   * under way are notified by their signal.
   *
   * @returns whether there is such an instance
   * @example
   * ```ts
   * await sidecar.workflows.terminate('order-1');
   * ```
   */
  async terminate(instanceId: string, output?: unknown): Promise<boolean> {
    return ifThere(this.service.terminate(instanceId, textOfValue(output, 'the output')));
  }

  /**
   * Suspends an instance: what comes for it waits until it is resumed.
   *
   * @returns whether there is such an instance
   * @example
   * ```ts
   * await sidecar.workflows.pause('order-1');
   * ```
   */
  pause(instanceId: string): Promise<boolean> {
    return ifThere(this.service.pause(instanceId));
  }

  /**
   * Resumes an instance.
   *
   * @returns whether there is such an instance
   * @example
   * ```ts
   * await sidecar.workflows.resume('order-1');
   * ```
   */
  resume(instanceId: string): Promise<boolean> {
    return ifThere(this.service.resume(instanceId));
  }

  /**
   * Removes an instance that is over, and its children.
   *
   * @returns whether there was such an instance
   * @throws SidecarError `ERR_PURGE_WORKFLOW` when it or a child is not over.
   * @example
   * ```ts
   * await sidecar.workflows.purge('order-1'); // it has finished
   * ```
   */
  purge(instanceId: string): Promise<boolean> {
    return this.service.purgeIfThere(instanceId);
  }

  /**
   * Runs an instance that is over again, as a new instance with an ID of its own: from the start, or with the beginning
   * of the history of the first one. When this resolves the start is kept, as with `start`. The first instance stays as it is.
   *
   * From the failure, or from an action, the new instance has the turns before it: what has completed there is not done
   * again, and gives the same results, as do the pseudo-random values of the code. Actions that have not completed begin
   * again, timers go on, and events that came later come again. The code must still match that part of the history.
   *
   * An instance that has continued as new runs again from its last run.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_INVALID_ARGUMENT` for an instance that has not failed or has no such
   * action, and for an input that is not for the start; `ERR_START_WORKFLOW` of status 409 when the instance is not over,
   * a child had not completed there, or the new ID is in use; 500 when the store fails.
   * @example
   * ```ts
   * await sidecar.workflows.rerun('order-1', { from: 'failure' });
   * ```
   */
  async rerun(instanceId: string, options: WorkflowRerunOptions = {}): Promise<WorkflowRun> {
    return new WorkflowRun(this.service, await this.service.rerun(instanceId, options), undefined);
  }

  /**
   * Instances in the order of their IDs, for `for await`; without their inputs.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for options that cannot be understood; with the first instance.
   * @example
   * ```ts
   * for await (const { instanceId, failure } of sidecar.workflows.list({ status: 'FAILED' }))
   *   console.log(instanceId, failure?.message);
   * ```
   */
  list(options: Omit<WorkflowListOptions, 'cursor' | 'limit'> = {}): AsyncIterable<WorkflowState> {
    return eachOf(async (cursor) => {
      checkOptions('options of list', options, EACH_FIELDS, invalidArgument);
      const page = await this.listPage({ ...options, cursor });
      return { items: page.instances, cursor: page.cursor };
    });
  }

  /**
   * A part of the instances, as {@link Workflows.list} lists them.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for options that cannot be understood.
   * @example
   * ```ts
   * const { instances, cursor } = await sidecar.workflows.listPage({ status: 'FAILED', reverse: true, limit: 10 });
   * ```
   */
  listPage(options: WorkflowListOptions = {}): Promise<WorkflowPage> {
    return this.service.list(options);
  }

  /**
   * The history of an instance since it last continued as new.
   *
   * @example
   * ```ts
   * for (const event of await sidecar.workflows.history('order-1')) console.log(event.type);
   * ```
   */
  history(instanceId: string): Promise<readonly WorkflowHistoryEvent[]> {
    return this.service.history(instanceId);
  }
}

/** Whether there was such an instance. */
async function ifThere(change: Promise<void>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (isApiError(error) && error.code === 'ERR_INSTANCE_ID_NOT_FOUND') return false;
    throw error;
  }
}
