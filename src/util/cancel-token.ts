import type { Clock } from './clock.ts';
import { Linked } from './linked.ts';

/**
 * Cancels a call, because its caller has gone or waits no longer. In place of an AbortSignal: one of those, with its
 * listener, takes as long as all the rest of a small call in this process.
 */
export interface CancelToken {
  readonly aborted: boolean;
  /** Why; for `throw`. */
  readonly reason: unknown;
  /** Calls back once, when it is cancelled; call what it returns to unsubscribe. */
  onAbort(listener: () => void): () => void;
}

/** Is never cancelled. */
export const NEVER: CancelToken = { aborted: false, reason: undefined, onAbort: () => () => undefined };

/** A token that is cancelled by hand. */
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

/** The token of an AbortSignal. */
export function cancelTokenOfSignal(signal: AbortSignal): CancelToken {
  return {
    get aborted() {
      return signal.aborted;
    },
    get reason() {
      return signal.reason as unknown;
    },
    onAbort: (listener) => {
      signal.addEventListener('abort', listener, { once: true });
      return () => signal.removeEventListener('abort', listener);
    },
  };
}

/** The AbortSignal of a token. */
export function signalOfCancelToken(cancelToken: CancelToken): AbortSignal {
  const controller = new AbortController();
  if (cancelToken.aborted) controller.abort(cancelToken.reason);
  else cancelToken.onAbort(() => controller.abort(cancelToken.reason));
  return controller.signal;
}

/** Resolves after `delayMs`; rejects with the token's reason when that is cancelled first. */
export function pause(clock: Clock, delayMs: number, token: CancelToken): Promise<void> {
  return new Promise((resolve, reject) => {
    if (token.aborted) return reject(token.reason);
    const timer = clock.setTimeout(() => {
      unsubscribe();
      resolve();
    }, delayMs);
    const unsubscribe = token.onAbort(() => {
      timer.cancel();
      reject(token.reason);
    });
  });
}
