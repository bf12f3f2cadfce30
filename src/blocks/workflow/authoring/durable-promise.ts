import { CANCELED_TASK, CanceledError, EventTimeoutError, isTimeout, TaskFailedError } from '../model/failure.ts';
import { type Payload, valueOfText } from '../model/payload.ts';
import type { Execution, Task } from '../replay/execution.ts';
import type { Race } from './race.ts';

/**
 * A task as a promise. It subscribes to the task only when code waits for it. So a failed task that no code waits for
 * causes no unhandled rejection, and the engine knows which tasks the code waits for.
 */
export class DurablePromise<T> extends Promise<T> {
  /** Promises derived from it are plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #task: Task;
  readonly #execution: Pick<Execution, 'noteThrown'>;
  readonly #decode: (text: Payload) => unknown;
  /** Subscribes to the task, once. */
  #listen: (() => void) | undefined;

  /**
   * @param decode - makes the value of the result; may throw
   * @param race - a race in which the promise is a candidate: an event that loses it has not been seen
   */
  constructor(
    task: Task,
    execution: Pick<Execution, 'noteThrown'>,
    decode: (text: Payload) => unknown = valueOfText,
    race?: Race,
  ) {
    let listen: (() => void) | undefined;
    super((resolve, reject) => {
      listen = () =>
        task.onSettled(() => {
          if (race === undefined || race.takes(task)) task.noteSeen();
          try {
            if (task.state !== 'completed') throw errorOf(task);
            // Only the caller knows the type of an activity's result.
            resolve(decode(task.value) as T);
          } catch (error) {
            execution.noteThrown(error as Error);
            reject(error);
          }
        });
    });
    this.#listen = listen;
    this.#task = task;
    this.#execution = execution;
    this.#decode = decode;
  }

  /** The task as a candidate of a race. */
  inRace(race: Race): DurablePromise<T> {
    return new DurablePromise(this.#task, this.#execution, this.#decode, race);
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const listen = this.#listen;
    this.#listen = undefined;
    this.#task.noteWait(this.#task.sequence === 0 && isOfApplication(onFulfilled));
    listen?.();
    return super.then(onFulfilled, onRejected);
  }
}

/** Whether a function is one of the application, and none with which `await` and `Promise.race` take a result. */
function isOfApplication(callback: unknown): boolean {
  return typeof callback === 'function' && Function.prototype.toString.call(callback) !== NATIVE;
}

const NATIVE = 'function () { [native code] }';

function errorOf({ what, sequence, failure }: Task): Error {
  if (failure === CANCELED_TASK) return new CanceledError();
  const known = failure ?? { errorType: 'Error', message: 'unknown' };
  return isTimeout(sequence, known) ? new EventTimeoutError(what, known) : new TaskFailedError(what, known);
}
