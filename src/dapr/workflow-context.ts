import { checkInstanceId } from '../blocks/workflow/model/instance-id.ts';
import { textOfValue } from '../blocks/workflow/model/payload.ts';
import type { Task as CoreTask, Execution } from '../blocks/workflow/replay/execution.ts';
import { activityFunction } from './activity-function.ts';
import type { Names } from './names.ts';
import { corePolicyOf, type RetryPolicy } from './retry-policy.ts';
import { Task, WhenAllTask, WhenAnyTask } from './task.ts';
import { SingleSource } from './task-sources.ts';
import type { TInput, TOutput, TWorkflow, TWorkflowActivity } from './types.ts';

/** How a call is repeated. @public */
export interface CallOptions {
  /** Default: one attempt. */
  readonly retryPolicy?: RetryPolicy;
}

/** How long an event is waited for. Dapr's SDK does not have it. @public */
export interface WaitOptions {
  /** After so many milliseconds the task fails with `EventTimeoutError`. Default: never. */
  readonly timeoutMs?: number;
}

/**
 * What a workflow has in hand. Its tasks are waited for with `yield`.
 *
 * @public
 */
export class WorkflowContext {
  readonly #execution: Execution;
  readonly #names: Names;
  #hasEnded = false;

  /** Made by the runtime. @internal */
  constructor(execution: Execution, names: Names) {
    this.#execution = execution;
    this.#names = names;
  }

  /** The ID of this instance. */
  getWorkflowInstanceId(): string {
    return this.#execution.instanceId;
  }

  /** The instant of the present turn: use it in place of `new Date()`. */
  getCurrentUtcDateTime(): Date {
    return new Date(this.#execution.now);
  }

  /** The code is being run again over what has happened already. */
  isReplaying(): boolean {
    return this.#execution.isReplaying;
  }

  /** A timer: until an instant, or so many seconds from now. Never early. */
  createTimer(fireAt: Date | number): Task<TOutput> {
    const dueAt = typeof fireAt === 'number' ? this.#execution.now + fireAt * 1000 : fireAt.getTime();
    return single(this.#execution.createTimer(checkInstant(dueAt, fireAt, 'a Date or seconds')));
  }

  /** Runs an activity: at least once, also when nobody waits for it. */
  callActivity<TInput, TOutput>(
    activity: TWorkflowActivity<TInput, TOutput> | string,
    input?: TInput,
    options: CallOptions = {},
  ): Task<Awaited<TOutput>> {
    const name = this.#names.of('activity', activity);
    return single(
      this.#execution.callActivity({
        name,
        input: textOfValue(input, `the input of activity ${name}`),
        retry: corePolicyOf(options.retryPolicy),
        ...(typeof activity === 'string' ? undefined : { run: activityFunction(activity) }),
      }),
    );
  }

  /** Runs a workflow as a child. Without an ID it gets one that is the same in every replay. */
  callChildWorkflow<TInput, TOutput>(
    orchestrator: TWorkflow | string,
    input?: TInput,
    instanceId?: string,
    options: CallOptions = {},
  ): Task<TOutput> {
    const name = this.#names.of('workflow', orchestrator);
    if (instanceId !== undefined) checkInstanceId(instanceId);
    return single(
      this.#execution.callChild({
        name,
        input: textOfValue(input, `the input of workflow ${name}`),
        instanceId,
        retry: corePolicyOf(options.retryPolicy),
      }),
    );
  }

  /**
   * The same as {@link WorkflowContext.callChildWorkflow}.
   *
   * @deprecated its name in earlier releases of Dapr's SDK
   */
  callSubWorkflow<TInput, TOutput>(
    orchestrator: TWorkflow | string,
    input?: TInput,
    instanceId?: string,
  ): Task<TOutput> {
    return this.callChildWorkflow(orchestrator, input, instanceId);
  }

  /** Waits for an event. Names match in any case; events that came early are handed out in order. */
  waitForExternalEvent(name: string, options: WaitOptions = {}): Task<TOutput> {
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) checkInstant(this.#execution.now + timeoutMs, timeoutMs, 'milliseconds');
    return single(this.#execution.waitForEvent(name, timeoutMs));
  }

  /**
   * Ends this run and begins anew with another input and an empty history. What the code does after it is without
   * effect.
   *
   * @param saveEvents - whether events that no code has waited for yet go along
   */
  continueAsNew(newInput: TInput, saveEvents: boolean): void {
    this.#execution.continueAsNew(textOfValue(newInput, 'the new input'), saveEvents);
    this.#hasEnded = true;
  }

  /** Tells what the workflow is at, for those who look at the instance. At most 64 KiB. */
  setCustomStatus(status: string): void {
    if (typeof status !== 'string' || status.length > MAX_STATUS_LENGTH)
      throw new TypeError(`the custom status must be a string of at most ${MAX_STATUS_LENGTH} characters`);
    this.#execution.setCustomStatus(status);
  }

  /** Complete when all tasks are; failed as soon as one is. Of no tasks: complete. */
  whenAll<T>(tasks: Task<T>[]): WhenAllTask<T> {
    return new WhenAllTask(tasks);
  }

  /** Complete when the first task is, failed or not: `const winner = yield ctx.whenAny([a, b])`. */
  whenAny(tasks: Task<TOutput>[]): WhenAnyTask {
    return new WhenAnyTask(tasks);
  }

  /** A UUID that is the same in every replay. Dapr's SDK does not have it. */
  newGuid(): string {
    return this.#execution.newUuid();
  }

  /**
   * Whether this instance runs code that has the patch: false when its history passed this place before. Dapr's SDK
   * does not have it.
   */
  isPatched(patch: string): boolean {
    return this.#execution.isPatched(patch);
  }

  /** It was continued as new: its code is left where it stands. @internal */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }
}

const MAX_STATUS_LENGTH = 64 * 1024;
/** The latest instant of a Date. */
const LAST_INSTANT = 8.64e15;

function checkInstant(at: number, given: unknown, expected: string): number {
  if (Math.abs(at) <= LAST_INSTANT) return Math.ceil(at);
  throw new TypeError(`${String(given)} is no time to wait: expected ${expected}`);
}

function single<T>(task: CoreTask): Task<T> {
  return new Task(new SingleSource<T>(task));
}
