import { Linked } from './linked.ts';

/**
 * The news that a caller has gone or waits no longer, for those who hear it without an AbortSignal: one of those, with
 * its listener, takes as long as all the rest of a small call in this process.
 */
export interface Abortion {
  readonly aborted: boolean;
  /** Why; for `throw`. */
  readonly reason: unknown;
  /** Calls back once, when it comes; call what it returns to hear no more. */
  onAbort(listener: () => void): () => void;
}

/** It never comes. */
export const NEVER: Abortion = { aborted: false, reason: undefined, onAbort: () => () => undefined };

/** One that is brought about by hand. */
export class Cancellation implements Abortion {
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

/** An AbortSignal as news. */
export function abortionOfSignal(signal: AbortSignal): Abortion {
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

/** News as an AbortSignal. */
export function signalOfAbortion(abortion: Abortion): AbortSignal {
  const controller = new AbortController();
  if (abortion.aborted) controller.abort(abortion.reason);
  else abortion.onAbort(() => controller.abort(abortion.reason));
  return controller.signal;
}
