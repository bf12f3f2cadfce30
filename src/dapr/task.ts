import type { TaskFailedError } from './task-failed-error.ts';
import { AllSource, AnySource, type TaskSource } from './task-sources.ts';

/**
 * Something that a workflow has begun and can wait for: `const result = yield task`.
 *
 * @public
 */
export class Task<T> {
  readonly #source: TaskSource<T>;
  /** The last one that it is part of. */
  #group: Task<unknown> | undefined;
  /** Somebody has waited for it. @internal */
  isAwaited = false;

  /** Made by a {@link WorkflowContext}. @internal */
  constructor(source: TaskSource<T>, members: readonly Task<unknown>[] = []) {
    this.#source = source;
    for (const member of members) member.#group = this;
  }

  /** Whether it has come to its end, good or bad. */
  get isComplete(): boolean {
    return this.#source.isComplete;
  }

  /** Whether it has failed. */
  get isFailed(): boolean {
    return this.#source.isFailed;
  }

  /**
   * Its result.
   *
   * @throws TaskFailedError when it has failed; Error when it is not complete.
   */
  getResult(): T {
    const { what, isComplete, isFailed } = this.#source;
    if (!isComplete) throw new Error(`${what} is not complete: yield it before its result is read${this.#hint()}`);
    if (isFailed) throw this.#source.error();
    return this.#source.value();
  }

  /**
   * Why it has failed.
   *
   * @throws Error when it has not.
   */
  getException(): TaskFailedError {
    if (!this.isFailed) throw new Error(`${this.#source.what} has not failed: look at isFailed first`);
    return this.#source.error();
  }

  /** Where it has its end from. @internal */
  get source(): TaskSource<T> {
    return this.#source;
  }

  /** A `yield` that was left out before `whenAny` is the usual reason for reading a result too early. */
  #hint(): string {
    const group = this.#group;
    if (group === undefined || group.isAwaited) return '';
    return `. It is part of a ${group.#source.what} that was never yielded`;
  }
}

/** Complete when all of its tasks are, with their results in order; failed as soon as one of them is. @public */
export class WhenAllTask<T> extends Task<T[]> {
  /** Made by {@link WorkflowContext.whenAll}. @internal */
  constructor(tasks: readonly Task<T>[]) {
    super(new AllSource(tasks.map(({ source }) => source)), tasks);
  }
}

/** Complete when the first of its tasks is, failed or not, with that task as its result. @public */
// biome-ignore lint/suspicious/noExplicitAny: programs for Dapr's SDK compare the result with tasks of any type
export class WhenAnyTask extends Task<Task<any>> {
  /** Made by {@link WorkflowContext.whenAny}. @internal */
  constructor(tasks: readonly Task<unknown>[]) {
    if (tasks.length === 0) throw new Error('whenAny of no tasks would never complete: expected at least one task');
    super(new AnySource(tasks.map((task) => ({ task, source: task.source }))), tasks);
  }
}
