import { CancelSource } from '../../../util/cancel-token.ts';
import type { Clock } from '../../../util/clock.ts';
import type { InstanceView } from '../model/instance.ts';
import type { ForwardedWait } from './call.ts';
import type { HostLane } from './host-lane.ts';

/** Max waits per request. */
const MAX_WAITS = 256;
/** A request that takes longer hangs: hosts end requests after 10 s. */
const MAX_QUESTION_MS = 15_000;

// Captured at load time, because tests replace the global function with fake timers.
const { setImmediate } = globalThis;

/** Gets the view of an instance, or `undefined` when it has to be read from the store. */
type Listener = (view: InstanceView | undefined) => void;

interface Waiter extends ForwardedWait {
  readonly listener: Listener;
  isGone: boolean;
}

/** Waits for instances of one host. Sends waits that start together in one request, and repeats those not answered. */
export class HostWaits {
  readonly #lane: HostLane;
  readonly #clock: Clock;
  #new: Waiter[] = [];
  readonly #ending = new CancelSource();

  constructor(lane: HostLane, clock: Clock) {
    this.#lane = lane;
    this.#clock = clock;
  }

  /** Calls back once. */
  add(wait: ForwardedWait, listener: Listener): Disposable {
    const waiter: Waiter = { ...wait, listener, isGone: false };
    this.#ask(waiter);
    return {
      [Symbol.dispose]: () => {
        waiter.isGone = true;
      },
    };
  }

  /** Sends no more requests. */
  stop(): void {
    this.#ending.abort(new Error('the sidecar is stopping'));
  }

  #ask(waiter: Waiter): void {
    this.#new.push(waiter);
    if (this.#new.length > 1) return;
    setImmediate(() => {
      const waiters = this.#new.filter(({ isGone }) => !isGone);
      this.#new = [];
      for (let at = 0; at < waiters.length; at += MAX_WAITS) void this.#askFor(waiters.slice(at, at + MAX_WAITS));
    });
  }

  async #askFor(waiters: readonly Waiter[]): Promise<void> {
    const open = new Set(waiters);
    if (this.#ending.aborted) return leaveTo(open);
    const question = new AbortController();
    const end = (): void => question.abort(new Error('the question has not ended'));
    const timer = this.#clock.setTimeout(end, MAX_QUESTION_MS);
    const unsubscribe = this.#ending.onAbort(end);
    try {
      const asked = waiters.map(({ instanceId, until }) => ({ instanceId, until }));
      for await (const answers of this.#lane.peer.wait(asked, question.signal)) {
        for (const { index, view } of answers) {
          const waiter = waiters[index];
          if (waiter !== undefined && open.delete(waiter) && !waiter.isGone) waiter.listener(view);
        }
        if ([...open].every(({ isGone }) => isGone)) break;
      }
      if (question.signal.aborted) throw question.signal.reason;
      for (const waiter of open) if (!waiter.isGone) this.#ask(waiter);
    } catch (error) {
      if (!this.#ending.aborted) this.#lane.failed(error);
      leaveTo(open);
    } finally {
      timer.cancel();
      unsubscribe();
    }
  }
}

/** Makes waiters read the store. */
function leaveTo(waiters: Iterable<Waiter>): void {
  for (const waiter of waiters) if (!waiter.isGone) waiter.listener(undefined);
}
