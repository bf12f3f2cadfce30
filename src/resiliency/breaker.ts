import { type Clock, type DualInstant, dualNow, msSince } from '../util/clock.ts';
import { PolicyError } from './policy-error.ts';

/** The state of a circuit breaker: lets everything through, nothing, or a few probing attempts. @public */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** Counts since the last change of state or the start of the interval. */
export interface Counts {
  requests: number;
  totalSuccesses: number;
  totalFailures: number;
  consecutiveSuccesses: number;
  consecutiveFailures: number;
}

/** A validated circuit breaker policy with defaults applied. */
export interface BreakerSettings {
  /** Attempts allowed while half-open; this many successes close it. */
  readonly maxRequests: number;
  /** How often the counts are reset while closed; 0 for never. */
  readonly intervalMs: number;
  /** How long it stays open. */
  readonly timeoutMs: number;
  /** Whether to open, evaluated after each failure. */
  readonly trips: (counts: Readonly<Counts>) => boolean;
}

/** The end of an attempt; an abandoned one says nothing about the target. */
export type Ending = 'success' | 'failure' | 'abandoned';

/** Permission for an attempt: the period in which it was granted. Attempts that end in a later one do not count. */
export type Pass = number;

/**
 * A circuit breaker. It has no timers: changes due to time are noticed when it is used. To wait for it, listen for
 * changes caused by calls and check again after {@link CircuitBreaker.remainingMs}.
 */
export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  readonly #clock: Clock;
  readonly #tell: (from: BreakerState, to: BreakerState) => void;
  readonly #listeners = new Set<() => void>();
  #state: BreakerState = 'closed';
  #period = 0;
  #counts = noCounts();
  /** When the period began, and how long it lasts. */
  #since: DualInstant;
  #lengthMs: number;

  constructor(settings: BreakerSettings, clock: Clock, tell: (from: BreakerState, to: BreakerState) => void) {
    this.#settings = settings;
    this.#clock = clock;
    this.#tell = tell;
    this.#since = dualNow(clock);
    this.#lengthMs = this.#lengthOfPeriod();
  }

  get state(): BreakerState {
    this.#passTime();
    return this.#state;
  }

  /** After how long time alone lets attempts through again; infinity while closed. */
  get remainingMs(): number {
    return this.state === 'closed' ? Number.POSITIVE_INFINITY : this.#lengthMs - msSince(this.#since, this.#clock);
  }

  /** When time alone lets attempts through again; infinity while closed. */
  get changesAt(): number {
    return this.#clock.now() + this.remainingMs;
  }

  /** How many attempts have failed one after the other, since the last change of state. */
  get consecutiveFailures(): number {
    this.#passTime();
    return this.#counts.consecutiveFailures;
  }

  /** Whether an attempt would be let through now. */
  get isFree(): boolean {
    const { state } = this;
    return state === 'closed' || (state === 'half-open' && this.#counts.requests < this.#settings.maxRequests);
  }

  /**
   * Begins an attempt.
   *
   * @throws PolicyError `circuit breaker is open`, or `too many requests` if it is half-open and enough attempts are running.
   */
  enter(): Pass {
    if (!this.isFree) throw new PolicyError(this.#state === 'open' ? 'circuit breaker is open' : 'too many requests');
    this.#counts.requests++;
    return this.#period;
  }

  /** Ends an attempt. */
  leave(pass: Pass, ending: Ending): void {
    this.#passTime();
    if (pass !== this.#period) return;
    const counts = this.#counts;
    if (ending === 'abandoned') counts.requests--;
    else if (ending === 'success') this.#succeed(counts);
    else this.#fail(counts);
    if (this.#state === 'half-open') this.#notify();
  }

  /** Calls back when attempts may be let through again; call the result to unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #succeed(counts: Counts): void {
    counts.totalSuccesses++;
    counts.consecutiveSuccesses++;
    counts.consecutiveFailures = 0;
    const isWell = this.#state === 'half-open' && counts.consecutiveSuccesses >= this.#settings.maxRequests;
    if (isWell) this.#become('closed');
  }

  #fail(counts: Counts): void {
    counts.totalFailures++;
    counts.consecutiveFailures++;
    counts.consecutiveSuccesses = 0;
    if (this.#state === 'half-open' || this.#settings.trips(counts)) this.#become('open');
  }

  #passTime(): void {
    if (this.#lengthMs === Number.POSITIVE_INFINITY || msSince(this.#since, this.#clock) < this.#lengthMs) return;
    if (this.#state === 'open') this.#become('half-open');
    // Half-open for that long: the probing attempts hang, so allow others.
    else this.#begin();
  }

  #become(state: BreakerState): void {
    const before = this.#state;
    this.#state = state;
    this.#begin();
    this.#tell(before, state);
    this.#notify();
  }

  #begin(): void {
    this.#period++;
    this.#counts = noCounts();
    this.#since = dualNow(this.#clock);
    this.#lengthMs = this.#lengthOfPeriod();
  }

  #lengthOfPeriod(): number {
    const { intervalMs, timeoutMs } = this.#settings;
    return this.#state === 'closed' ? intervalMs || Number.POSITIVE_INFINITY : timeoutMs;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

function noCounts(): Counts {
  return { requests: 0, totalSuccesses: 0, totalFailures: 0, consecutiveSuccesses: 0, consecutiveFailures: 0 };
}
