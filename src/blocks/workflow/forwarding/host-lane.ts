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

/** The most calls in one batch, their most characters, and the most batches at a time. */
const MAX_CALLS = 128;
export const MAX_LENGTH: number = 512 * 1024;
const MAX_BATCHES = 4;

// Taken when this is loaded: tests replace the global one by timers that stand still.
const { setImmediate } = globalThis;

interface Pending {
  readonly call: ForwardedCall;
  readonly length: number;
  readonly resolve: (outcome: CallOutcome) => void;
}

/**
 * The calls to one host, gathered: those of one turn of the event loop go together, and while some are under way others
 * wait for them. Calls for one instance keep their order.
 */
export class HostLane {
  readonly peer: HostPeer;
  readonly #clock: Clock;
  #waiting: Pending[] = [];
  #answered: string[] = [];
  /** Instances with calls under way. */
  readonly #busy = new Set<string>();
  #batches = 0;
  #isScheduled = false;
  #leftOutUntil = Number.NEGATIVE_INFINITY;

  constructor(peer: HostPeer, clock: Clock) {
    this.peer = peer;
    this.#clock = clock;
  }

  /** Whether there is hope that it answers. */
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

  /** It was in vain to ask: leaves it alone for a while. Answers whether nothing can have reached it. */
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
      // One that has to wait holds up those behind it only for its own instance.
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
