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

/** Max calls and characters per batch, and max concurrent batches. */
const MAX_CALLS = 128;
export const MAX_LENGTH: number = 512 * 1024;
const MAX_BATCHES = 4;

// Captured at load time, because tests replace the global function with fake timers.
const { setImmediate } = globalThis;

interface Pending {
  readonly call: ForwardedCall;
  readonly length: number;
  readonly resolve: (outcome: CallOutcome) => void;
}

/**
 * Batches the calls to one host: calls of one event loop tick are sent together, and later calls wait while too many
 * batches are in flight. Calls for one instance keep their order.
 */
export class HostLane {
  readonly peer: HostPeer;
  readonly #clock: Clock;
  #waiting: Pending[] = [];
  #answered: string[] = [];
  /** Instances with calls in flight. */
  readonly #busy = new Set<string>();
  #batches = 0;
  #isScheduled = false;
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
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#flush();
      });
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

  #flush(): void {
    while (this.#batches < MAX_BATCHES) {
      const batch = this.#take();
      if (batch.length === 0) return;
      void this.#deliver(batch);
    }
  }

  #take(): readonly Pending[] {
    const batch: Pending[] = [];
    const rest: Pending[] = [];
    let length = 0;
    for (const one of this.#waiting) {
      const isFull = batch.length >= MAX_CALLS || (batch.length > 0 && length + one.length > MAX_LENGTH);
      // A call to a busy instance delays only later calls to the same instance.
      if (isFull || this.#busy.has(one.call.instanceId)) rest.push(one);
      else {
        batch.push(one);
        length += one.length;
      }
      if (isFull) length = Number.POSITIVE_INFINITY;
    }
    this.#waiting = rest;
    for (const { call } of batch) this.#busy.add(call.instanceId);
    return batch;
  }

  async #deliver(batch: readonly Pending[]): Promise<void> {
    this.#batches++;
    const outcomes = await this.#outcomesOf({
      calls: batch.map(({ call }) => call),
      answered: this.#answered.splice(0),
    });
    this.#batches--;
    batch.forEach(({ call, resolve }, index) => {
      this.#busy.delete(call.instanceId);
      const outcome = outcomes[index] ?? UNSURE;
      if (outcome.is === 'done') this.#answered.push(call.key);
      resolve(outcome);
    });
    this.#flush();
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
