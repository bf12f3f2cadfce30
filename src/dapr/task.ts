import type { TaskFailedError } from './task-failed-error.ts';
import { AllSource, AnySource, type TaskSource } from './task-sources.ts';

/**
 * A task that a workflow has started and can wait for: `const result = yield task`.
 *
 * @public
 */
export class Task<T> {
  readonly #source: TaskSource<T>;
  /** The last group that contains this task. */
  #group: Task<unknown> | undefined;
  /** Whether the workflow has yielded this task. @internal */
  isAwaited = false;

  /** Made by a {@link WorkflowContext}. @internal */
  constructor(source: TaskSource<T>, members: readonly Task<unknown>[] = []) {
    this.#source = source;
    for (const member of members) member.#group = this;
  }

  /** Whether the task has completed or failed. */
  get isComplete(): boolean {
    const { isComplete } = this.#source;
    if (isComplete) this.#source.noteSeen();
    return isComplete;
  }

  /** Whether the task has failed. */
  get isFailed(): boolean {
    return this.#source.isFailed;
  }

  /**
   * The result of the task.
   *
   * @throws TaskFailedError if the task has failed; Error if it is not complete.
   */
  getResult(): T {
    const { what, isComplete, isFailed } = this.#source;
    if (!isComplete) throw new Error(`${what} is not complete: yield it before its result is read${this.#hint()}`);
    if (isFailed) throw this.#source.error();
    return this.#source.value();
  }

  /**
   * The failure of the task.
   *
   * @throws Error if the task has not failed.
   */
  getException(): TaskFailedError {
    if (!this.isFailed) throw new Error(`${this.#source.what} has not failed: look at isFailed first`);
    return this.#source.error();
  }

  /** The source of the task's state and result. @internal */
  get source(): TaskSource<T> {
    return this.#source;
  }

  /** The usual reason for reading a result too early is a missing `yield` before `whenAny`. */
  #hint(): string {
    const group = this.#group;
    if (group === undefined || group.isAwaited) return '';
    return `. It is part of a ${group.#source.what} that was never yielded`;
  }
}

/** Completes with all results in order when all tasks have; fails as soon as one of them fails. @public */
export class WhenAllTask<T> extends Task<T[]> {
  /** Made by {@link WorkflowContext.whenAll}. @internal */
  constructor(tasks: readonly Task<T>[]) {
    super(new AllSource(tasks.map(({ source }) => source)), tasks);
  }
}

/** Completes when the first of its tasks completes or fails, with that task as the result. @public */
// biome-ignore lint/suspicious/noExplicitAny: programs for Dapr's SDK compare the result with tasks of any type
export class WhenAnyTask extends Task<Task<any>> {
  /** Made by {@link WorkflowContext.whenAny}. @internal */
  constructor(tasks: readonly Task<unknown>[]) {
    if (tasks.length === 0) throw new Error('whenAny of no tasks would never complete: expected at least one task');
    super(new AnySource(tasks.map((task) => ({ task, source: task.source }))), tasks);
  }
}
