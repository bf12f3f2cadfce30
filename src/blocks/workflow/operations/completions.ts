import { SidecarError } from '../../../errors.ts';
import { cancelTokenOfSignal } from '../../../util/cancel-token.ts';
import type { Clock, Timer } from '../../../util/clock.ts';
import { type Duration, msOf } from '../../../util/duration.ts';
import { duration } from '../../../util/duration-option.ts';
import { checkOptions, invalidArgument, type OptionFields, SIGNAL } from '../../../util/option-fields.ts';
import type { InstanceView } from '../model/instance.ts';

/** Options of waiting for an instance. @public */
export interface WorkflowWaitOptions {
  /** How long to wait. Default: no limit. */
  readonly timeout?: Duration | undefined;
  /** Cancels the wait. */
  readonly signal?: AbortSignal | undefined;
}

const WAIT_FIELDS: OptionFields<WorkflowWaitOptions> = {
  timeout: duration(),
  signal: SIGNAL,
};

/** Checks again; gets the state of the instance if it is known. */
type Look = (view?: InstanceView) => void;

/** Pending waits for a status of an instance. */
export class Completions {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<Look>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notifies waits that an instance may have finished. Calls `viewOf` only if somebody waits for the instance. */
  tell(id: string, viewOf?: () => InstanceView | undefined): void {
    const looks = this.#waiting.get(id);
    if (looks === undefined) return;
    const view = viewOf?.();
    for (const look of looks) look(view);
  }

  /** Makes all pending waits check again, since no notification will follow. */
  tellAll(): void {
    for (const id of [...this.#waiting.keys()]) this.tell(id);
  }

  /** Asks at once and after every notification, until there is an answer. */
  async wait<T>(
    id: string,
    ask: (told?: InstanceView) => T | undefined | Promise<T | undefined>,
    options: WorkflowWaitOptions,
  ): Promise<T> {
    checkOptions('options of waiting for a workflow', options, WAIT_FIELDS, invalidArgument);
    const { timeout, signal } = options;
    const timeoutMs = msOf(timeout);
    signal?.throwIfAborted();
    const line = new Line();
    const remove = this.#add(id, (view) => line.move(view));
    const timer: Timer | undefined =
      timeoutMs === undefined ? undefined : this.#clock.setTimeout(() => line.end(timedOut(id, timeoutMs)), timeoutMs);
    const unsubscribe = signal && cancelTokenOfSignal(signal).onAbort(() => line.end(signal.reason));
    try {
      for (let told: InstanceView | undefined; ; told = await line.next()) {
        const answer = ask(told);
        const asked = answer instanceof Promise ? await answer : answer;
        if (asked !== undefined) return asked;
      }
    } finally {
      timer?.cancel();
      unsubscribe?.();
      remove();
    }
  }

  #add(id: string, look: Look): () => void {
    const looks = this.#waiting.get(id) ?? new Set<Look>();
    this.#waiting.set(id, looks);
    looks.add(look);
    return () => {
      looks.delete(look);
      if (looks.size === 0 && this.#waiting.get(id) === looks) this.#waiting.delete(id);
    };
  }
}

/** A wait for the next notification, which may have come already. */
class Line {
  #hasMoved = false;
  #told: InstanceView | undefined;
  #error: { readonly reason: unknown } | undefined;
  #wake: () => void = () => undefined;

  move(view?: InstanceView): void {
    this.#told = view;
    this.#hasMoved = true;
    this.#wake();
  }

  end(reason: unknown): void {
    this.#error ??= { reason };
    this.move();
  }

  /** The last notification, if there was one. */
  async next(): Promise<InstanceView | undefined> {
    if (!this.#hasMoved)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#hasMoved = false;
    if (this.#error !== undefined) throw this.#error.reason;
    return this.#told;
  }
}

function timedOut(id: string, timeoutMs: number): SidecarError {
  return new SidecarError('ERR_WORKFLOW_TIMEOUT', `workflow ${JSON.stringify(id)} was not over within ${timeoutMs} ms`);
}
