import { isError } from '../../../errors.ts';
import { setImmediate } from '../../../util/timers.ts';

type OnUnhandled = (reason: unknown) => void;

/** How deep a reason may have the error of a task as its cause. */
const MAX_CAUSES = 5;

/**
 * Reports to runs the errors of their tasks that no code has handled: those of branches that no code waits for. Node
 * would end the process, and again after each start.
 *
 * Node reports them at the end of a turn of the event loop, so a turn of an instance that may have such an error ends
 * with that. Only for that time there is a listener; errors that are not a workflow's are left to Node.
 */
class BranchFailures {
  readonly #owners = new WeakMap<object, OnUnhandled>();
  #waiting: (() => void)[] = [];
  #others: unknown[] = [];

  /** An error is thrown into workflow code. `onUnhandled` gets it, or the one of which it is a cause, if no code handles it. */
  thrown(error: object, onUnhandled: OnUnhandled): void {
    this.#owners.set(error, onUnhandled);
  }

  /** Calls back once all errors that no code has handled so far are reported. */
  onTold(listener: () => void): void {
    if (this.#waiting.push(listener) > 1) return;
    process.prependListener('unhandledRejection', this.#onRejection);
    setImmediate(this.#end);
  }

  readonly #onRejection = (reason: unknown): void => {
    const owner = this.#ownerOf(reason, MAX_CAUSES);
    if (owner !== undefined) owner(reason);
    else if (process.listenerCount('unhandledRejection') === 1) this.#others.push(reason);
  };

  #ownerOf(reason: unknown, causes: number): OnUnhandled | undefined {
    if (!isError(reason)) return undefined;
    const owner = this.#owners.get(reason);
    if (owner !== undefined || causes === 0) return owner;
    const { cause, errors }: { readonly cause?: unknown; readonly errors?: unknown } = reason;
    // Promise.any rejects with all errors.
    const [first = undefined]: readonly unknown[] = Array.isArray(errors) ? errors : [];
    return this.#ownerOf(cause, causes - 1) ?? this.#ownerOf(first, causes - 1);
  }

  readonly #end = (): void => {
    process.off('unhandledRejection', this.#onRejection);
    const [waiting, others] = [this.#waiting, this.#others];
    [this.#waiting, this.#others] = [[], []];
    // Without the listener, they are what they would have been.
    for (const reason of others) void Promise.reject(reason);
    for (const listener of waiting) listener();
  };
}

export type { BranchFailures };

/** Per process, as unhandled rejections are. */
export const branchFailures: BranchFailures = new BranchFailures();
