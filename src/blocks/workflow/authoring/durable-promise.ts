import { EventTimeoutError, isTimeout, TaskFailedError } from '../model/failure.ts';
import { valueOfText } from '../model/payload.ts';
import type { Task } from '../replay/execution.ts';

/**
 * A task as a promise. It subscribes to the task only when code waits for it. So a failed task that no code waits for
 * causes no unhandled rejection, and the engine knows which tasks the code waits for.
 */
export class DurablePromise<T> extends Promise<T> {
  /** Promises derived from it are plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Subscribes to the task, once. */
  #listen: (() => void) | undefined;

  constructor(task: Task) {
    let listen: (() => void) | undefined;
    super((resolve, reject) => {
      listen = () =>
        task.onSettled(() => {
          // Only the caller knows the type of an activity's result.
          if (task.state === 'completed') resolve(valueOfText(task.value) as T);
          else reject(errorOf(task));
        });
    });
    this.#listen = listen;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const listen = this.#listen;
    this.#listen = undefined;
    listen?.();
    return super.then(onFulfilled, onRejected);
  }
}

function errorOf({ what, sequence, failure }: Task): TaskFailedError {
  const known = failure ?? { errorType: 'Error', message: 'unknown' };
  return isTimeout(sequence, known) ? new EventTimeoutError(what, known) : new TaskFailedError(what, known);
}
