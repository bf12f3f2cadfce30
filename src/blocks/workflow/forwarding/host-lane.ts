import type { Clock } from '../../../util/clock.ts';
import {
  type CallBatch,
  type CallOutcome,
  CallsRefused,
  type ForwardedCall,
  type HostPeer,
  NOT_DONE,
  UNREACHABLE_MS,
  UNSURE,
} from './call.ts';
import { inTime } from './time-limit.ts';

/** Max calls and characters per batch. */
const MAX_CALLS = 128;
export const MAX_LENGTH: number = 512 * 1024;

// Captured at load time, because tests replace the global function with fake timers.
const { setImmediate } = globalThis;

interface Pending {
  readonly call: ForwardedCall;
  readonly length: number;
  readonly resolve: (outcome: CallOutcome) => void;
}

/**
 * Batches the calls to one host. One batch is in flight at a time, and the calls made meanwhile are the next one: small
 * batches cost both hosts more than the wait (with four at a time, a forwarded workflow took a fifth more CPU). Calls
 * keep their order.
 */
export class HostLane {
  readonly peer: HostPeer;
  readonly #clock: Clock;
  readonly #waiting: Pending[] = [];
  #answered: string[] = [];
  #isSending = false;
  #leftOutUntil = Number.NEGATIVE_INFINITY;

  constructor(peer: HostPeer, clock: Clock) {
    this.peer = peer;
    this.#clock = clock;
  }

  /** Whether calls to the host are not suspended. */
  get isOpen(): boolean {
    return this.#clock.now() >= this.#leftOutUntil;
  }

  /** Never rejects. */
  send(call: ForwardedCall, length: number): Promise<CallOutcome> {
    return new Promise((resolve) => {
      this.#waiting.push({ call, length, resolve });
      if (this.#isSending) return;
      this.#isSending = true;
      // Calls of one turn of the event loop go together.
      setImmediate(() => void this.#sendAll());
    });
  }

  /** A call failed: suspends calls for a while. Returns whether the host certainly did nothing. */
  failed(error: unknown): boolean {
    const isRefused = error instanceof CallsRefused;
    const forMs = isRefused ? error.forMs : UNREACHABLE_MS;
    this.#leftOutUntil = this.#clock.now() + forMs;
    if (forMs > 0) for (const { resolve } of this.#waiting.splice(0)) resolve(NOT_DONE);
    return isRefused;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#deliver(this.#take());
    this.#isSending = false;
  }

  #take(): readonly Pending[] {
    let [count, length] = [0, 0];
    for (const one of this.#waiting) {
      length += one.length;
      if (count > 0 && (count >= MAX_CALLS || length > MAX_LENGTH)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #deliver(batch: readonly Pending[]): Promise<void> {
    const outcomes = await this.#outcomesOf({
      calls: batch.map(({ call }) => call),
      answered: this.#answered.splice(0),
    });
    batch.forEach(({ call, resolve }, index) => {
      const outcome = outcomes[index] ?? UNSURE;
      if (outcome.is === 'done') this.#answered.push(call.key);
      resolve(outcome);
    });
  }

  async #outcomesOf(batch: CallBatch): Promise<readonly CallOutcome[]> {
    try {
      return await inTime(this.peer.call(batch));
    } catch (error) {
      const outcome = this.failed(error) ? NOT_DONE : UNSURE;
      return batch.calls.map(() => outcome);
    }
  }
}
