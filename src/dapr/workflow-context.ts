import { checkInstanceId } from '../blocks/workflow/model/instance-id.ts';
import { textOfValue } from '../blocks/workflow/model/payload.ts';
import type { Task as CoreTask, Execution } from '../blocks/workflow/replay/execution.ts';
import { LAST_INSTANT } from '../util/clock.ts';
import { activityFunction } from './activity-function.ts';
import type { Names } from './names.ts';
import { type RetryPolicy, taskRetryOfPolicy } from './retry-policy.ts';
import { Task, WhenAllTask, WhenAnyTask } from './task.ts';
import { SingleSource } from './task-sources.ts';
import type { TInput, TOutput, TWorkflow, TWorkflowActivity } from './types.ts';

/** Options of a call to an activity or child workflow. @public */
export interface CallOptions {
  /** The retry policy. Default: one attempt. */
  readonly retryPolicy?: RetryPolicy | undefined;
}

/** Options of waiting for an event. Not in Dapr's SDK. @public */
export interface WaitOptions {
  /** Milliseconds after which the task fails with `EventTimeoutError`. Default: never. */
  readonly timeoutMs?: number | undefined;
}

/**
 * The operations of a workflow. Wait for its tasks with `yield`.
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

  /** The time of the current turn: use it instead of `new Date()`. */
  getCurrentUtcDateTime(): Date {
    return new Date(this.#execution.now);
  }

  /** Whether the code is replaying its history. */
  isReplaying(): boolean {
    return this.#execution.isReplaying;
  }

  /** A timer until an instant, or for a number of seconds. Never fires early. */
  createTimer(fireAt: Date | number): Task<TOutput> {
    const dueAt = typeof fireAt === 'number' ? this.#execution.now + fireAt * 1000 : fireAt.getTime();
    return single(this.#execution.createTimer(checkInstant(dueAt, fireAt, 'a Date or seconds')));
  }

  /** Runs an activity: at least once, even if no code waits for it. */
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
        retry: taskRetryOfPolicy(options.retryPolicy),
        ...(typeof activity === 'string' ? undefined : { run: activityFunction(activity) }),
      }),
    );
  }

  /** Runs a child workflow. Without an ID it gets one that is the same in every replay. */
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
        retry: taskRetryOfPolicy(options.retryPolicy),
      }),
    );
  }

  /**
   * Same as {@link WorkflowContext.callChildWorkflow}.
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

  /** Waits for an event. Names are case-insensitive; events received earlier are delivered in order. */
  waitForExternalEvent(name: string, options: WaitOptions = {}): Task<TOutput> {
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) checkInstant(this.#execution.now + timeoutMs, timeoutMs, 'milliseconds');
    return single(this.#execution.waitForEvent(name, timeoutMs));
  }

  /**
   * Ends this run and starts again with another input and an empty history. Later calls of this run have no effect.
   *
   * @param saveEvents - whether to keep events that no code has received yet
   */
  continueAsNew(newInput: TInput, saveEvents: boolean): void {
    this.#execution.continueAsNew(textOfValue(newInput, 'the new input'), saveEvents);
    this.#hasEnded = true;
  }

  /** Sets a status for readers of the instance. At most 64 KiB. */
  setCustomStatus(status: string): void {
    if (typeof status !== 'string' || status.length > MAX_STATUS_LENGTH)
      throw new TypeError(`the custom status must be a string of at most ${MAX_STATUS_LENGTH} characters`);
    this.#execution.setCustomStatus(status);
  }

  /** Completes when all tasks have, at once if there are none; fails as soon as one fails. */
  whenAll<T>(tasks: Task<T>[]): WhenAllTask<T> {
    return new WhenAllTask(tasks);
  }

  /** Completes when the first task completes or fails: `const winner = yield ctx.whenAny([a, b])`. */
  whenAny(tasks: Task<TOutput>[]): WhenAnyTask {
    return new WhenAnyTask(tasks);
  }

  /** A UUID that is the same in every replay. Not in Dapr's SDK. */
  newGuid(): string {
    return this.#execution.newUuid();
  }

  /**
   * Whether this instance runs patched code: false if its history passed this point before the patch. Not in Dapr's
   * SDK.
   */
  isPatched(patch: string): boolean {
    return this.#execution.isPatched(patch);
  }

  /** Whether the instance was continued as new: its code is not run any further. @internal */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }
}

const MAX_STATUS_LENGTH = 64 * 1024;

function checkInstant(at: number, given: unknown, expected: string): number {
  if (Math.abs(at) <= LAST_INSTANT) return Math.ceil(at);
  throw new TypeError(`${String(given)} is not a time to wait: expected ${expected}`);
}

function single<T>(task: CoreTask): Task<T> {
  return new Task(new SingleSource<T>(task));
}
