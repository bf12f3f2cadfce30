import type { CircuitBreaker, Ending, Pass } from '../../../resiliency/breaker.ts';
import type { Clock, Timer } from '../../../util/clock.ts';
import { Deque } from '../../../util/deque.ts';

/** The pass of a gate without a breaker. */
const FREE: Pass = 0;

/**
 * Deliveries wait here, in order, while the circuit breaker lets none through or the application is away. They keep
 * their places in flight, so that the component hands out no more than those, and no attempt is counted for them.
 */
export class Gate {
  readonly #breaker: CircuitBreaker | undefined;
  readonly #clock: Clock;
  readonly #isShut: () => boolean;
  readonly #waiting = new Deque<(pass: Pass) => void>();
  #isClosed = false;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;

  /** @param isShut - lets no message in while it answers true; call {@link Gate.letIn} when that has changed */
  constructor(breaker: CircuitBreaker | undefined, clock: Clock, isShut: () => boolean) {
    this.#breaker = breaker;
    this.#clock = clock;
    this.#isShut = isShut;
  }

  /** Lets a delivery through, now or not at all. */
  tryEnter(): Pass | undefined {
    return this.#waiting.length > 0 ? undefined : this.#pass();
  }

  /** Calls back when the delivery may enter; never if the gate is closed first. */
  wait(enter: (pass: Pass) => void): void {
    this.#waiting.push(enter);
    this.letIn();
  }

  /** The delivery has ended. If it was not sent, it is abandoned. */
  leave(pass: Pass, ending: Ending): void {
    this.#breaker?.leave(pass, ending);
  }

  /** Lets nothing in any more, and forgets those that wait. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch();
  }

  #pass(): Pass | undefined {
    if (this.#isClosed || this.#isShut()) return undefined;
    if (this.#breaker === undefined) return FREE;
    return this.#breaker.isFree ? this.#breaker.enter() : undefined;
  }

  /** Lets waiting deliveries in, as far as they may enter now. */
  letIn(): void {
    this.#unwatch();
    for (let pass = this.#next(); pass !== undefined; pass = this.#next()) this.#waiting.shift()?.(pass);
    if (this.#waiting.length > 0) this.#watch();
  }

  #next(): Pass | undefined {
    return this.#waiting.length === 0 ? undefined : this.#pass();
  }

  /** Only while deliveries wait: a breaker outlives its subscriptions. */
  #watch(): void {
    const breaker = this.#breaker;
    if (breaker === undefined || this.#isClosed || this.#isShut()) return;
    // Not while the breaker is still calling its listeners.
    this.#unsubscribe = breaker.onChange(() => queueMicrotask(() => this.letIn()));
    const { remainingMs } = breaker;
    if (Number.isFinite(remainingMs)) this.#timer = this.#clock.setTimeout(() => this.letIn(), remainingMs);
  }

  #unwatch(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
