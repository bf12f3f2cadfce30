import { EventEmitter, getMaxListeners, setMaxListeners } from 'node:events';
import { Linked } from './linked.ts';
import { outside } from './outside.ts';

/**
 * Cancels a call whose caller has left or stopped waiting. Replaces AbortSignal: a signal with a listener takes as long
 * as the rest of a small in-process call.
 */
export interface CancelToken {
  readonly aborted: boolean;
  /** The reason, for `throw`. */
  readonly reason: unknown;
  /** Calls back once on cancellation; call the result to unsubscribe. */
  onAbort(listener: () => void): () => void;
}

/** A token that is never cancelled. */
export const NEVER: CancelToken = { aborted: false, reason: undefined, onAbort: () => () => undefined };

/** A token that is cancelled by a call to `abort`. */
export class CancelSource implements CancelToken {
  readonly #listeners = new Linked<() => void>();
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  onAbort(listener: () => void): () => void {
    const link = this.#listeners.add(listener);
    return () => void this.#listeners.delete(link);
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners.take()) listener();
  }
}

export function cancelTokenOfSignal(signal: AbortSignal): CancelToken {
  return {
    get aborted() {
      return signal.aborted;
    },
    get reason() {
      return signal.reason as unknown;
    },
    onAbort: (listener) => {
      allowManyListeners(signal);
      signal.addEventListener('abort', listener, { once: true });
      return () => signal.removeEventListener('abort', listener);
    },
  };
}

/**
 * Many calls may wait for one signal, such as that of a stop, or one of the user's: each takes its listener away in the
 * end, so Node shall not warn of a leak. A limit that the user has set stays.
 */
function allowManyListeners(signal: AbortSignal): void {
  try {
    if (getMaxListeners(signal) === EventEmitter.defaultMaxListeners) setMaxListeners(0, signal);
  } catch {
    // A signal of another implementation, such as jsdom's, has no limit.
  }
}

export function signalOfCancelToken(cancelToken: CancelToken): AbortSignal {
  const controller = new AbortController();
  cancelWith(controller, cancelToken);
  return controller.signal;
}

/** Waits for something that cannot be cancelled, until the token is. */
export function unlessAborted<T>(work: Promise<T>, token: CancelToken): Promise<T> {
  return new Promise((resolve, reject) => {
    const unsubscribe = token.onAbort(() => reject(token.reason));
    // Also for a token that is cancelled already: a failure without a listener would end the process.
    work.then(resolve, reject).finally(unsubscribe);
    if (token.aborted) reject(token.reason);
  });
}

/**
 * Cancels `target` with the token, at once if that is already cancelled; call the result to unsubscribe. The user's
 * code may listen to a signal of it: it is called outside of the context of the code that cancels.
 */
export function cancelWith(target: { abort(reason: unknown): void }, token: CancelToken): () => void {
  if (token.aborted) target.abort(token.reason);
  return token.onAbort(() => outside(() => target.abort(token.reason)));
}
