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
  cancelWith(controller, cancelToken);
  return controller.signal;
}

/** Cancels `target` with the token, at once if that is cancelled already; call what it returns to unsubscribe. */
export function cancelWith(target: { abort(reason: unknown): void }, token: CancelToken): () => void {
  if (token.aborted) target.abort(token.reason);
  return token.onAbort(() => target.abort(token.reason));
}
